//! Indexes of columns, made and dropped while rows are written.
//!
//! A statement that works concurrently is no transaction: interrupted, it leaves an index
//! that is not valid, is kept up to date, and answers nothing. Whoever makes the index next
//! drops that one first. An advisory lock of the session keeps others from taking an index
//! that is being made for one that was left behind; it goes with the session, however that
//! ends.

use deadpool_postgres::Object;
use tokio_postgres::error::SqlState;
use windlass_core::error::StoreError;
use windlass_core::table::Identifier;
use windlass_core::table_index::index_name;

use super::registry::{self, is, missing};
use crate::PostgresStore;
use crate::error::{Fault, Outcome};
use crate::row::get;
use crate::tx::Tx;

/// Says of an index whether it is valid; no row where there is none.
const STATE: &str = "SELECT indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
                     WHERE indrelid = to_regclass($1) AND relname = $2";
/// Statements that read a whole table take as long as they take, and wait for every
/// transaction that is older than they are.
const UNBOUNDED: &str = "SET statement_timeout = 0; SET lock_timeout = 0";
/// Against others who make indexes in this schema.
const LOCK: &str = "SELECT pg_try_advisory_lock(hashtext('windlass/index'), hashtext(current_schema()))";
/// Lets go of it.
const UNLOCK: &str = "SELECT pg_advisory_unlock_all()";

/// The columns of a table that have an index, in the table's order.
pub(super) async fn list(tx: &Tx, name: &Identifier) -> Outcome<Vec<Identifier>> {
    let table = registry::require(tx, name).await?;
    let sql = "SELECT relname::TEXT FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
               WHERE indrelid = to_regclass($1) AND indisvalid";
    let rows = tx.query(sql, &[&name.quoted()]).await?;
    let names = rows.iter().map(|row| get(row, 0)).collect::<Outcome<Vec<String>>>()?;
    let columns = table.columns.into_iter().map(|column| column.name);
    Ok(columns.filter(|column| names.contains(&index_name(name, column))).collect())
}

/// Makes the index of a column; `false` when it is there.
pub(super) async fn create(store: &PostgresStore, table: &Identifier, column: &Identifier) -> Outcome<bool> {
    let session = Session::begin(store, table, column).await?;
    let made = session.create_unless_valid(column).await;
    session.end().await;
    made
}

/// Takes the index of a column away; `false` when there was none.
pub(super) async fn drop(store: &PostgresStore, table: &Identifier, column: &Identifier) -> Outcome<bool> {
    let session = Session::begin(store, table, column).await?;
    let dropped = session.drop_if_there().await;
    session.end().await;
    dropped
}

/// A session of its own, which ends with this: its settings are nobody else's.
struct Session<'a> {
    client: deadpool_postgres::ClientWrapper,
    table: &'a Identifier,
    index: String,
}

impl<'a> Session<'a> {
    /// Takes a connection and the lock; [`StoreError::Busy`] while another has it.
    async fn begin(store: &PostgresStore, table: &'a Identifier, column: &Identifier) -> Outcome<Self> {
        let client = Object::take(store.connection(true).await?);
        client.batch_execute(UNBOUNDED).await?;
        if !get::<bool>(&client.query_one(LOCK, &[]).await?, 0)? {
            return Err(StoreError::Busy.into());
        }
        Ok(Self { client, table, index: index_name(table, column) })
    }

    /// Lets go of the lock at once: the server may notice the end of a session later.
    async fn end(self) {
        // If it cannot be told, the session's end does the same.
        let _ = self.client.batch_execute(UNLOCK).await;
    }

    async fn create_unless_valid(&self, column: &Identifier) -> Outcome<bool> {
        match self.is_valid().await? {
            Some(true) => return Ok(false),
            Some(false) => self.drop().await?,
            None => {}
        }
        self.create(column).await?;
        Ok(true)
    }

    async fn drop_if_there(&self) -> Outcome<bool> {
        let is_valid = self.is_valid().await?;
        if is_valid.is_some() {
            self.drop().await?;
        }
        Ok(is_valid == Some(true))
    }

    async fn is_valid(&self) -> Outcome<Option<bool>> {
        let row = self.client.query_opt(STATE, &[&self.table.quoted(), &self.index]).await?;
        row.map(|row| get(&row, 0)).transpose()
    }

    async fn create(&self, column: &Identifier) -> Outcome<()> {
        let (index, table, column) = (&self.index, self.table.quoted(), column.quoted());
        let sql =
            format!("CREATE INDEX CONCURRENTLY \"{index}\" ON {table} ({column}, block_number, log_index)");
        self.client.batch_execute(&sql).await.map_err(|error| self.explain(error.into()))
    }

    async fn drop(&self) -> Outcome<()> {
        let sql = format!("DROP INDEX CONCURRENTLY IF EXISTS \"{}\"", self.index);
        self.client.batch_execute(&sql).await.map_err(|error| self.explain(error.into()))
    }

    /// A table that was dropped meanwhile is missing.
    fn explain(&self, fault: Fault) -> Fault {
        let gone = [&registry::GONE[..], &[SqlState::UNDEFINED_OBJECT]].concat();
        if is(&fault, &gone) { missing(self.table) } else { fault }
    }
}
