//! A column as the schema has it: its name, its type, and how it is compared.

use async_graphql::Value;
use windlass_core::row_query::Place;
use windlass_core::table::{Column, ColumnKind, EventRow, TableSpec};
use windlass_core::value_text::ValueJson;

use super::name::ColumnNames;
use crate::column_type::{Domain, has_sum, type_name};
use crate::error::{ApiError, ApiResult};
use crate::filter::Operator;

/// What the names of a column's filters end in.
pub(super) const SUFFIXES: [&str; 7] = ["", "_not", "_in", "_gt", "_gte", "_lt", "_lte"];

/// The filters of every column that can be compared.
const OF_EQUALITY: [(&str, Operator); 3] =
    [(SUFFIXES[0], Operator::Eq), (SUFFIXES[1], Operator::Ne), (SUFFIXES[2], Operator::In)];

/// The filters that only a number has.
const OF_ORDER: [(&str, Operator); 4] = [
    (SUFFIXES[3], Operator::Gt),
    (SUFFIXES[4], Operator::Gte),
    (SUFFIXES[5], Operator::Lt),
    (SUFFIXES[6], Operator::Lte),
];

/// The type of a column in GraphQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnType {
    /// An integer of 32 bits with a sign.
    Int,
    /// An integer from 0 on that a number of JSON holds: of blocks and times.
    Long,
    /// Any other integer.
    BigInt,
    Boolean,
    Bytes,
    String,
    /// Arrays and tuples.
    Json,
}

/// A column.
#[derive(Debug)]
pub(super) struct TypedColumn {
    pub(super) name: String,
    pub(super) ty: ColumnType,
    pub(super) place: Place,
    /// What it holds, in words.
    pub(super) description: String,
    /// The number and the kind of a column of the event's own.
    own: Option<(usize, ColumnKind)>,
}

impl ColumnType {
    fn of(table: &TableSpec, column: &Column, place: &Place) -> Self {
        match column.kind {
            ColumnKind::Integer => match Domain::of(table, place) {
                Domain::Unsigned(..32) | Domain::Signed(..=32) => Self::Int,
                _ => Self::BigInt,
            },
            ColumnKind::Uint | ColumnKind::Int => Self::BigInt,
            ColumnKind::Bool => Self::Boolean,
            ColumnKind::Address | ColumnKind::Bytes => Self::Bytes,
            ColumnKind::Text => Self::String,
            ColumnKind::Json => Self::Json,
        }
    }

    /// Its name in the schema.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Int => "Int",
            Self::Long => "Long",
            Self::BigInt => "BigInt",
            Self::Boolean => "Boolean",
            Self::Bytes => "Bytes",
            Self::String => "String",
            Self::Json => "JSON",
        }
    }
}

impl TypedColumn {
    /// Every column of a table: what every row begins with, then the event's own.
    pub(super) fn all(table: &TableSpec) -> Vec<Self> {
        let mut names = ColumnNames::new();
        let head = [
            ("blockNumber", ColumnType::Long, Place::Block, "The block's number."),
            ("logIndex", ColumnType::Int, Place::LogIndex, "The log's place in its block."),
            ("blockHash", ColumnType::Bytes, Place::BlockHash, "The block's hash."),
            ("timestamp", ColumnType::Long, Place::Timestamp, "The block's time, in seconds since 1970."),
            ("transactionHash", ColumnType::Bytes, Place::TransactionHash, "The transaction's hash."),
            ("address", ColumnType::Bytes, Place::Address, "The contract."),
        ];
        let head: Vec<Self> = head
            .into_iter()
            .map(|(name, ty, place, description)| Self {
                name: names.claim(name),
                ty,
                place,
                description: description.to_owned(),
                own: None,
            })
            .collect();
        let own = table.columns.iter().enumerate().map(|(at, column)| {
            let place = Place::Column(column.name.clone());
            Self {
                name: names.claim_own(column),
                ty: ColumnType::of(table, column, &place),
                description: match Domain::of(table, &place) {
                    Domain::HashOf(of) => format!("The hash of an indexed `{of}`."),
                    _ => format!("`{}` in the event.", type_name(table, &column.name)),
                },
                place,
                own: Some((at, column.kind)),
            }
        });
        head.into_iter().chain(own).collect()
    }

    /// How it is compared: the name of each filter.
    pub(super) fn filters(&self) -> impl Iterator<Item = (String, Operator)> {
        let (is_compared, is_number) = match self.ty {
            ColumnType::Int | ColumnType::Long | ColumnType::BigInt => (true, true),
            ColumnType::Boolean | ColumnType::Bytes | ColumnType::String => (true, false),
            ColumnType::Json => (false, false),
        };
        let equal = OF_EQUALITY.into_iter().filter(move |_| is_compared);
        let ordered = OF_ORDER.into_iter().filter(move |_| is_number);
        equal.chain(ordered).map(|(suffix, operator)| (format!("{}{suffix}", self.name), operator))
    }

    /// Whether it can be added up.
    pub(super) fn has_sum(&self) -> bool {
        self.own.is_some_and(|(_, kind)| has_sum(kind))
    }

    /// Whether totals can be grouped by it.
    pub(super) fn has_groups(&self) -> bool {
        self.own.is_some() || self.place == Place::Address
    }

    /// By which name the filters of the list know it, whatever else is called so.
    pub(super) fn parameter(&self) -> String {
        match &self.place {
            Place::Column(name) => format!("fields.{name}"),
            head => head.column_name().to_owned(),
        }
    }

    /// Its value in a row.
    pub(super) fn value(&self, row: &EventRow) -> ApiResult<Value> {
        let head = &row.head;
        Ok(match &self.place {
            Place::Block => Value::from(head.block.number),
            Place::LogIndex => Value::from(head.log_index),
            Place::BlockHash => Value::from(head.block.hash.to_string()),
            Place::Timestamp => Value::from(head.timestamp_s),
            Place::TransactionHash => Value::from(head.transaction_hash.to_string()),
            Place::Address => Value::from(head.address.to_checksum(None)),
            Place::Column(_) => return self.own_value(row),
        })
    }

    fn own_value(&self, row: &EventRow) -> ApiResult<Value> {
        let found = self.own.and_then(|(at, kind)| Some((kind, row.values.get(at)?)));
        let Some((kind, value)) = found else {
            return Err(ApiError::internal(format_args!("a row has no column {}", self.name)));
        };
        if self.ty == ColumnType::BigInt {
            return Ok(Value::from(value.to_string()));
        }
        let json = serde_json::to_value(ValueJson::new(kind, value)).map_err(ApiError::internal)?;
        Value::from_json(json).map_err(ApiError::internal)
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::abi::EventShape;
    use windlass_core::chain::ChainId;
    use windlass_core::table::Identifier;

    use super::*;

    #[test]
    fn an_integer_is_a_number_only_where_every_client_holds_it() {
        let shape: EventShape =
            "E(uint8 a, uint24 b, uint32 c, int32 d, int40 e, int64 f, uint64 g, uint256 h, int256 i)"
                .parse()
                .unwrap();
        let table = shape.table(&Identifier::new("i").unwrap(), ChainId::new(1).unwrap(), &[]);
        let types: Vec<&str> = TypedColumn::all(&table)[6..].iter().map(|column| column.ty.name()).collect();
        assert_eq!(types, ["Int", "Int", "BigInt", "Int", "BigInt", "BigInt", "BigInt", "BigInt", "BigInt"]);
    }
}
