//! What a parameter's name stands for: a place in the row and a comparison.
//!
//! A name means, in this order: what every row begins with (`block`, `address`, …);
//! a column of the event, by the name of its field or its SQL name; `from` and `to`,
//! the bounds of the time. So an event with a field `from` is filtered by it, and its
//! time by `block_timestamp`. `fields.NAME` always means the column.

use windlass_core::row_query::{Comparison, Place};
use windlass_core::table::TableSpec;

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
    let column = |name: &str| table.column(name).map(|(_, column)| Place::Column(column.name.clone()));
    let head = |places: &[(&str, Place)]| {
        places.iter().find(|(known, _)| *known == name).map(|(_, place)| place.clone())
    };
    if let Some(field) = name.strip_prefix("fields.") {
        return column(field);
    }
    head(&HEAD[..FIRM]).or_else(|| column(name)).or_else(|| head(&HEAD[FIRM..]))
}

/// Every name that a parameter of a table's rows can begin with.
pub(super) fn known(table: &TableSpec) -> impl Iterator<Item = &str> {
    let columns = table.columns.iter().flat_map(|column| [column.field.as_str(), column.name.as_str()]);
    columns.chain(HEAD.iter().map(|(name, _)| *name)).chain(["from", "to"])
}

fn unknown(table: &TableSpec, parameter: &str) -> ApiError {
    let name = parameter.split_once('.').map_or(parameter, |(name, _)| name);
    let told = format!("parameter `{parameter}` is not known");
    ApiError::new(ErrorCode::UnknownParameter, told).nearest(name, known(table))
}
