//! Which tables there are. What a table holds stands in the registry as JSON, and
//! beside it how many rows it has.
//!
//! Locks: whoever makes or drops a table locks the registry against others who do,
//! not against commits. A commit works on its tables first and on their counts last,
//! by name; a drop takes the table first and its count last. So nobody who holds a
//! count waits for a table.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::join;
use tokio_postgres::error::SqlState;
use windlass_core::chain::ChainId;
use windlass_core::error::StoreError;
use windlass_core::store::TableInfo;
use windlass_core::table::{Identifier, TableSpec};
use windlass_core::table_rules::check_room;

use super::param::column_type;
use super::view;
use crate::error::{Fault, Outcome};
use crate::row::{damaged, get, unsigned};
use crate::tx::Tx;

/// What every table begins with.
const HEAD: &str = "block_number BIGINT NOT NULL, log_index BIGINT NOT NULL, block_hash BYTEA NOT NULL,
                    block_timestamp BIGINT NOT NULL, transaction_hash BYTEA NOT NULL, address BYTEA NOT NULL";

/// Against others who make or drop tables.
pub(super) const LOCK: &str = "LOCK TABLE event_table IN SHARE UPDATE EXCLUSIVE MODE";

/// Whether all of the tables are there; refuses one whose name another has.
pub(super) async fn all_known(tx: &Tx, tables: &[Arc<TableSpec>]) -> Outcome<bool> {
    let known = stored(tx, tables).await?;
    let mut all = true;
    for table in tables {
        all &= is_known(&known, table)?;
    }
    Ok(all)
}

/// Makes the tables that are not there yet; returns their names.
pub(super) async fn create(tx: &Tx, tables: &[Arc<TableSpec>]) -> Outcome<Vec<Identifier>> {
    tx.execute(LOCK, &[]).await?;
    let mut known = stored(tx, tables).await?;
    let count: usize = unsigned(&tx.query_one("SELECT count(*) FROM event_table", &[]).await?, 0)?;
    let mut made = Vec::new();
    for table in tables {
        if is_known(&known, table)? {
            continue;
        }
        check_room(count + made.len())?;
        known.insert(table.name.clone(), TableSpec::clone(table));
        made.push(table);
    }
    for table in &made {
        create_one(tx, table).await?;
    }
    view::make_missing(tx).await?;
    Ok(made.iter().map(|table| table.name.clone()).collect())
}

/// Those tables of the names given that are there.
async fn stored(tx: &Tx, tables: &[Arc<TableSpec>]) -> Outcome<BTreeMap<Identifier, TableSpec>> {
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    let rows = tx.query("SELECT spec FROM event_table WHERE name = ANY ($1)", &[&names]).await?;
    let mut stored = BTreeMap::new();
    for row in &rows {
        let table = parse(get(row, 0)?)?;
        stored.insert(table.name.clone(), table);
    }
    Ok(stored)
}

fn is_known(known: &BTreeMap<Identifier, TableSpec>, table: &TableSpec) -> Outcome<bool> {
    table.validate()?;
    match known.get(&table.name) {
        None => Ok(false),
        Some(stored) if stored.holds_same(table) => Ok(true),
        Some(stored) => Err(table.conflict_with(stored).into()),
    }
}

async fn create_one(tx: &Tx, table: &TableSpec) -> Outcome<()> {
    view::make_way(tx, &table.name).await?;
    let column = |(name, kind)| format!(", {name} {} NOT NULL", column_type(kind));
    let columns = table.columns.iter().map(|column| (column.name.quoted(), column.kind));
    let columns: String = columns.map(column).collect();
    let name = table.name.quoted();
    let sql = format!("CREATE TABLE {name} ({HEAD}{columns}, PRIMARY KEY (block_number, log_index))");
    match tx.batch(&sql).await {
        Err(fault) if is(&fault, &[SqlState::DUPLICATE_TABLE, SqlState::DUPLICATE_OBJECT]) => {
            return Err(table.conflict("something else").into());
        }
        made => made?,
    }
    let spec = serde_json::to_string(table).map_err(|error| StoreError::Invalid(error.to_string()))?;
    let sql = "INSERT INTO event_table (name, chain_id, spec) VALUES ($1, $2, $3)";
    tx.execute(sql, &[&table.name.as_str(), &table.chain.as_i64(), &spec]).await?;
    Ok(())
}

/// Takes a table away; `false` when there was none.
pub(super) async fn drop_table(tx: &Tx, name: &Identifier) -> Outcome<bool> {
    tx.execute(LOCK, &[]).await?;
    if find(tx, name).await?.is_none() {
        return Ok(false);
    }
    view::drop_of(tx, name).await?;
    tx.batch(&format!("DROP TABLE IF EXISTS {}", name.quoted())).await?;
    tx.execute("DELETE FROM event_table WHERE name = $1", &[&name.as_str()]).await?;
    // The name may be what another table's view is called.
    view::make_missing(tx).await?;
    Ok(true)
}

/// Every table, by name.
pub(super) async fn list(tx: &Tx) -> Outcome<Vec<TableInfo>> {
    Ok(list_views(tx).await?.into_iter().map(|(table, _)| table).collect())
}

/// Every table with its view, by name.
pub(crate) async fn list_views(tx: &Tx) -> Outcome<Vec<(TableInfo, Option<String>)>> {
    let sql = "SELECT spec, row_count, view_name FROM event_table ORDER BY name";
    let rows = tx.query(sql, &[]).await?;
    let read = |row| {
        let table = TableInfo { spec: Arc::new(parse(get(row, 0)?)?), rows: unsigned(row, 1)? };
        Ok((table, get(row, 2)?))
    };
    rows.iter().map(read).collect()
}

/// A table as the registry has it: the text itself tells it from a later one of the name.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) spec: String,
}

/// The tables of a chain, by name.
pub(super) async fn of_chain(tx: &Tx, chain: ChainId) -> Outcome<Vec<(Identifier, Entry)>> {
    let sql = "SELECT name, spec FROM event_table WHERE chain_id = $1 ORDER BY name";
    let rows = tx.query(sql, &[&chain.as_i64()]).await?;
    let read = |row| {
        let entry = Entry { name: get(row, 0)?, spec: get(row, 1)? };
        let name = Identifier::new(entry.name.clone()).map_err(|error| damaged(error.to_string()))?;
        Ok((name, entry))
    };
    rows.iter().map(read).collect()
}

/// Finds a table by its name.
const FIND: &str = "SELECT spec FROM event_table WHERE name = $1";

async fn find(tx: &Tx, name: &Identifier) -> Outcome<Option<Entry>> {
    let row = tx.query_opt(FIND, &[&name.as_str()]).await?;
    row.map(|row| Ok(Entry { name: name.to_string(), spec: get(&row, 0)? })).transpose()
}

/// Asks something of a table while the registry is asked for it, in one round trip.
/// [`StoreError::TableMissing`] when it has none.
pub(super) async fn with_entry<T>(
    tx: &Tx,
    name: &Identifier,
    asked: impl Future<Output = Outcome<T>>,
) -> Outcome<(Entry, Outcome<T>)> {
    tx.begin().await?;
    // The registry is asked first: behind a statement that fails it would have no answer.
    tx.prepare(FIND).await?;
    match join(find(tx, name), asked).await {
        // Without its table a statement fails, and the transaction with it.
        (_, Err(fault)) if is(&fault, &GONE) => Err(missing(name)),
        (Ok(Some(entry)), answer) => Ok((entry, answer)),
        (Ok(None), _) => Err(missing(name)),
        (Err(fault), answer) => Err(if fault.is_aftermath() { answer.err().unwrap_or(fault) } else { fault }),
    }
}

/// What a table holds, which must be there.
pub(super) async fn require(tx: &Tx, name: &Identifier) -> Outcome<TableSpec> {
    find(tx, name).await?.ok_or_else(|| missing(name))?.table()
}

/// How many rows a table has.
pub(super) async fn count(tx: &Tx, name: &Identifier) -> Outcome<u64> {
    let row = tx.query_opt("SELECT row_count FROM event_table WHERE name = $1", &[&name.as_str()]).await?;
    unsigned(&row.ok_or_else(|| missing(name))?, 0)
}

impl Entry {
    pub(super) fn table(&self) -> Outcome<TableSpec> {
        parse(&self.spec)
    }

    /// Refuses a table that is another one than this.
    pub(super) fn require(&self, table: &TableSpec) -> Outcome<()> {
        if self.table()?.holds_same(table) { Ok(()) } else { Err(missing(&table.name)) }
    }
}

/// The refusal of a table that is not there, or not the one that was meant.
pub(super) fn missing(name: &Identifier) -> Fault {
    StoreError::TableMissing(name.clone()).into()
}

/// What the server says of a table that is gone, or was made anew with other columns.
pub(super) const GONE: [SqlState; 3] =
    [SqlState::UNDEFINED_TABLE, SqlState::UNDEFINED_COLUMN, SqlState::DATATYPE_MISMATCH];

/// Whether the server said one of these.
pub(super) fn is(fault: &Fault, codes: &[SqlState]) -> bool {
    matches!(fault, Fault::Postgres(error) if error.code().is_some_and(|code| codes.contains(code)))
}

fn parse(spec: &str) -> Outcome<TableSpec> {
    serde_json::from_str(spec).map_err(|error| damaged(format!("a table's description: {error}")))
}
