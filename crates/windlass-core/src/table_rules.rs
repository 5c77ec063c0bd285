//! What holds for typed tables in every store: which names are kept back, when two
//! tables are the same, which questions fit a table, which text can be kept.
//!
//! Stores ask here before they begin, so that both refuse the same.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::error::{StoreError, StoreResult};
use crate::row_query::{Comparison, Condition, MAX_CONDITIONS, MAX_LISTED_VALUES, Place, RowQuery, SumQuery};
use crate::table::{ColumnKind, HEAD_COLUMNS, Identifier, MAX_COLUMNS, TableSpec};

/// The most tables a store holds.
pub const MAX_TABLES: usize = 1_000;

/// The stores' own tables, whose names no other can have.
pub const RESERVED_TABLES: [&str; 25] = [
    "api_key",
    "approval",
    "attempt",
    "audit",
    "audit_head",
    "block",
    "budget",
    "commit_mark",
    "cursor",
    "dead",
    "event",
    "event_table",
    "instance",
    "intent",
    "intent_payout",
    "job",
    "lane",
    "lease",
    "message",
    "partition",
    "payout",
    "schema_version",
    "signer",
    "sink",
    "state",
];

/// What the names of the databases' own tables begin with.
pub const RESERVED_PREFIXES: [&str; 2] = ["pg_", "sqlite_"];

/// Names of columns that PostgreSQL has in every table already.
pub const RESERVED_COLUMNS: [&str; 6] = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"];

/// Text as every store can keep it: PostgreSQL cannot hold NUL, so each is replaced,
/// as what is not UTF-8 has been.
pub fn storable_text(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// Refuses one more table than a store holds.
pub fn check_room(tables: usize) -> StoreResult<()> {
    if tables < MAX_TABLES {
        Ok(())
    } else {
        Err(StoreError::Invalid(format!("a store has at most {MAX_TABLES} tables of events")))
    }
}

/// Whether a table of that name would be mistaken for one of the store's or database's own.
pub fn is_reserved(name: &Identifier) -> bool {
    RESERVED_TABLES.contains(&name.as_str())
        || RESERVED_PREFIXES.iter().any(|prefix| name.as_str().starts_with(prefix))
}

impl TableSpec {
    /// Refuses a table that no database takes, or whose name is kept back.
    pub fn validate(&self) -> StoreResult<()> {
        if is_reserved(&self.name) {
            return Err(self.conflict("what belongs to the database itself"));
        }
        if self.columns.len() > MAX_COLUMNS {
            let told =
                format!("table {} has {} columns, {MAX_COLUMNS} are allowed", self.name, self.columns.len());
            return Err(StoreError::Invalid(told));
        }
        let mut taken: HashSet<&str> = HEAD_COLUMNS.into_iter().chain(RESERVED_COLUMNS).collect();
        match self.columns.iter().find(|column| !taken.insert(column.name.as_str())) {
            None => Ok(()),
            Some(column) => Err(StoreError::Invalid(format!(
                "table {} cannot have another column {}",
                self.name, column.name
            ))),
        }
    }

    /// Whether rows of the one are rows of the other: the same event of the same chain
    /// in the same columns, whatever index it belongs to.
    pub fn holds_same(&self, other: &Self) -> bool {
        self.name == other.name
            && self.chain == other.chain
            && self.signature == other.signature
            && self.columns == other.columns
    }

    /// The refusal of this table where another one stands.
    pub fn conflict_with(&self, stored: &Self) -> StoreError {
        let is_other_event = self.chain != stored.chain || self.signature != stored.signature;
        let told = |table: &Self| {
            let event = format!("{} of chain {}", table.signature, table.chain);
            let columns: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
            if is_other_event { event } else { format!("{event} in columns {}", columns.join(", ")) }
        };
        StoreError::TableConflict { table: self.name.clone(), stored: told(stored), wanted: told(self) }
    }

    /// The refusal of this table where something else than a table of events stands.
    pub fn conflict(&self, stored: &str) -> StoreError {
        let wanted = format!("{} of chain {}", self.signature, self.chain);
        StoreError::TableConflict { table: self.name.clone(), stored: stored.to_owned(), wanted }
    }
}

impl Place {
    /// The name of the column that is looked at.
    pub fn column_name(&self) -> &str {
        match self {
            Self::Block => "block_number",
            Self::LogIndex => "log_index",
            Self::BlockHash => "block_hash",
            Self::Timestamp => "block_timestamp",
            Self::TransactionHash => "transaction_hash",
            Self::Address => "address",
            Self::Column(name) => name.as_str(),
        }
    }

    /// What that column holds; [`StoreError::Invalid`] where the table has none of that name.
    pub fn kind(&self, table: &TableSpec) -> StoreResult<ColumnKind> {
        match self {
            Self::Block | Self::LogIndex | Self::Timestamp => Ok(ColumnKind::Integer),
            Self::BlockHash | Self::TransactionHash => Ok(ColumnKind::Bytes),
            Self::Address => Ok(ColumnKind::Address),
            Self::Column(name) => column_kind(table, name),
        }
    }
}

fn column_kind(table: &TableSpec, name: &Identifier) -> StoreResult<ColumnKind> {
    let found = table.columns.iter().find(|column| column.name == *name);
    found
        .map(|column| column.kind)
        .ok_or_else(|| StoreError::Invalid(format!("table {} has no column {name}", table.name)))
}

/// Refuses conditions that do not fit a table, or are too many.
pub fn check_conditions(table: &TableSpec, conditions: &[Condition]) -> StoreResult<()> {
    if conditions.len() > MAX_CONDITIONS {
        let told =
            format!("a question has at most {MAX_CONDITIONS} conditions, this one {}", conditions.len());
        return Err(StoreError::Invalid(told));
    }
    conditions.iter().try_for_each(|condition| condition.validate(table))
}

impl Condition {
    fn validate(&self, table: &TableSpec) -> StoreResult<()> {
        let kind = self.place.kind(table)?;
        let name = self.place.column_name();
        let most = match self.comparison {
            Comparison::Is | Comparison::IsNot => MAX_LISTED_VALUES,
            _ => 1,
        };
        if self.values.is_empty() || self.values.len() > most {
            let told = format!("{name} is compared with 1 to {most} values here, not {}", self.values.len());
            return Err(StoreError::Invalid(told));
        }
        match self.values.iter().find(|value| !value.fits(kind)) {
            None => Ok(()),
            Some(value) => Err(StoreError::Invalid(format!(
                "column {name} holds {kind:?} and cannot be compared with {value:?}"
            ))),
        }
    }
}

impl RowQuery {
    /// Refuses a question that does not fit its table.
    pub fn validate(&self, table: &TableSpec) -> StoreResult<()> {
        match self.after {
            Some(after) if i64::try_from(after.block).is_err() => {
                Err(StoreError::Invalid(format!("no block has the number {}", after.block)))
            }
            _ => check_conditions(table, &self.conditions),
        }
    }
}

impl SumQuery {
    /// Refuses a question that does not fit its table.
    pub fn validate(&self, table: &TableSpec) -> StoreResult<()> {
        check_conditions(table, &self.conditions)?;
        let kind = column_kind(table, &self.column)?;
        if !matches!(kind, ColumnKind::Integer | ColumnKind::Uint | ColumnKind::Int) {
            return Err(StoreError::Invalid(format!(
                "column {} holds {kind:?}, which has no sum",
                self.column
            )));
        }
        match &self.by {
            None | Some(Place::Address) => Ok(()),
            Some(Place::Column(name)) => column_kind(table, name).map(|_| ()),
            Some(place) => Err(StoreError::Invalid(format!(
                "a sum has no groups by {}, only by columns of the event and the address",
                place.column_name()
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{ChainId, U256};
    use crate::table::{Column, Value};

    fn identifier(text: &str) -> Identifier {
        Identifier::new(text).expect("a name")
    }

    fn table(name: &str, columns: &[(&str, ColumnKind)]) -> TableSpec {
        let column = |(name, kind): &(&str, ColumnKind)| Column {
            name: identifier(name),
            field: (*name).to_owned(),
            kind: *kind,
        };
        TableSpec {
            name: identifier(name),
            chain: ChainId::new(1).expect("an id"),
            index: identifier("i"),
            event: "E".to_owned(),
            signature: "E(uint256)".to_owned(),
            columns: columns.iter().map(column).collect(),
        }
    }

    #[test]
    fn names_that_are_kept_back_are_refused() {
        assert!(table("fees", &[("a", ColumnKind::Uint)]).validate().is_ok());
        for name in ["lane", "event_table", "pg_class", "sqlite_stat1"] {
            let refused = table(name, &[]).validate();
            assert!(matches!(refused, Err(StoreError::TableConflict { .. })), "{name}: {refused:?}");
        }
        for columns in [["a", "a"], ["a", "block_number"], ["a", "xmin"]] {
            let refused = table("t", &columns.map(|name| (name, ColumnKind::Bool))).validate();
            assert!(matches!(refused, Err(StoreError::Invalid(_))), "{columns:?}: {refused:?}");
        }
    }

    #[test]
    fn another_index_of_the_same_event_holds_the_same() {
        let stored = table("t", &[("a", ColumnKind::Uint)]);
        assert!(stored.holds_same(&TableSpec { index: identifier("j"), ..stored.clone() }));
        let others = [
            TableSpec { chain: ChainId::new(2).expect("an id"), ..stored.clone() },
            TableSpec { signature: "E(uint128)".to_owned(), ..stored.clone() },
            table("t", &[("b", ColumnKind::Uint)]),
            table("t", &[("a", ColumnKind::Int)]),
        ];
        for other in others {
            assert!(!stored.holds_same(&other), "{other:?}");
        }
        let renamed = table("t", &[("b", ColumnKind::Uint)]).conflict_with(&stored).to_string();
        assert_eq!(
            renamed,
            "table t exists and holds E(uint256) of chain 1 in columns a, not E(uint256) of chain 1 in columns b"
        );
    }

    #[test]
    fn a_condition_names_what_does_not_fit() {
        let table = table("t", &[("fee", ColumnKind::Uint)]);
        let condition = |place, comparison, values| Condition { place, comparison, values };
        let fee = || Place::Column(identifier("fee"));
        let uint = || Value::Uint(U256::ZERO);
        assert!(
            check_conditions(&table, &[condition(fee(), Comparison::Is, vec![uint(); MAX_LISTED_VALUES])])
                .is_ok()
        );
        let bad = [
            (condition(fee(), Comparison::Is, vec![uint(); MAX_LISTED_VALUES + 1]), "fee"),
            (condition(fee(), Comparison::Is, vec![]), "fee"),
            (condition(fee(), Comparison::Above, vec![uint(), uint()]), "fee"),
            (condition(fee(), Comparison::Above, vec![Value::Integer(1)]), "fee"),
            (condition(Place::Block, Comparison::Above, vec![uint()]), "block_number"),
            (condition(Place::Column(identifier("tip")), Comparison::Is, vec![uint()]), "tip"),
        ];
        for (condition, named) in bad {
            let refused = check_conditions(&table, std::slice::from_ref(&condition));
            assert!(
                matches!(&refused, Err(StoreError::Invalid(told)) if told.contains(named)),
                "{condition:?}: {refused:?}"
            );
        }
        let many = vec![condition(fee(), Comparison::Is, vec![uint()]); MAX_CONDITIONS + 1];
        assert!(check_conditions(&table, &many).is_err());
    }

    #[test]
    fn only_integers_have_sums_and_only_some_columns_groups() {
        let table = table("t", &[("fee", ColumnKind::Int), ("name", ColumnKind::Text)]);
        let sum = |column: &str, by| {
            let (table, column) = (identifier("t"), identifier(column));
            SumQuery { table, conditions: Vec::new(), column, by, limit: 1 }
        };
        for by in [None, Some(Place::Address), Some(Place::Column(identifier("name")))] {
            assert!(sum("fee", by).validate(&table).is_ok());
        }
        for bad in [
            sum("name", None),
            sum("tip", None),
            sum("fee", Some(Place::Block)),
            sum("fee", Some(Place::Column(identifier("tip")))),
        ] {
            assert!(matches!(bad.validate(&table), Err(StoreError::Invalid(_))), "{bad:?}");
        }
    }

    #[test]
    fn text_without_nul_stays_as_it_is() {
        assert!(matches!(storable_text("a\u{fffd}b"), Cow::Borrowed(_)));
        assert_eq!(storable_text("\0a\0"), "\u{fffd}a\u{fffd}");
    }
}
