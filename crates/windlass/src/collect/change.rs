//! Whether what is configured fits what is stored. Adding and taking away fits; what
//! would leave a table with rows of two meanings does not.

use windlass_core::abi::EventShape;
use windlass_core::code::Code;
use windlass_core::plan::Plan;
use windlass_core::store::TableInfo;
use windlass_core::table::TableSpec;

use super::draft::Draft;
use crate::failure::Failure;

/// In what a configured index contradicts what was collected for it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    message: String,
    /// How the configuration is made to fit again.
    undo: String,
}

impl Conflict {
    fn new(message: impl Into<String>, undo: impl Into<String>) -> Self {
        Self { message: message.into(), undo: undo.into() }
    }
}

/// The first thing in which a configured index contradicts what was collected for it.
pub(crate) fn conflict(draft: &Draft, stored: &[TableInfo], plan: &Plan) -> Option<Conflict> {
    let name = draft.name.identifier();
    let of_index: Vec<&TableSpec> =
        stored.iter().map(|info| &*info.spec).filter(|table| table.index == *name).collect();
    if let Some(other) = of_index.iter().find(|table| table.chain != draft.chain()) {
        let (was, is) = (other.chain, draft.chain());
        let message = format!("index {name} was collected on chain {was}, and is now to be on chain {is}");
        return Some(Conflict::new(message, format!("set `chain` back to the chain with the id {was}")));
    }
    draft.events().find_map(|event| {
        let own = of_index.iter().find(|table| table.signature == event.signature());
        match own {
            None => changed_event(draft, event, &of_index),
            Some(table) => renamed_fields(event, table).or_else(|| later_start(draft, table, plan)),
        }
    })
}

/// The refusal, with what resolves it.
pub(crate) fn refusal(draft: &Draft, conflict: Conflict) -> Failure {
    let (name, Conflict { message, undo }) = (&draft.name, conflict);
    Failure::coded(Code::IndexChanged, message).hint(format_args!(
        "{undo}, or collect it under another name beside the old one (`[index.{name}_2]`), \
         or stop every `windlass run` and collect it anew: `windlass index drop {name} --data --yes`"
    ))
}

/// An event whose name has a table, of types that nobody wants any more.
fn changed_event(draft: &Draft, event: &EventShape, stored: &[&TableSpec]) -> Option<Conflict> {
    let is_wanted = |table: &TableSpec| draft.events().any(|event| event.signature() == table.signature);
    let old = stored.iter().find(|table| table.event == event.name() && !is_wanted(table))?;
    let message = format!(
        "event {} of index {} was collected as `{}`, and is now `{}`",
        event.name(),
        draft.name,
        old.signature,
        event.signature()
    );
    Some(Conflict::new(message, "write the event as it was collected"))
}

/// The same types under other names: the columns would have to be renamed.
fn renamed_fields(event: &EventShape, table: &TableSpec) -> Option<Conflict> {
    let is = event.table(&table.index, table.chain, &[]);
    let (was, is): (Vec<&str>, Vec<&str>) = (fields(table), fields(&is));
    (was != is).then(|| {
        let message = format!(
            "event {} has fields {}, and table {} has {}",
            event.name(),
            is.join(", "),
            table.name,
            was.join(", ")
        );
        Conflict::new(message, "give the fields the names of the table")
    })
}

fn fields(table: &TableSpec) -> Vec<&str> {
    table.columns.iter().map(|column| column.field.as_str()).collect()
}

/// A first block above rows that were collected, which nobody asks for any more.
fn later_start(draft: &Draft, table: &TableSpec, plan: &Plan) -> Option<Conflict> {
    let windlass_core::index::Start::Block(start) = draft.start() else { return None };
    let begun = plan.sources.iter().filter(|(id, source)| {
        let is_collected = source.head_from.is_some() || !source.claimed.is_empty();
        id.table == table.name && is_collected && source.start < start
    });
    let (_, earliest) = begun.min_by_key(|(_, source)| source.start)?;
    let (name, first) = (&draft.name, earliest.start);
    let message = format!("index {name} was collected from block {first} on, and is now to start at {start}");
    Some(Conflict::new(message, format!("set `start` to {first} or a lower block")))
}
