//! What was collected, and payouts, as a file: page by page, so that memory stays bounded
//! however much there is. Integers are exact in every format.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this | which table, from where to where, and the pages |
//! | [`bound`] | `--from` and `--to` |
//! | [`pages`] | rows of one branch of the chain, whatever happens meanwhile |
//! | [`payouts`] | payouts, with what they cost |
//! | [`sheet`] | columns and cells, whatever the format |
//! | [`csv`], [`ndjson`], [`parquet`] | a format each |
//! | [`target`] | standard output, a file that is there whole or not at all, a device |

pub(crate) mod bound;
mod csv;
mod ndjson;
mod pages;
mod parquet;
pub(crate) mod payouts;
mod sheet;
pub(crate) mod target;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use windlass_core::code::Code;
use windlass_core::error::StoreError;
use windlass_core::row_query::Condition;
use windlass_core::store::Store;
use windlass_core::table::{Identifier, TableSpec};

use crate::config::problem::nearest;
use crate::failure::Failure;
use bound::Bound;
use pages::Pages;
use sheet::Sheet;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// A line a row, behind a line of names
    Csv,
    /// A JSON object a line; `jsonl` is the same
    #[value(alias = "jsonl")]
    Ndjson,
    /// Apache Parquet
    Parquet,
}

/// What is to be exported.
#[derive(Debug)]
pub(crate) struct Export {
    /// Of which index.
    pub(crate) index: Identifier,
    /// Which event: by name, signature or table. It can be left out where there is one.
    pub(crate) event: Option<String>,
    /// From where on.
    pub(crate) from: Option<Bound>,
    /// Up to where.
    pub(crate) to: Option<Bound>,
    /// In which format.
    pub(crate) format: Format,
}

/// A format: takes rows in order, and says so when there are no more.
trait RowWriter<R>: Send {
    fn rows(&mut self, rows: &[R]) -> io::Result<()>;
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Format {
    /// Begins a file of rows.
    fn begin<'w, S: Sheet, W: Write + Send>(
        self,
        sheet: &'w S,
        out: &'w mut W,
    ) -> io::Result<Box<dyn RowWriter<S::Row> + 'w>> {
        Ok(match self {
            Self::Csv => Box::new(csv::Csv::begin(sheet, out)?),
            Self::Ndjson => Box::new(ndjson::Ndjson::begin(sheet, out)),
            Self::Parquet => Box::new(parquet::Parquet::begin(sheet, out)?),
        })
    }

    /// Refuses to write bytes to a terminal.
    pub(crate) fn check_output(self, output: Option<&Path>) -> Result<(), Failure> {
        if self == Self::Parquet && output.is_none() && io::stdout().is_terminal() {
            let failure = Failure::usage("Parquet is nothing to read on a terminal");
            return Err(failure.hint("name a file with --output"));
        }
        Ok(())
    }
}

/// Why rows stopped coming, or going.
pub(crate) enum Trouble {
    /// They could not be read.
    Store(StoreError),
    /// They could not be written.
    Output(io::Error),
    /// The chain has taken some back that are written already.
    TakenBack {
        /// The block of the last row that was written.
        block: u64,
    },
    /// Something else is wrong.
    Other(Failure),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl Export {
    /// Writes every row of a table, as they stood at one time of the chain; says how many
    /// there were.
    pub(crate) async fn write<W: Write + Send>(
        &self,
        store: &dyn Store,
        table: Arc<TableSpec>,
        out: &mut W,
    ) -> Result<u64, Trouble> {
        let mut writer = self.format.begin(&table, out)?;
        let mut pages = Pages::new(store, &table, self.conditions())?;
        let mut count = 0;
        loop {
            let page = pages.next().await?;
            if page.is_empty() {
                break;
            }
            count += page.len() as u64;
            writer.rows(&page)?;
        }
        writer.finish()?;
        Ok(count)
    }

    fn conditions(&self) -> Vec<Condition> {
        let from = self.from.iter().map(Bound::at_least);
        from.chain(self.to.iter().map(Bound::at_most)).collect()
    }

    /// The table that is meant.
    pub(crate) async fn table(&self, store: &dyn Store) -> Result<Arc<TableSpec>, Failure> {
        let all: Vec<Arc<TableSpec>> = store.list_tables().await?.into_iter().map(|info| info.spec).collect();
        let of_index: Vec<Arc<TableSpec>> =
            all.iter().filter(|table| table.index == self.index).cloned().collect();
        if of_index.is_empty() {
            return Err(missing(&self.index, all.iter().map(|table| table.index.as_str())));
        }
        choose(of_index, self.event.as_deref())
    }
}

/// There is no such index.
pub(crate) fn missing<'a>(name: &Identifier, known: impl Iterator<Item = &'a str>) -> Failure {
    let failure = Failure::coded(Code::IndexMissing, format_args!("there is no index `{name}`"));
    match nearest(name.as_str(), known) {
        Some(near) => failure.hint(format_args!("did you mean `{near}`?")),
        None => failure.hint("`windlass index list` shows the indexes there are"),
    }
}

/// The one table that is meant.
fn choose(mut tables: Vec<Arc<TableSpec>>, event: Option<&str>) -> Result<Arc<TableSpec>, Failure> {
    let is_meant = |table: &TableSpec, event: &str| {
        let signature = table.signature.replace(" indexed", "");
        table.event == event || table.name.as_str() == event || table.signature == event || signature == event
    };
    let known: Vec<String> = tables.iter().map(|table| format!("`{}`", table.signature)).collect();
    let names: Vec<String> = tables.iter().map(|table| table.event.clone()).collect();
    if let Some(event) = event {
        tables.retain(|table| is_meant(table, event));
    }
    match (tables.len(), event) {
        (1, _) => Ok(tables.swap_remove(0)),
        (0, Some(event)) => {
            let failure =
                Failure::coded(Code::IndexMissing, format_args!("the index has no event `{event}`"));
            Err(match nearest(event, names.iter().map(String::as_str)) {
                Some(near) => failure.hint(format_args!("did you mean `{near}`?")),
                None => failure.hint(format_args!("it has {}", known.join(", "))),
            })
        }
        _ => Err(Failure::usage("the index has several events that could be meant")
            .hint(format_args!("choose one with --event: {}", known.join(", ")))),
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::chain::{Address, B256, BlockRef, ChainId, U256};
    use windlass_core::table::{Column, ColumnKind, EventRow, RowHead, Value};

    use super::*;

    fn identifier(text: &str) -> Identifier {
        Identifier::new(text).expect("a name")
    }

    fn table_of(name: &str, event: &str, signature: &str) -> Arc<TableSpec> {
        let column = |name: &str, kind| Column { name: identifier(name), field: name.to_owned(), kind };
        Arc::new(TableSpec {
            name: identifier(name),
            chain: ChainId::new(1).expect("an id"),
            index: identifier("i"),
            event: event.to_owned(),
            signature: signature.to_owned(),
            columns: vec![
                column("amount", ColumnKind::Uint),
                column("note", ColumnKind::Text),
                column("ok", ColumnKind::Bool),
            ],
        })
    }

    /// A table with a column of each awkward kind.
    pub(super) fn table() -> Arc<TableSpec> {
        table_of("i_e", "E", "E(uint256,string,bool)")
    }

    /// The largest number and a text that wants quotes; then nothing special.
    pub(super) fn rows() -> Vec<EventRow> {
        let head = |number| RowHead {
            block: BlockRef { number, hash: B256::repeat_byte(1) },
            log_index: 0,
            timestamp_s: 1_700_000_000,
            transaction_hash: B256::repeat_byte(2),
            address: Address::repeat_byte(3),
        };
        let row = |number, amount, note: &str, ok| EventRow {
            head: head(number),
            values: vec![Value::Uint(amount), Value::Text(note.to_owned()), Value::Bool(ok)],
        };
        vec![row(7, U256::MAX, "a \"b\", c", true), row(8, U256::ZERO, "plain", false)]
    }

    #[test]
    fn an_event_is_chosen_by_what_names_it_alone() {
        let overloads = || {
            vec![
                table_of("i_e", "E", "E(uint256 indexed)"),
                table_of("i_e_1", "E", "E(bool)"),
                table_of("i_f", "F", "F()"),
            ]
        };
        let chosen = |event| choose(overloads(), event).map(|table| table.name.to_string());
        for (event, name) in [("F", "i_f"), ("i_e_1", "i_e_1"), ("E(bool)", "i_e_1"), ("E(uint256)", "i_e")] {
            assert_eq!(chosen(Some(event)).ok().as_deref(), Some(name), "{event}");
        }
        assert!(chosen(Some("E")).expect_err("two").hint.is_some_and(|hint| hint.contains("`E(bool)`")));
        assert!(chosen(None).is_err());
        assert_eq!(chosen(Some("G")).expect_err("none").code, Some(Code::IndexMissing));
        assert!(choose(vec![table()], None).is_ok());
    }
}
