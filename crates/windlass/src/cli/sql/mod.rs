//! `windlass sql`

mod error;
mod list;
mod print;

use std::io::{IsTerminal, Read};

use windlass_core::sql::statement::Statement;
use windlass_core::sql::{MAX_SQL_ROWS, MAX_SQL_TIMEOUT, MAX_STATEMENT_BYTES, SqlCut, SqlQuery, SqlRows};

use super::global::Global;
use crate::compose::store::{self, SqlStore};
use crate::config::duration::HumanDuration;
use crate::failure::Failure;
use crate::output::{self, human};

const NOTE: &str = "\
Amounts are exact decimal text, addresses and hashes lower-case 0x text. Only the tables of
events and their views can be read, and nothing can be written.";

#[derive(Debug, clap::Args)]
#[command(after_help = NOTE)]
pub(crate) struct Args {
    /// One SELECT, WITH or VALUES statement; read from standard input if left out
    statement: Option<String>,
    /// List the tables and views with their columns
    #[arg(long, conflicts_with = "statement")]
    tables: bool,
    /// Print JSON, one object per row
    #[arg(long)]
    json: bool,
    /// Print CSV
    #[arg(long, conflicts_with_all = ["json", "tables"])]
    csv: bool,
    /// Maximum number of rows
    #[arg(long, value_name = "ROWS", default_value_t = 1_000,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SQL_ROWS)))]
    limit: u32,
    /// Stop the statement after this time, such as 5m
    #[arg(long, value_name = "TIME", default_value = "30s")]
    timeout: HumanDuration,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let HumanDuration(timeout) = args.timeout;
    if timeout.is_zero() || timeout > MAX_SQL_TIMEOUT {
        let most = human::seconds(MAX_SQL_TIMEOUT.as_secs());
        return Err(Failure::usage(format_args!("--timeout is more than nothing and at most {most}")));
    }
    let is_listing = args.tables || (args.statement.is_none() && std::io::stdin().is_terminal());
    // It is read first: a statement that is typed in holds no database open.
    let text = match args.statement {
        _ if is_listing => None,
        Some(text) => Some(text),
        None => Some(read_statement()?),
    };
    let loaded = global.load()?;
    let store = store::open_sql(&loaded.config.database).await?;
    let done = match text {
        None => list::run(&store, args.json).await,
        Some(text) => match ask(&store, &text, timeout, args.limit).await {
            Ok(rows) => show(&rows, args.json, args.csv, args.limit),
            Err(failure) => Err(failure),
        },
    };
    store.close().await;
    done
}

fn read_statement() -> Result<String, Failure> {
    let mut text = String::new();
    let most = MAX_STATEMENT_BYTES as u64 + 1;
    let read = std::io::stdin().lock().take(most).read_to_string(&mut text);
    read.map_err(|error| Failure::refused(format_args!("cannot read the statement: {error}")))?;
    if text.trim().is_empty() {
        return Err(Failure::usage("there is no statement, neither as an argument nor on standard input")
            .hint("windlass sql 'SELECT …', or windlass sql --tables"));
    }
    Ok(text)
}

async fn ask(
    store: &SqlStore,
    text: &str,
    timeout: std::time::Duration,
    max_rows: u32,
) -> Result<SqlRows, Failure> {
    let answer = match Statement::parse(text, store.dialect) {
        Ok(statement) => store.reader.run_sql(&SqlQuery { statement, timeout, max_rows }).await,
        Err(error) => Err(error),
    };
    match answer {
        Ok(rows) => Ok(rows),
        Err(error) => Err(error::explained(error, store, text).await),
    }
}

fn show(rows: &SqlRows, json: bool, csv: bool, limit: u32) -> Result<(), Failure> {
    match (json, csv) {
        (true, _) => print::json(rows)?,
        (_, true) => print::csv(rows)?,
        _ => print::table(rows)?,
    }
    for column in print::rounded(rows) {
        output::note(&format!(
            "`{column}` has floating-point numbers, which are rounded; sum, avg, min and max of amounts are exact"
        ));
    }
    match rows.cut {
        None => {}
        Some(SqlCut::Rows) if limit < MAX_SQL_ROWS => {
            output::note(&format!(
                "there are more than {} rows: --limit shows more",
                human::count(limit.into())
            ));
        }
        Some(SqlCut::Rows) => output::note("there are more rows; ask for a part of them with WHERE"),
        Some(SqlCut::Bytes) => {
            output::note("there are more rows than fit into memory; ask for a part of them with WHERE");
        }
    }
    Ok(())
}
