//! What was collected, as a file: page by page, so that memory stays bounded however
//! much there is. Integers are exact in every format.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this | which table, from where to where, and the pages |
//! | [`bound`] | `--from` and `--to` |
//! | [`csv`], [`ndjson`], [`parquet`] | a format each |
//! | [`target`] | standard output, or a file that is there whole or not at all |

pub(crate) mod bound;
mod csv;
mod ndjson;
mod parquet;
pub(crate) mod target;

use std::io::{self, Write};
use std::sync::Arc;

use windlass_core::code::Code;
use windlass_core::row_query::{Condition, MAX_ROW_PAGE, RowOrder, RowQuery};
use windlass_core::store::Store;
use windlass_core::table::{EventRow, Identifier, TableSpec};

use crate::config::problem::nearest;
use crate::failure::Failure;
use bound::Bound;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// A line a row, behind a line of names
    Csv,
    /// A JSON object a line
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
trait RowWriter: Send {
    fn rows(&mut self, rows: &[EventRow]) -> io::Result<()>;
    fn finish(self: Box<Self>) -> io::Result<()>;
}

impl Export {
    /// Writes every row; says how many there were.
    pub(crate) async fn write<W: Write + Send>(&self, store: &dyn Store, out: &mut W) -> Result<u64, Failure> {
        let table = self.table(store).await?;
        let mut writer: Box<dyn RowWriter + '_> = match self.format {
            Format::Csv => Box::new(csv::Csv::begin(table.clone(), out)?),
            Format::Ndjson => Box::new(ndjson::Ndjson::begin(table.clone(), out)),
            Format::Parquet => Box::new(parquet::Parquet::begin(table.clone(), out)?),
        };
        let mut query = RowQuery {
            table: table.name.clone(),
            conditions: self.conditions(),
            order: RowOrder::OldestFirst,
            after: None,
            limit: MAX_ROW_PAGE,
        };
        let mut count = 0;
        loop {
            let page = store.rows(&query).await?;
            let Some(last) = page.last() else { break };
            query.after = Some(last.head.key());
            count += page.len() as u64;
            writer.rows(&page)?;
        }
        writer.finish()?;
        Ok(count)
    }

    fn conditions(&self) -> Vec<Condition> {
        let from = self.from.iter().map(Bound::from_here);
        from.chain(self.to.iter().map(Bound::up_to_here)).collect()
    }

    async fn table(&self, store: &dyn Store) -> Result<Arc<TableSpec>, Failure> {
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
    let failure = Failure::coded(Code::IndexMissing, format_args!("nothing is stored of an index `{name}`"));
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
            let failure = Failure::coded(Code::IndexMissing, format_args!("the index has no event `{event}`"));
            Err(match nearest(event, names.iter().map(String::as_str)) {
                Some(near) => failure.hint(format_args!("did you mean `{near}`?")),
                None => failure.hint(format_args!("it has {}", known.join(", "))),
            })
        }
        _ => Err(Failure::usage("the index has several events that could be meant")
            .hint(format_args!("choose one with --event: {}", known.join(", ")))),
    }
}
