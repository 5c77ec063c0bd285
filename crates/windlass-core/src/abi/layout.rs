//! The table of an event.
//!
//! # Names of tables
//!
//! An event of an index has the table `{index}_{event}` in snake case. Names are given
//! once and kept:
//!
//! 1. Where a table of that index, chain and signature exists, its name is the event's,
//!    wherever the event stands in the list now.
//! 2. Otherwise the plain name, if nothing has it: of two events with one name, the
//!    first in the list gets it.
//! 3. Otherwise the plain name and the first eight hexadecimal digits of the event's
//!    first topic: `t_transfer_ddf252ad`. An anonymous event has none, and two events
//!    may share one (`indexed` does not enter it): then the digits are of the hash of
//!    the signature, and then there is a number behind them.
//!
//! So an overload that is added later renames nothing, if the tables that exist are
//! given; and without them the same list makes the same names.

use std::sync::Arc;

use alloy_primitives::keccak256;

use super::{EventShape, naming};
use crate::chain::ChainId;
use crate::table::{Column, HEAD_COLUMNS, Identifier, TableSpec};
use crate::table_rules::{RESERVED_COLUMNS, RESERVED_TABLES};

impl EventShape {
    /// Its table in an index. `taken` are the tables that exist or were made before.
    pub fn table(&self, index: &Identifier, chain: ChainId, taken: &[Arc<TableSpec>]) -> TableSpec {
        TableSpec {
            name: self.table_name(index, chain, taken),
            chain,
            index: index.clone(),
            event: self.name.clone(),
            signature: self.signature.clone(),
            columns: self.columns(),
        }
    }

    fn table_name(&self, index: &Identifier, chain: ChainId, taken: &[Arc<TableSpec>]) -> Identifier {
        let is_own = |table: &&Arc<TableSpec>| {
            table.index == *index && table.chain == chain && table.signature == self.signature
        };
        if let Some(own) = taken.iter().find(is_own) {
            return own.name.clone();
        }
        let is_taken = |name: &Identifier| {
            RESERVED_TABLES.contains(&name.as_str()) || taken.iter().any(|table| table.name == *name)
        };
        let plain = format!("{index}_{}", naming::column(&self.name, 1));
        let of_topic = self.topic0.map(|topic| format!("{plain}_{}", naming::digits(topic.as_slice())));
        let of_signature = format!("{plain}_{}", naming::digits(keccak256(&self.signature).as_slice()));
        let free = [Some(&plain), of_topic.as_ref()]
            .into_iter()
            .flatten()
            .map(|name| naming::identifier(name))
            .find(|name| !is_taken(name));
        free.unwrap_or_else(|| naming::numbered(&of_signature, is_taken))
    }

    fn columns(&self) -> Vec<Column> {
        let mut names: Vec<Identifier> = Vec::with_capacity(self.fields.len());
        for (place, field) in self.fields.iter().enumerate() {
            let is_taken = |name: &Identifier| {
                let kept_back = HEAD_COLUMNS.into_iter().chain(RESERVED_COLUMNS);
                kept_back.into_iter().any(|kept| kept == name.as_str()) || names.contains(name)
            };
            names.push(naming::numbered(&naming::column(&field.name, place + 1), is_taken));
        }
        let mut columns: Vec<Column> = Vec::with_capacity(names.len());
        for (place, (field, name)) in self.fields.iter().zip(&names).enumerate() {
            let written = field.name.as_str();
            let is_ambiguous = written.is_empty()
                || HEAD_COLUMNS.contains(&written)
                || columns.iter().any(|column| column.field == written)
                || names.iter().enumerate().any(|(other, name)| other != place && name.as_str() == written);
            let field_name = if is_ambiguous { name.as_str() } else { written };
            let kind = field.ty.column(field.indexed);
            columns.push(Column { name: name.clone(), field: field_name.to_owned(), kind });
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::table::{ColumnKind, MAX_IDENTIFIER_BYTES};

    fn shape(text: &str) -> EventShape {
        text.parse().expect("an event")
    }

    fn name(text: &str) -> Identifier {
        Identifier::new(text).expect("a name")
    }

    fn chain(id: u64) -> ChainId {
        ChainId::new(id).expect("an id")
    }

    fn table(text: &str, index: &str, taken: &[Arc<TableSpec>]) -> Arc<TableSpec> {
        Arc::new(shape(text).table(&name(index), chain(137), taken))
    }

    fn columns(text: &str) -> Vec<(String, String)> {
        let table = table(text, "i", &[]);
        table.columns.iter().map(|column| (column.name.to_string(), column.field.clone())).collect()
    }

    const ERC20: &str = "Transfer(address indexed from, address indexed to, uint256 value)";
    const ERC721: &str = "Transfer(address indexed from, address indexed to, uint256 indexed id)";

    #[test]
    fn the_reference_has_the_table_people_expect() {
        let fees = table(
            "FeesCollected(address indexed _token, address indexed _integrator, \
                uint256 _integratorFee, uint256 _lifiFee)",
            "fees",
            &[],
        );
        assert_eq!(fees.name.as_str(), "fees_fees_collected");
        assert_eq!(fees.event, "FeesCollected");
        let columns: Vec<_> =
            fees.columns.iter().map(|c| (c.name.as_str(), c.field.as_str(), c.kind)).collect();
        assert_eq!(
            columns,
            [
                ("token", "_token", ColumnKind::Address),
                ("integrator", "_integrator", ColumnKind::Address),
                ("integrator_fee", "_integratorFee", ColumnKind::Uint),
                ("lifi_fee", "_lifiFee", ColumnKind::Uint),
            ]
        );
        assert!(fees.column("_lifiFee").is_some() && fees.column("lifi_fee").is_some());
    }

    #[test]
    fn columns_collide_with_nothing() {
        let pair = |name: &str, field: &str| (name.to_owned(), field.to_owned());
        assert_eq!(
            columns(
                "E(address, bool address, uint8 blockNumber, bytes32 block_hash, \
                 uint8 lifiFee, uint8 lifi_fee, uint8 lifi_fee, uint8 xmin)"
            ),
            [
                pair("field_1", "field_1"),
                pair("address_2", "address_2"),
                pair("block_number_2", "blockNumber"),
                pair("block_hash_2", "block_hash_2"),
                pair("lifi_fee", "lifiFee"),
                pair("lifi_fee_2", "lifi_fee_2"),
                pair("lifi_fee_3", "lifi_fee_3"),
                pair("xmin_2", "xmin"),
            ]
        );
    }

    #[test]
    fn an_overload_gets_a_name_of_its_own_and_renames_nothing() {
        let first = table(ERC20, "t", &[]);
        assert_eq!(first.name.as_str(), "t_transfer");
        let second = table(ERC721, "t", std::slice::from_ref(&first));
        assert_eq!(second.name.as_str(), "t_transfer_ddf252ad");
        let third = table("Transfer(address,address,uint256)", "t", &[first.clone(), second.clone()]);
        assert!(third.name.as_str().starts_with("t_transfer_") && third.name != second.name);
        let tables = [first.clone(), second.clone(), third.clone()];
        for (text, was) in [(ERC721, &second), (ERC20, &first), ("Transfer(address,address,uint256)", &third)]
        {
            assert_eq!(table(text, "t", &tables).name, was.name, "the order of the list does not matter");
        }
    }

    #[test]
    fn an_anonymous_overload_has_the_hash_of_its_signature() {
        let named = table("Note(bytes4 indexed)", "t", &[]);
        let anonymous = table("Note(bytes4 indexed) anonymous", "t", &[named]);
        let digits = naming::digits(keccak256("Note(bytes4 indexed) anonymous").as_slice());
        assert_eq!(anonymous.name.as_str(), format!("t_note_{digits}"));
    }

    #[test]
    fn indexes_and_chains_do_not_share_tables() {
        let one = table("C()", "a_b", &[]);
        let other = table("B_C()", "a", std::slice::from_ref(&one));
        assert_eq!(one.name.as_str(), "a_b_c");
        assert_ne!(other.name, one.name);
        assert_ne!(table("Mark()", "commit", &[]).name.as_str(), "commit_mark", "the store has that one");
        let elsewhere = shape("C()").table(&name("a_b"), chain(1), std::slice::from_ref(&one));
        assert_ne!(elsewhere.name, one.name);
    }

    proptest! {
        #[test]
        fn every_event_has_a_table(
            event in "[a-zA-Z_$][a-zA-Z0-9_$]{0,90}",
            fields in prop::collection::vec("[a-zA-Z_$]{0,4}|[a-zA-Z_]{60,70}", 0..12),
        ) {
            let fields: Vec<String> = fields.iter().map(|field| format!("bool {field}")).collect();
            let shape = shape(&format!("{event}({})", fields.join(",")));
            let table = shape.table(&name("index"), chain(1), &[]);
            prop_assert!(table.name.as_str().len() <= MAX_IDENTIFIER_BYTES);
            prop_assert!(table.validate().is_ok());
            for (place, column) in table.columns.iter().enumerate() {
                prop_assert!(!HEAD_COLUMNS.contains(&column.name.as_str()));
                prop_assert!(!HEAD_COLUMNS.contains(&column.field.as_str()));
                prop_assert_eq!(table.column(column.name.as_str()).map(|(found, _)| found), Some(place));
                prop_assert_eq!(table.column(&column.field).map(|(found, _)| found), Some(place));
            }
            prop_assert_eq!(&shape.table(&name("index"), chain(1), &[Arc::new(table.clone())]), &table);
        }
    }
}
