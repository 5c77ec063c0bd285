//! What a statement cannot do: write, read what is no table of events, call what leaves it,
//! run without end, or hold up those who write.

use std::time::Duration;

use windlass_core::commit::{Commit, Write};
use windlass_core::sql::SqlError;
use windlass_core::sql::lexer::Dialect;
use windlass_core::table::Value;

use super::sql::{Asked, fill};
use super::support::Well;
use crate::harness::SqlHarness;
use crate::make::{row, rows, table};

/// Counts without end.
const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i > 0)
                       SELECT count(*) FROM n";

pub async fn only_tables_of_events_are_read(harness: &dyn SqlHarness) {
    fill(harness, 1, |_, _| {}).await;
    let asked = Asked::open(harness).await;
    for name in ["api_key", "attempt", "payout", "audit", "event_table", "signer", "lease"] {
        for statement in [
            format!("SELECT * FROM {name}"),
            format!("SELECT count(*) FROM \"{name}\""),
            format!("SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM {name} AS t_view)"),
            format!("WITH t_view AS (SELECT * FROM {name}) SELECT * FROM t_view"),
            format!("WITH t AS (SELECT count(*) AS n FROM {name}) SELECT n FROM t"),
            format!("SELECT small FROM t UNION ALL SELECT 1 FROM /* t */ {name}"),
        ] {
            asked.refusal(&statement).await;
        }
    }
    let others: &[&str] = match harness.dialect() {
        Dialect::Sqlite => &[
            "SELECT * FROM sqlite_schema",
            "SELECT * FROM sqlite_temp_schema",
            "SELECT * FROM main.t",
            "SELECT * FROM main.t_view",
            "SELECT * FROM pragma_table_info('api_key')",
            "SELECT * FROM pragma_database_list",
            "SELECT * FROM dbstat",
        ],
        Dialect::Postgres => &[
            "SELECT * FROM pg_catalog.pg_authid",
            "SELECT * FROM pg_settings",
            "SELECT query FROM pg_stat_activity",
            "SELECT * FROM information_schema.tables",
            "SELECT * FROM pg_stat_bgwriter",
            "SELECT * FROM \"pg_locks\"",
            "SELECT * FROM INFORMATION_SCHEMA . tables",
            "TABLE api_key",
        ],
    };
    for statement in others {
        asked.refusal(statement).await;
    }
    assert_eq!(asked.row("SELECT count(*) FROM t").await, ["1"]);
}

pub async fn nothing_is_written_or_changed(harness: &dyn SqlHarness) {
    fill(harness, 1, |_, _| {}).await;
    let asked = Asked::open(harness).await;
    for statement in [
        "DELETE FROM t",
        "INSERT INTO t SELECT * FROM t",
        "WITH x AS (SELECT 1) DELETE FROM t",
        "WITH x AS (DELETE FROM t RETURNING 1) SELECT * FROM x",
        "WITH x AS (SELECT 1) INSERT INTO lease SELECT * FROM lease",
        "SELECT 1; DELETE FROM t",
        "SELECT 1; COMMIT; DROP TABLE t",
        "ROLLBACK; DROP TABLE t",
        "COMMIT",
        "DROP TABLE t",
        "SELECT * INTO stolen FROM t",
        "CREATE TABLE stolen AS SELECT * FROM t",
        "SELECT * FROM t_view FOR UPDATE",
        "ATTACH 'stolen.db' AS stolen",
        "DETACH main",
        "PRAGMA query_only = 0",
        "VACUUM INTO 'stolen.db'",
        "SET statement_timeout = 0",
        "RESET ALL",
        "COPY t TO PROGRAM 'true'",
        "COPY (SELECT 1) TO STDOUT",
        "LOCK TABLE t",
        "EXPLAIN ANALYZE DELETE FROM t",
        "DO 'BEGIN END'",
        "CALL something()",
        "SELECT 1) AS x, (SELECT 2",
        "SELECT 1 WHERE 1 = $1",
        "SELECT 1 WHERE 1 = ?",
        "",
    ] {
        asked.refusal(statement).await;
    }
    assert_eq!(asked.row("SELECT count(*) FROM t").await, ["1"]);
}

pub async fn functions_that_leave_the_statement_are_refused(harness: &dyn SqlHarness) {
    fill(harness, 1, |_, _| {}).await;
    let asked = Asked::open(harness).await;
    let calls: &[&str] = match harness.dialect() {
        Dialect::Sqlite => {
            &["load_extension('x')", "LOAD_EXTENSION('x', 'y')", "readfile('x')", "writefile('x', 'y')"]
        }
        Dialect::Postgres => &[
            "pg_read_file('x')",
            "pg_catalog.pg_read_file('x')",
            "PG_READ_FILE /* ( */ ('x')",
            "\"pg_read_file\"('x')",
            "pg_read_binary_file('x')",
            "pg_ls_dir('.')",
            "lo_import('x')",
            "lo_export(1, 'x')",
            "lo_get(1)",
            "pg_sleep(1)",
            "pg_advisory_lock(1)",
            "pg_try_advisory_xact_lock(1)",
            "set_config('statement_timeout', '0', false)",
            "current_setting('is_superuser')",
            "pg_terminate_backend(1)",
            "pg_reload_conf()",
            "pg_notify('a', 'b')",
            "txid_current()",
            "nextval('x')",
            "query_to_xml('SELECT 1', true, true, '')",
            "table_to_xml('api_key', true, true, '')",
            "database_to_xml(true, true, '')",
            "ts_stat('SELECT 1')",
            "pg_get_viewdef('t_view')",
            "repeat('x', 1000000000)",
        ],
    };
    for call in calls {
        for statement in [
            format!("SELECT {call}"),
            format!("SELECT small FROM t WHERE small IN (SELECT length({call}))"),
            format!("WITH x AS (SELECT {call} AS c) SELECT 1 FROM x"),
        ] {
            match asked.run(&statement, Duration::from_secs(30), 10).await {
                Err(SqlError::Refused(_) | SqlError::Rejected(_)) => {}
                other => panic!("{statement}: {other:?}"),
            }
        }
    }
    for statement in [
        "SELECT lower('A'), round(1.5), coalesce(NULL, 'x')",
        "WITH named (a, b) AS (SELECT 1, 2) SELECT a, b FROM named",
        "SELECT CAST(small AS NUMERIC(20, 0)) FROM t WHERE (small) IN (SELECT (small) FROM t)",
    ] {
        asked.rows(statement).await;
    }
}

pub async fn what_the_database_refuses_is_told_in_its_words(harness: &dyn SqlHarness) {
    fill(harness, 1, |_, values| values[6] = Value::Text("a".to_owned())).await;
    let asked = Asked::open(harness).await;
    for (statement, part) in [
        ("SELECT * FROM nowhere", "nowhere"),
        ("SELECT nothing FROM t", "nothing"),
        ("SELECT FROM WHERE", "syntax error"),
        ("SELECT nofunction(1)", "nofunction"),
        ("SELECT sum(note) FROM t", "sum("),
    ] {
        match asked.run(statement, Duration::from_secs(30), 10).await {
            Err(SqlError::Rejected(words)) => assert!(words.contains(part), "{statement}: {words}"),
            other => panic!("{statement}: {other:?}"),
        }
    }
}

pub async fn a_statement_without_end_is_stopped(harness: &dyn SqlHarness) {
    fill(harness, 1, |_, _| {}).await;
    let asked = Asked::open(harness).await;
    let stopped = asked.run(ENDLESS, Duration::from_millis(200), 10).await;
    assert!(matches!(stopped, Err(SqlError::TimedOut(_))), "{stopped:?}");
    assert_eq!(asked.row("SELECT count(*) FROM t").await, ["1"]);
}

pub async fn rows_are_written_while_a_statement_runs(harness: &dyn SqlHarness) {
    fill(harness, 1, |_, _| {}).await;
    let asked = Asked::open(harness).await;
    let store = harness.open().await;
    let spec = table("t", 1);
    let endless = format!("SELECT (SELECT count(*) FROM t), x.* FROM ({ENDLESS}) AS x");
    let statement = asked.run(&endless, Duration::from_secs(60), 10);
    let writing = async {
        for block in 10..20 {
            let batch = rows(&spec, [row(block, 0, 1)]);
            store.commit(Commit::of(vec![Write::Rows(batch)])).await.well();
        }
    };
    // The writer is done long before; then the statement is given up with its future.
    tokio::select! {
        ended = statement => panic!("it has no end: {ended:?}"),
        () = writing => {}
    }
    assert_eq!(asked.row("SELECT count(*) FROM t").await, ["11"]);
}
