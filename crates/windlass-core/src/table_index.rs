//! Database indexes of a table's columns: which columns can have one, which get one by
//! default, and what it is called.
//!
//! An index is of a column and the natural key behind it, so that the rows of one value come
//! in the order in which pages are read, without being sorted.

use alloy_primitives::{hex, keccak256};

use crate::abi::{AbiType, EventShape, Field, WordType};
use crate::error::{StoreError, StoreResult};
use crate::table::{Column, ColumnKind, Identifier, MAX_IDENTIFIER_BYTES, TableSpec};

/// A table with so many rows gets an index for every address that is `indexed` in its event,
/// unless the configuration says which columns have one. Smaller tables are read whole in a
/// few milliseconds.
pub const DEFAULT_INDEX_ROWS: u64 = 100_000;

/// The most columns that one index of the configuration names.
pub const MAX_INDEXED_COLUMNS: usize = 16;

/// How much of a table's name stands in the name of an index that would be too long.
const NAME_PART_BYTES: usize = 40;
/// How many bytes of a hash stand in such a name.
const HASH_BYTES: usize = 8;

/// Whether every value of a field is short: a database refuses a row whose indexed value is
/// longer than a third of a page.
pub fn is_indexable(field: &Field) -> bool {
    field.indexed || matches!(field.ty, AbiType::Word(_))
}

impl TableSpec {
    /// The columns that get an index by default: addresses that are `indexed` in the event.
    pub fn default_indexes(&self) -> Vec<Identifier> {
        let is_default = |field: &Field| field.indexed && field.ty == AbiType::Word(WordType::Address);
        self.with_fields().filter(|(_, field)| is_default(field)).map(|(column, _)| column.name).collect()
    }

    /// Refuses an index of a column that is not there, or whose values may be long.
    pub fn require_indexable(&self, column: &Identifier) -> StoreResult<()> {
        let own = self.columns.iter().find(|own| own.name == *column);
        let is_word = own.is_some_and(|own| is_word(own.kind));
        let is_short = || self.with_fields().any(|(own, field)| own.name == *column && is_indexable(&field));
        if is_word || is_short() {
            return Ok(());
        }
        Err(StoreError::Invalid(format!("column {column} of table {} cannot have an index", self.name)))
    }

    /// The columns, each with the field it is of. None where the signature cannot be read.
    fn with_fields(&self) -> impl Iterator<Item = (Column, Field)> {
        let fields = self.signature.parse::<EventShape>().map(|event| event.fields().to_vec());
        let fields = fields.ok().filter(|fields| fields.len() == self.columns.len()).unwrap_or_default();
        self.columns.clone().into_iter().zip(fields)
    }
}

/// Whether a column's values are short whatever its field is.
const fn is_word(kind: ColumnKind) -> bool {
    matches!(
        kind,
        ColumnKind::Integer | ColumnKind::Uint | ColumnKind::Int | ColumnKind::Bool | ColumnKind::Address
    )
}

/// What the index of a column is called. No table or column can have such a name.
pub fn index_name(table: &Identifier, column: &Identifier) -> String {
    let name = format!("{table}/{column}");
    if name.len() <= MAX_IDENTIFIER_BYTES {
        return name;
    }
    let digits = hex::encode(&keccak256(&name)[..HASH_BYTES]);
    format!("{:.NAME_PART_BYTES$}/#{digits}", table.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::ChainId;

    fn table(event: &str) -> TableSpec {
        let name = Identifier::new("i").expect("a name");
        event.parse::<EventShape>().expect("an event").table(&name, ChainId::new(1).expect("an id"), &[])
    }

    #[test]
    fn indexed_addresses_get_an_index_by_default() {
        let fees = table("E(address indexed token, address indexed integrator, uint256 fee, address to)");
        let columns: Vec<String> = fees.default_indexes().iter().map(ToString::to_string).collect();
        assert_eq!(columns, ["token", "integrator"]);
        assert_eq!(table("E(uint256 indexed a, bytes32 indexed b)").default_indexes(), []);
    }

    #[test]
    fn only_columns_of_short_values_can_have_one() {
        let table = table("E(string a, bytes b, uint256[] c, string indexed d, bytes32 e, bool f, int8 g)");
        for (column, fits) in
            [("a", false), ("b", false), ("c", false), ("d", true), ("e", true), ("f", true), ("g", true)]
        {
            let column = Identifier::new(column).expect("a name");
            assert_eq!(table.require_indexable(&column).is_ok(), fits, "{column}");
        }
        assert!(table.require_indexable(&Identifier::new("z").expect("a name")).is_err());
    }

    #[test]
    fn names_are_distinct_and_short_enough() {
        let name = |text: &str| Identifier::new(text).expect("a name");
        assert_eq!(index_name(&name("fees_collected"), &name("token")), "fees_collected/token");
        let long = name(&"t".repeat(60));
        let (one, two) = (index_name(&long, &name("token")), index_name(&long, &name("tokem")));
        assert!(one.len() <= MAX_IDENTIFIER_BYTES && one != two, "{one} {two}");
    }
}
