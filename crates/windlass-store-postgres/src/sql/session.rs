//! The session that a statement runs in. It is taken out of the pool and ends with the
//! statement, so nothing that a statement changes of it outlives it.

use std::time::Duration;

use deadpool_postgres::{Client, ClientWrapper, Object};
use tokio_postgres::types::Type;

use super::Failed;

/// What the transaction is set to. The statement is planned for what it reads, as other
/// programs would have it, and a string ends where the guard thinks it does.
const SETTINGS: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
    SET LOCAL standard_conforming_strings = on; SET LOCAL backslash_quote = off;
    SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on;
    SET LOCAL enable_mergejoin = on; SET LOCAL enable_bitmapscan = on;
    SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL work_mem = '32MB';
    SET LOCAL TimeZone = 'UTC'; SET LOCAL bytea_output = 'hex'; SET LOCAL DateStyle = 'ISO';
    SET LOCAL lock_timeout = '5s'";
/// The server looks this often whether the client is still there, if it can.
const WATCH: &str = "SELECT set_config(name, '1s', true) FROM pg_settings
                     WHERE name = 'client_connection_check_interval'";

/// A session within its transaction. Dropping it ends both.
pub(super) struct Session {
    client: ClientWrapper,
}

impl Session {
    /// Takes a connection and begins.
    pub(super) async fn begin(client: Client, timeout: Duration) -> Result<Self, Failed> {
        let client = Object::take(client);
        // A timeout of 0 would be none.
        let timeout_ms = timeout.as_millis().max(1);
        client.batch_execute(&format!("{SETTINGS}; SET LOCAL statement_timeout = {timeout_ms}")).await?;
        client.batch_execute(WATCH).await?;
        Ok(Self { client })
    }

    pub(super) fn client(&self) -> &ClientWrapper {
        &self.client
    }

    /// The names and types of a statement's columns. The server takes one statement here, and
    /// runs nothing.
    pub(super) async fn describe(&self, statement: &str) -> Result<Vec<(String, Type)>, Failed> {
        let prepared = self.client.prepare(statement).await?;
        if !prepared.params().is_empty() {
            let why = "a statement has no parameters: write the values themselves";
            return Err(Failed::Refused(why.to_owned()));
        }
        let columns = prepared.columns().iter();
        Ok(columns.map(|column| (column.name().to_owned(), column.type_().clone())).collect())
    }
}
