//! Statements that a person writes.
//!
//! Each runs in a read-only transaction of a session of its own, through a cursor, within
//! limits of time and size. Before it runs, the functions that it calls and the tables that
//! its plan reads are held against what is allowed: a transaction that writes nothing can
//! still read files, take locks that others wait for, or show secrets.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `session` | the transaction, and what it is set to |
//! | `guard` | which functions and tables a statement may use |
//! | `functions` | the list of functions |
//! | `shadow` | a table's name means its view |
//! | `rows` | a statement's rows as they are shown |

mod functions;
mod guard;
mod rows;
mod session;
mod shadow;

use std::time::Duration;

use async_trait::async_trait;
use windlass_core::sql::{SqlError, SqlQuery, SqlReader, SqlRows, SqlTable};

use crate::PostgresStore;
use crate::error::Fault;
use crate::table::registry;
use session::Session;

/// Why a statement has no rows, before it is known where that was.
enum Failed {
    /// It is not allowed.
    Refused(String),
    /// The server said so, or there is trouble with it.
    Fault(Fault),
}

impl<T: Into<Fault>> From<T> for Failed {
    fn from(fault: T) -> Self {
        Self::Fault(fault.into())
    }
}

#[async_trait]
impl SqlReader for PostgresStore {
    async fn run_sql(&self, query: &SqlQuery) -> Result<SqlRows, SqlError> {
        let tables = self.sql_tables().await?;
        let statement = shadow::shadowed(query.statement.as_str(), &tables)
            .map_err(|error| SqlError::Refused(error.to_string()))?;
        let _running = self.inner.running.read().await;
        let running = self.try_run_sql(&statement, &tables, query);
        match tokio::time::timeout(query.timeout, running).await {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(Failed::Refused(why))) => Err(SqlError::Refused(why)),
            Ok(Err(Failed::Fault(fault))) => Err(self.explain_sql(fault, &statement, query.timeout)),
            // The session ends with the future; the server stops what it runs in it.
            Err(_) => Err(SqlError::TimedOut(query.timeout)),
        }
    }

    async fn sql_tables(&self) -> Result<Vec<SqlTable>, SqlError> {
        let listed = self.read(&(), |tx, ()| Box::pin(registry::list_views(tx))).await?;
        Ok(listed.into_iter().map(|(info, view)| SqlTable::of(&info, view)).collect())
    }
}

impl PostgresStore {
    async fn try_run_sql(
        &self,
        statement: &str,
        tables: &[SqlTable],
        query: &SqlQuery,
    ) -> Result<SqlRows, Failed> {
        let session = Session::begin(self.connection(true).await?, query.timeout).await?;
        guard::check_names(session.client(), query.statement.as_str()).await?;
        let columns = session.describe(statement).await?;
        guard::check_plan(session.client(), statement, tables).await?;
        rows::fetch(session.client(), statement, &columns, query.max_rows).await
    }

    /// The server's answer as the caller gets it.
    fn explain_sql(&self, fault: Fault, statement: &str, timeout: Duration) -> SqlError {
        match fault.answer_code() {
            Some(STOPPED) => SqlError::TimedOut(timeout),
            Some(code) if !TROUBLE.iter().any(|class| code.starts_with(class)) => {
                SqlError::Rejected(fault.words_about(statement))
            }
            _ => SqlError::Store(fault.explain(&self.inner.place)),
        }
    }
}

/// The server has stopped a statement.
const STOPPED: &str = "57014";
/// Classes of codes that are about the server, not about the statement: connections, no
/// room, who may come in, damage.
const TROUBLE: [&str; 7] = ["08", "28", "3D", "53", "57", "58", "XX"];
