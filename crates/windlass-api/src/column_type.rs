//! What a column holds, as the contract's source says it.
//!
//! A table knows kinds of columns, which are wider than the types of the ABI: a `uint8`
//! is kept like a `uint32`. The event's signature has the types, in the same order.

use windlass_core::abi::{AbiType, EventShape, Field, WordType};
use windlass_core::row_query::Place;
use windlass_core::table::{ColumnKind, Identifier, TableSpec};

/// The most columns that a hint lists.
const MAX_HINTED: usize = 20;

/// What values a place can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Domain {
    /// Integers from 0 on, of so many bits.
    Unsigned(u16),
    /// Integers with a sign, of so many bits.
    Signed(u16),
    /// So many bytes.
    Bytes(usize),
    /// The hash that stands for an indexed value of this type.
    HashOf(String),
    /// Whatever the column's kind takes.
    Open,
}

impl Domain {
    /// The values of a place in a table's rows.
    pub(crate) fn of(table: &TableSpec, place: &Place) -> Self {
        match place {
            // Stores keep it in 64 bits with a sign.
            Place::Block => Self::Unsigned(63),
            Place::LogIndex => Self::Unsigned(32),
            Place::BlockHash | Place::TransactionHash => Self::Bytes(32),
            Place::Timestamp | Place::Address => Self::Open,
            Place::Column(name) => field(table, name).map_or(Self::Open, |field| Self::of_field(&field)),
        }
    }

    fn of_field(field: &Field) -> Self {
        match &field.ty {
            AbiType::Word(WordType::Uint(bits)) => Self::Unsigned(*bits),
            AbiType::Word(WordType::Int(bits)) => Self::Signed(*bits),
            AbiType::Word(WordType::Bytes(len)) => Self::Bytes(usize::from(*len)),
            AbiType::Word(WordType::Function) => Self::Bytes(24),
            AbiType::Word(WordType::Bool | WordType::Address) => Self::Open,
            longer if field.indexed => Self::HashOf(longer.to_string()),
            _ => Self::Open,
        }
    }
}

/// The field that a column holds.
fn field(table: &TableSpec, name: &Identifier) -> Option<Field> {
    let shape: EventShape = table.signature.parse().ok()?;
    let place = table.columns.iter().position(|column| column.name == *name)?;
    shape.fields().get(place).filter(|_| shape.fields().len() == table.columns.len()).cloned()
}

/// The type of a column, by the name that the ABI has for it.
pub(crate) fn type_name(table: &TableSpec, name: &Identifier) -> String {
    if let Some(field) = field(table, name) {
        return field.ty.to_string();
    }
    let column = table.columns.iter().find(|column| column.name == *name);
    let kind = column.map_or(ColumnKind::Bytes, |column| column.kind);
    let told = match kind {
        ColumnKind::Integer => "int64",
        ColumnKind::Uint => "uint256",
        ColumnKind::Int => "int256",
        ColumnKind::Bool => "bool",
        ColumnKind::Address => "address",
        ColumnKind::Bytes => "bytes",
        ColumnKind::Text => "string",
        ColumnKind::Json => "tuple",
    };
    told.to_owned()
}

/// Whether values of this kind can be added up.
pub(crate) const fn has_sum(kind: ColumnKind) -> bool {
    matches!(kind, ColumnKind::Integer | ColumnKind::Uint | ColumnKind::Int)
}

/// Says which columns can be added up.
pub(crate) fn summable(table: &TableSpec) -> String {
    let summable = table.columns.iter().filter(|column| has_sum(column.kind));
    let mut names: Vec<String> = summable.map(|column| format!("`{}`", column.field)).collect();
    let more = names.len().saturating_sub(MAX_HINTED);
    names.truncate(MAX_HINTED);
    match (names.is_empty(), more) {
        (true, _) => "this event has no column that can be summed".to_owned(),
        (false, 0) => format!("these can be summed: {}", names.join(", ")),
        (false, _) => format!("these can be summed: {} and {more} more", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::chain::ChainId;

    use super::*;

    fn table(event: &str) -> TableSpec {
        let shape: EventShape = event.parse().unwrap();
        shape.table(&Identifier::new("i").unwrap(), ChainId::new(1).unwrap(), &[])
    }

    fn name(text: &str) -> Identifier {
        Identifier::new(text).unwrap()
    }

    #[test]
    fn a_signature_that_cannot_be_read_leaves_the_kinds() {
        let mut table = table("E(uint8 a, address b)");
        let place = Place::Column(name("a"));
        assert_eq!(Domain::of(&table, &place), Domain::Unsigned(8));
        for signature in ["", "E(uint8)"] {
            table.signature = signature.to_owned();
            assert_eq!(Domain::of(&table, &place), Domain::Open);
            assert_eq!(type_name(&table, &name("b")), "address");
        }
    }

    #[test]
    fn a_long_list_of_columns_is_cut() {
        let fields: Vec<String> = (0..25).map(|number| format!("uint8 f{number}")).collect();
        let told = summable(&table(&format!("E({})", fields.join(","))));
        assert!(told.ends_with("`f19` and 5 more"), "{told}");
    }
}
