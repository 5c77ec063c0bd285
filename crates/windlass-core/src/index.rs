//! What a user wants collected: events of contracts, from a block on, into tables.
//!
//! An [`IndexSpec`] is checked when it is made, so nothing that follows has to: it has
//! contracts and events, no event twice, and a table of its own for each.

mod error;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use self::error::IndexError;
use crate::abi::{AbiType, EventShape, WordType};
use crate::chain::{Address, ChainId};
use crate::table::{Identifier, TableSpec};
use crate::table_rules::is_reserved;

/// The most contracts an index names. Those that contracts create are not counted.
pub const MAX_CONTRACTS: usize = 10_000;
/// The most events of an index.
pub const MAX_EVENTS: usize = 200;
/// The highest block that both stores can hold.
pub const MAX_BLOCK: u64 = i64::MAX.unsigned_abs();

/// Whose events are collected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contracts {
    /// Of these.
    Fixed(Vec<Address>),
    /// Of those that others create, as they say in an event.
    Created {
        /// Who creates them.
        by: Vec<Address>,
        /// The event that says so.
        event: EventShape,
        /// Its field with the new contract's address.
        field: String,
    },
}

/// From where on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Start {
    /// A block.
    Block(u64),
    /// The block in which the contract was made; it has to be found.
    Deployment,
}

/// An index, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSpec {
    /// Its name, with which the names of its tables begin.
    pub name: Identifier,
    /// The chain.
    pub chain: ChainId,
    /// Whose events.
    pub contracts: Contracts,
    /// From where on.
    pub start: Start,
    /// Each event with its table.
    pub events: Vec<(EventShape, Arc<TableSpec>)>,
    /// Where created contracts are kept; `None` when the contracts are fixed.
    pub creation: Option<Creation>,
}

/// The table of the event by which contracts are created: it is collected as others
/// are, so that they are known after a restart and forgotten in a reorg.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Creation {
    /// The table.
    pub table: Arc<TableSpec>,
    /// The place of the column with the new contract's address.
    pub column: usize,
}

impl IndexSpec {
    /// Checks an index and names its tables. `taken` are the tables that exist: an event
    /// that has one keeps it (see [`EventShape::table`]).
    pub fn new(
        name: Identifier,
        chain: ChainId,
        contracts: Contracts,
        start: Start,
        events: Vec<EventShape>,
        taken: &[Arc<TableSpec>],
    ) -> Result<Self, IndexError> {
        check_events(&events)?;
        if let Start::Block(block) = start
            && block > MAX_BLOCK
        {
            return Err(IndexError::StartTooHigh(block));
        }
        let mut tables = taken.to_vec();
        let mut table_of = |event: &EventShape| {
            let table = Arc::new(event.table(&name, chain, &tables));
            tables.push(table.clone());
            table
        };
        let events: Vec<_> = events.into_iter().map(|event| (table_of(&event), event)).collect();
        let creation = match &contracts {
            Contracts::Fixed(addresses) => {
                check_addresses(addresses)?;
                None
            }
            Contracts::Created { by, event, field } => {
                check_addresses(by)?;
                let column = address_field(event, field)?;
                Some(Creation { table: table_of(event), column })
            }
        };
        let events: Vec<_> = events.into_iter().map(|(table, event)| (event, table)).collect();
        if events.iter().any(|(_, table)| is_reserved(&table.name)) {
            return Err(IndexError::Reserved(name));
        }
        Ok(Self { name, chain, contracts, start, events, creation })
    }

    /// Every table of it, each once.
    pub fn tables(&self) -> Vec<Arc<TableSpec>> {
        let mut tables: Vec<_> = self.events.iter().map(|(_, table)| table.clone()).collect();
        if let Some(creation) = &self.creation
            && !tables.iter().any(|table| table.name == creation.table.name)
        {
            tables.push(creation.table.clone());
        }
        tables
    }
}

fn check_addresses(addresses: &[Address]) -> Result<(), IndexError> {
    if addresses.is_empty() {
        return Err(IndexError::NoContract);
    }
    if addresses.len() > MAX_CONTRACTS {
        return Err(IndexError::TooManyContracts(addresses.len()));
    }
    if addresses.contains(&Address::ZERO) {
        return Err(IndexError::ZeroAddress);
    }
    let mut seen = BTreeSet::new();
    match addresses.iter().find(|address| !seen.insert(**address)) {
        Some(twice) => Err(IndexError::ContractTwice(*twice)),
        None => Ok(()),
    }
}

fn check_events(events: &[EventShape]) -> Result<(), IndexError> {
    if events.is_empty() {
        return Err(IndexError::NoEvent);
    }
    if events.len() > MAX_EVENTS {
        return Err(IndexError::TooManyEvents(events.len()));
    }
    for (place, event) in events.iter().enumerate() {
        for earlier in &events[..place] {
            if earlier.signature() == event.signature() {
                return Err(IndexError::EventTwice(event.signature().to_owned()));
            }
            let same_logs = event.topic0().is_some()
                && earlier.topic0() == event.topic0()
                && earlier.topic_count() == event.topic_count();
            if same_logs {
                let signature = |event: &EventShape| event.signature().to_owned();
                return Err(IndexError::Ambiguous(signature(earlier), signature(event)));
            }
        }
    }
    Ok(())
}

/// The place of a field that holds an address.
fn address_field(event: &EventShape, field: &str) -> Result<usize, IndexError> {
    let is_address = |ty: &AbiType| *ty == AbiType::Word(WordType::Address);
    let addresses = || {
        let fields = event.fields().iter().filter(|field| is_address(&field.ty));
        fields.map(|field| format!("`{}`", field.name)).collect()
    };
    let (event_name, wanted) = (event.name().to_owned(), field.to_owned());
    match event.fields().iter().position(|found| found.name == field && !field.is_empty()) {
        None => Err(IndexError::NoField { event: event_name, field: wanted, addresses: addresses() }),
        Some(place) if is_address(&event.fields()[place].ty) => Ok(place),
        Some(place) => Err(IndexError::NotAnAddress {
            event: event_name,
            field: wanted,
            found: event.fields()[place].ty.to_string(),
            addresses: addresses(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATED: &str =
        "PairCreated(address indexed token0, address indexed token1, address pair, uint256)";
    const SWAP: &str = "Swap(address indexed sender, uint256 amount)";

    fn shape(text: &str) -> EventShape {
        text.parse().expect("an event")
    }

    fn fixed(bytes: &[u8]) -> Contracts {
        Contracts::Fixed(bytes.iter().map(|byte| Address::repeat_byte(*byte)).collect())
    }

    fn created(field: &str) -> Contracts {
        Contracts::Created {
            by: vec![Address::repeat_byte(9)],
            event: shape(CREATED),
            field: field.to_owned(),
        }
    }

    fn index(contracts: Contracts, events: &[&str]) -> Result<IndexSpec, IndexError> {
        let name = Identifier::new("dex").expect("a name");
        let events = events.iter().map(|text| shape(text)).collect();
        IndexSpec::new(name, ChainId::new(1).expect("an id"), contracts, Start::Block(1), events, &[])
    }

    #[test]
    fn every_event_has_a_table_of_its_own() {
        let other = "Swap(address indexed sender, uint256 indexed amount)";
        let spec = index(fixed(&[1, 2]), &[SWAP, other, "Sync()"]).expect("an index");
        let names: Vec<_> = spec.events.iter().map(|(_, table)| table.name.as_str()).collect();
        let digits = &shape(SWAP).topic0().expect("a topic").to_string()[2..10];
        assert_eq!(names, ["dex_swap", &format!("dex_swap_{digits}"), "dex_sync"]);
        assert_eq!(spec.tables().len(), 3);
        assert_eq!(spec.creation, None);
    }

    #[test]
    fn existing_tables_keep_their_names() {
        let other = "Swap(address indexed sender, uint256 indexed amount)";
        let before = index(fixed(&[1]), &[SWAP]).expect("an index");
        let name = before.name.clone();
        let events = vec![shape(other), shape(SWAP)];
        let after =
            IndexSpec::new(name, before.chain, fixed(&[1]), Start::Deployment, events, &before.tables());
        assert_eq!(after.expect("an index").events[1].1, before.events[0].1);
    }

    #[test]
    fn created_contracts_have_a_table_too() {
        let spec = index(created("pair"), &[SWAP]).expect("an index");
        let creation = spec.creation.as_ref().expect("a creation");
        assert_eq!(creation.table.name.as_str(), "dex_pair_created");
        assert_eq!(creation.table.columns[creation.column].field, "pair");
        assert_eq!(spec.tables().len(), 2);
        let shared = index(created("pair"), &[CREATED]).expect("an index");
        assert_eq!(shared.creation.as_ref().map(|creation| &creation.table), Some(&shared.events[0].1));
        assert_eq!(shared.tables().len(), 1);
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_do() {
        let many = vec![Address::repeat_byte(1); MAX_CONTRACTS + 1];
        let events: Vec<String> = (0..=MAX_EVENTS).map(|number| format!("E{number}()")).collect();
        let events: Vec<&str> = events.iter().map(String::as_str).collect();
        let unnamed = "Swap(address indexed, uint256)";
        let moved = "Swap(address sender, uint256 indexed amount)";
        for (index, message, hint) in [
            (index(fixed(&[]), &[SWAP]), "no contract is named", "contract ="),
            (index(fixed(&[0]), &[SWAP]), "zero address", "take it out"),
            (index(fixed(&[1, 1]), &[SWAP]), "is named twice", "take it out"),
            (index(Contracts::Fixed(many), &[SWAP]), "10001 contracts", "creates them"),
            (index(fixed(&[1]), &[]), "no event is named", "events ="),
            (index(fixed(&[1]), &events), "201 events", "several indexes"),
            (
                index(fixed(&[1]), &[SWAP, unnamed]),
                "`Swap(address indexed,uint256)` is named twice",
                "take one",
            ),
            (index(fixed(&[1]), &[SWAP, moved]), "cannot be told apart", "only in which"),
            (index(created("pool"), &[SWAP]), "has no field `pool`", "`token0`, `token1`, `pair`"),
            (index(created(""), &[SWAP]), "has no field ``", "`pair`"),
        ] {
            let error = index.expect_err(message);
            assert!(error.to_string().contains(message), "{error}");
            assert!(error.hint().contains(hint), "{}", error.hint());
        }
        let text = Contracts::Created {
            by: vec![Address::repeat_byte(1)],
            event: shape("Made(string name)"),
            field: "name".to_owned(),
        };
        let error = index(text, &[SWAP]).expect_err("no address");
        assert_eq!(error.to_string(), "field `name` of event `Made` is `string`, not an address");
        assert_eq!(error.hint(), "it has no address: take another event");
    }

    #[test]
    fn a_name_or_start_that_no_store_takes_is_refused() {
        let make = |name: &str, start| {
            let name = Identifier::new(name).expect("a name");
            let chain = ChainId::new(1).expect("an id");
            IndexSpec::new(name, chain, fixed(&[1]), start, vec![shape(SWAP)], &[])
        };
        assert!(matches!(make("pg", Start::Block(1)), Err(IndexError::Reserved(_))));
        assert!(matches!(make("sqlite_x", Start::Block(1)), Err(IndexError::Reserved(_))));
        assert!(matches!(make("dex", Start::Block(u64::MAX)), Err(IndexError::StartTooHigh(_))));
        assert!(make("dex", Start::Block(MAX_BLOCK)).is_ok());
    }
}
