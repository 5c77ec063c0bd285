//! What a parameter's name stands for: a place in the row and a comparison.
//!
//! A name means, in this order: what every row begins with (`block`, `address`, …);
//! a column of the event, by the name of its field or its SQL name; `from` and `to`,
//! the bounds of the time. So an event with a field `from` is filtered by it, and its
//! time by `block_timestamp`. `fields.NAME` always means the column. A field `_amount` is
//! `amount` as well, where no other name is.

use windlass_core::row_query::{Comparison, Place};
use windlass_core::table::{Column, TableSpec};

use crate::error::{ApiError, ErrorCode};

/// What every row begins with, by every name it goes by.
const HEAD: [(&str, Place); 11] = [
    ("block", Place::Block),
    ("block_number", Place::Block),
    ("log_index", Place::LogIndex),
    ("block_hash", Place::BlockHash),
    ("block_timestamp", Place::Timestamp),
    ("transaction_hash", Place::TransactionHash),
    ("address", Place::Address),
    ("blockNumber", Place::Block),
    ("logIndex", Place::LogIndex),
    ("blockHash", Place::BlockHash),
    ("transactionHash", Place::TransactionHash),
];

/// The bounds of the time.
const BOUNDS: [&str; 2] = ["from", "to"];

/// The first so many of them come before the event's own columns.
const FIRM: usize = 7;

/// How a value is compared, as parameters and GraphQL say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Eq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
    In,
}

impl Operator {
    pub(super) const NAMES: [(&str, Self); 7] = [
        ("eq", Self::Eq),
        ("ne", Self::Ne),
        ("gt", Self::Gt),
        ("gte", Self::Gte),
        ("lt", Self::Lt),
        ("lte", Self::Lte),
        ("in", Self::In),
    ];

    pub(super) const fn comparison(self) -> Comparison {
        match self {
            Self::Eq | Self::In => Comparison::Is,
            Self::Ne => Comparison::IsNot,
            Self::Gt => Comparison::Above,
            Self::Gte => Comparison::AtLeast,
            Self::Lt => Comparison::Below,
            Self::Lte => Comparison::AtMost,
        }
    }
}

/// A place, and how it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) place: Place,
    pub(super) operator: Operator,
}

/// Reads `integrator`, `block.gte`, `fields.from.in`, `to`.
pub(super) fn target(table: &TableSpec, parameter: &str) -> Result<Target, ApiError> {
    let of = |place, operator| Ok(Target { place, operator });
    if let Some(place) = place(table, parameter) {
        return of(place, Operator::Eq);
    }
    if let Some((name, operator)) = parameter.rsplit_once('.')
        && let Some(place) = place(table, name)
    {
        let known = Operator::NAMES.iter().find(|(name, _)| *name == operator);
        let Some((_, operator)) = known else {
            let told = format!("parameter `{parameter}`: there is no comparison `{operator}`");
            return Err(ApiError::new(ErrorCode::UnknownParameter, told)
                .hint("compare with .eq, .ne, .gt, .gte, .lt, .lte or .in"));
        };
        return of(place, *operator);
    }
    match parameter {
        "from" => of(Place::Timestamp, Operator::Gte),
        "to" => of(Place::Timestamp, Operator::Lt),
        _ => Err(unknown(table, parameter)),
    }
}

/// What a name stands for in the rows of a table.
pub(super) fn place(table: &TableSpec, name: &str) -> Option<Place> {
    let column = |name: &str| {
        let column = table.column(name).map(|(_, column)| column).or_else(|| without_underscore(table, name));
        column.map(|column| Place::Column(column.name.clone()))
    };
    let head = |places: &[(&str, Place)]| {
        places.iter().find(|(known, _)| *known == name).map(|(_, place)| place.clone())
    };
    if let Some(field) = name.strip_prefix("fields.") {
        return column(field);
    }
    let is_bound = BOUNDS.contains(&name) && table.column(name).is_none();
    let own = |name: &str| if is_bound { None } else { column(name) };
    head(&HEAD[..FIRM]).or_else(|| own(name)).or_else(|| head(&HEAD[FIRM..]))
}

/// The only column whose field has this name behind underscores: a contract may call it `_amount`.
fn without_underscore<'a>(table: &'a TableSpec, name: &str) -> Option<&'a Column> {
    let mut found = table.columns.iter().filter(|column| {
        let bare = column.field.trim_start_matches('_');
        bare == name && bare.len() < column.field.len()
    });
    found.next().filter(|_| found.next().is_none())
}

/// Every name that a parameter of a table's rows can begin with.
pub(super) fn known(table: &TableSpec) -> impl Iterator<Item = &str> {
    let columns = table.columns.iter().flat_map(|column| [column.field.as_str(), column.name.as_str()]);
    columns.chain(HEAD.iter().map(|(name, _)| *name)).chain(BOUNDS)
}

fn unknown(table: &TableSpec, parameter: &str) -> ApiError {
    let name = parameter.split_once('.').map_or(parameter, |(name, _)| name);
    let told = format!("parameter `{parameter}` is not known");
    ApiError::new(ErrorCode::UnknownParameter, told).nearest(name, known(table))
}

/// Which fields an event has, for a name that is like none.
pub(super) fn fields_hint(table: &TableSpec) -> String {
    let fields: Vec<&str> = table.columns.iter().map(|column| column.field.as_str()).collect();
    format!("fields of the event are {}; docs/api.md has the other names", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use windlass_core::abi::EventShape;
    use windlass_core::chain::ChainId;
    use windlass_core::table::Identifier;

    use super::*;

    fn table(event: &str) -> TableSpec {
        let shape = event.parse::<EventShape>().unwrap();
        shape.table(&Identifier::new("fees").unwrap(), ChainId::new(1).unwrap(), &[])
    }

    fn column(table: &TableSpec, parameter: &str) -> Option<String> {
        match target(table, parameter).ok()?.place {
            Place::Column(name) => Some(name.to_string()),
            _ => None,
        }
    }

    #[test]
    fn a_field_is_named_with_its_underscore_or_without() {
        let fees = table("E(address _integrator, uint256 _integratorFee)");
        for name in ["_integratorFee", "integratorFee", "integrator_fee", "fields.integratorFee"] {
            assert_eq!(column(&fees, name).as_deref(), Some("integrator_fee"), "{name}");
        }
        assert_eq!(column(&fees, "integratorFee.gte").as_deref(), Some("integrator_fee"));
        let both = table("E(uint256 _aB, uint256 __aB)");
        assert_eq!(column(&both, "aB"), None, "it could be either");
    }

    #[test]
    fn a_name_that_is_like_no_other_is_answered_with_the_fields() {
        let table = table("E(address _integrator)");
        assert_eq!(target(&table, "zzzzzzzz").unwrap_err().hint, None);
        let hint = fields_hint(&table);
        assert!(hint.starts_with("fields of the event are _integrator;"), "{hint}");
    }
}
