//! What a table and its columns are called in the schema.
//!
//! A name is made of the table's own name and of nothing else, so it stays when tables are
//! added: `dex_swap` has the fields `dexSwap`, `dexSwaps`, `dexSwapCount` and `dexSwapSum`,
//! and its type is `DexSwap`. Where two tables, or a table and a
//! built-in name, would share a name, the later one in the order of tables gets a number:
//! `dexSwaps_2`.

use std::collections::HashSet;

use windlass_core::table::{Column, Identifier, TableSpec};

use super::column::SUFFIXES;

/// The names of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableNames {
    /// `dexSwap`, with which the names of fields begin.
    field: String,
    /// `DexSwap`, with which the names of types begin.
    ty: String,
}

impl TableNames {
    /// The names of a table; none is taken before, all are taken afterwards.
    pub(super) fn claim(table: &TableSpec, taken: &mut HashSet<String>) -> Self {
        let names = |field: &str| Self { field: field.to_owned(), ty: pascal(field) };
        names(&claim(&camel(&table.name), taken, |field| names(field).all()))
    }

    fn all(&self) -> Vec<String> {
        let fields = [self.row(), self.page(), self.count(), self.sum()];
        let types =
            [self.row_type(), self.page_type(), self.where_type(), self.sum_column(), self.group_column()];
        fields.into_iter().chain(types).collect()
    }

    pub(super) fn row(&self) -> String {
        self.field.clone()
    }

    pub(super) fn page(&self) -> String {
        format!("{}s", self.field)
    }

    pub(super) fn count(&self) -> String {
        format!("{}Count", self.field)
    }

    pub(super) fn sum(&self) -> String {
        format!("{}Sum", self.field)
    }

    pub(super) fn row_type(&self) -> String {
        self.ty.clone()
    }

    pub(super) fn page_type(&self) -> String {
        format!("{}Page", self.ty)
    }

    pub(super) fn where_type(&self) -> String {
        format!("{}Where", self.ty)
    }

    pub(super) fn sum_column(&self) -> String {
        format!("{}SumColumn", self.ty)
    }

    pub(super) fn group_column(&self) -> String {
        format!("{}GroupColumn", self.ty)
    }
}

/// The names of columns within a table.
pub(super) struct ColumnNames(HashSet<String>);

impl ColumnNames {
    /// No names yet. These three are words of GraphQL, which no entry of an enum can have.
    pub(super) fn new() -> Self {
        Self(["true", "false", "null"].map(str::to_owned).into())
    }

    /// The name of a column: that of its field, or its name in SQL where that is no name of
    /// GraphQL. Its filters are `name`, `name_in` and so on, and free, too.
    pub(super) fn claim_own(&mut self, column: &Column) -> String {
        self.claim(if is_name(&column.field) { &column.field } else { column.name.as_str() })
    }

    pub(super) fn claim(&mut self, name: &str) -> String {
        claim(name, &mut self.0, |name| SUFFIXES.iter().map(|suffix| format!("{name}{suffix}")).collect())
    }
}

/// The first of `name`, `name_2`, `name_3` and so on of which nothing derived is taken.
fn claim(name: &str, taken: &mut HashSet<String>, derived: impl Fn(&str) -> Vec<String>) -> String {
    let mut number = 1_u64;
    loop {
        let next = if number == 1 { name.to_owned() } else { format!("{name}_{number}") };
        let all = derived(&next);
        if all.iter().all(|name| !taken.contains(name)) {
            taken.extend(all);
            return next;
        }
        number += 1;
    }
}

/// Whether it is a name in GraphQL, and none that GraphQL keeps for itself.
fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    let is_begun = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    is_begun && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !text.starts_with("__")
}

/// `dex_swap` is `dexSwap`. A `_` that no letter follows stays, so that no two tables have
/// the same name.
fn camel(name: &Identifier) -> String {
    let mut camel = String::with_capacity(name.as_str().len());
    let mut letters = name.as_str().chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.next_if(|next| letter == '_' && next.is_ascii_lowercase());
        camel.push(next.map_or(letter, |next| next.to_ascii_uppercase()));
    }
    camel
}

fn pascal(camel: &str) -> String {
    let mut pascal = camel.to_owned();
    if let Some(first) = pascal.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    pascal
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windlass_core::abi::EventShape;
    use windlass_core::chain::ChainId;

    use super::*;

    fn identifier(text: &str) -> Identifier {
        Identifier::new(text).unwrap()
    }

    fn table(name: &str) -> TableSpec {
        let shape: EventShape = "E()".parse().unwrap();
        let table = shape.table(&identifier("i"), ChainId::new(1).unwrap(), &[]);
        TableSpec { name: identifier(name), ..table }
    }

    fn fields(tables: &[&str], taken: &[&str]) -> Vec<String> {
        let mut taken = taken.iter().map(|name| (*name).to_owned()).collect();
        tables.iter().map(|name| TableNames::claim(&table(name), &mut taken).row()).collect()
    }

    #[test]
    fn a_table_is_called_by_its_own_name() {
        let names = TableNames::claim(&table("fees_fees_collected"), &mut HashSet::new());
        assert_eq!(
            names.all(),
            [
                "feesFeesCollected",
                "feesFeesCollecteds",
                "feesFeesCollectedCount",
                "feesFeesCollectedSum",
                "FeesFeesCollected",
                "FeesFeesCollectedPage",
                "FeesFeesCollectedWhere",
                "FeesFeesCollectedSumColumn",
                "FeesFeesCollectedGroupColumn",
            ]
        );
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        assert_eq!(fields(&["dex_swap", "dex_swaps"], &[]), ["dexSwap", "dexSwaps_2"]);
        assert_eq!(
            fields(&["dex_swap", "dex_swap_count", "dex_swap_where"], &[])[1..],
            ["dexSwapCount_2", "dexSwapWhere_2"]
        );
        assert_eq!(
            fields(&["audit_log", "payout_request"], &["auditLog", "PayoutRequest"]),
            ["auditLog_2", "payoutRequest_2"]
        );
    }

    #[test]
    fn columns_and_their_filters_have_names_of_their_own() {
        let shape: EventShape =
            "E(uint8 a, uint8 a_in, uint8 timestamp, uint8 __b, uint8, uint8 c$d)".parse().unwrap();
        let table = shape.table(&identifier("i"), ChainId::new(1).unwrap(), &[]);
        let mut names = ColumnNames::new();
        assert_eq!(names.claim("timestamp"), "timestamp");
        let own: Vec<String> = table.columns.iter().map(|column| names.claim_own(column)).collect();
        assert_eq!(own, ["a", "a_in_2", "timestamp_2", "b", "field_5", "c_d"]);
        assert_eq!(names.claim("null"), "null_2");
    }

    proptest! {
        #[test]
        fn no_two_tables_have_the_same_name(one in "[a-z][a-z0-9_]{0,6}", other in "[a-z][a-z0-9_]{0,6}") {
            let (camel_one, camel_other) = (camel(&identifier(&one)), camel(&identifier(&other)));
            prop_assert!(is_name(&camel_one));
            prop_assert_eq!(one == other, camel_one == camel_other);
        }

        #[test]
        fn whatever_tables_there_are_every_name_is_used_once(
            names in prop::collection::btree_set("[ab](_count|_sum|s|_[ab]|_2)?(_page|s|_2)?", 1..20),
        ) {
            let mut taken = HashSet::new();
            let tables: Vec<_> =
                names.iter().map(|name| TableNames::claim(&table(name), &mut taken)).collect();
            let all: Vec<String> = tables.iter().flat_map(TableNames::all).collect();
            prop_assert_eq!(all.len(), all.iter().collect::<HashSet<_>>().len());
        }
    }
}
