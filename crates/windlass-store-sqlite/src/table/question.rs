//! A question as SQL: the conditions, and the values they compare with.

use rusqlite::types::Value as Sql;
use windlass_core::row_query::{Comparison, Condition, Place, RowOrder, RowQuery, SumQuery};
use windlass_core::table::{HEAD_COLUMNS, Identifier, TableSpec, Value};
use windlass_core::table_rules::storable_text;

use super::exact::Exact;
use super::sum;

/// A statement and its values.
#[derive(Debug, Default)]
pub(super) struct Question {
    pub(super) sql: String,
    pub(super) values: Vec<Sql>,
}

/// A page of rows: it begins behind a key, wherever that is, by the table's own order.
pub(super) fn page(table: &TableSpec, query: &RowQuery, limit: u32) -> Question {
    let columns: String = table.columns.iter().map(|column| format!(", {}", column.name.quoted())).collect();
    let mut question = Question {
        sql: format!("SELECT {}{columns} FROM {}", HEAD_COLUMNS.join(", "), table.name.quoted()),
        values: Vec::new(),
    };
    let (comparison, direction) = match query.order {
        RowOrder::OldestFirst => (">", "ASC"),
        RowOrder::NewestFirst => ("<", "DESC"),
    };
    let mut terms = Vec::new();
    if let Some(after) = query.after {
        // A number that does not fit was refused.
        question.values.push(Sql::Integer(i64::try_from(after.block).unwrap_or(i64::MAX)));
        question.values.push(Sql::Integer(after.log_index.into()));
        terms.push(format!("(block_number, log_index) {comparison} (?, ?)"));
    }
    question.demand(terms, &query.conditions);
    question.sql += &format!(" ORDER BY block_number {direction}, log_index {direction} LIMIT ?");
    question.values.push(Sql::Integer(limit.into()));
    question
}

/// How many rows meet the conditions.
pub(super) fn count(table: &Identifier, conditions: &[Condition]) -> Question {
    let mut question =
        Question { sql: format!("SELECT count(*) FROM {}", table.quoted()), values: Vec::new() };
    question.demand(Vec::new(), conditions);
    question
}

/// Totals, each with how many rows it is of, behind the value they share.
pub(super) fn totals(query: &SumQuery, limit: u32) -> Question {
    let by = query.by.as_ref().map_or_else(|| "NULL".to_owned(), quoted);
    let (function, column) = (sum::FUNCTION, query.column.quoted());
    let sql = format!("SELECT {by}, {function}({column}), count(*) FROM {}", query.table.quoted());
    let mut question = Question { sql, values: Vec::new() };
    question.demand(Vec::new(), &query.conditions);
    if query.by.is_some() {
        question.sql += &format!(" GROUP BY {by} ORDER BY {by}");
    }
    question.sql += " LIMIT ?";
    question.values.push(Sql::Integer(limit.into()));
    question
}

impl Question {
    fn demand(&mut self, mut terms: Vec<String>, conditions: &[Condition]) {
        for condition in conditions {
            terms.push(term(condition));
            self.values.extend(condition.values.iter().map(value));
        }
        if !terms.is_empty() {
            self.sql += " WHERE ";
            self.sql += &terms.join(" AND ");
        }
    }
}

fn quoted(place: &Place) -> String {
    format!("\"{}\"", place.column_name())
}

fn term(condition: &Condition) -> String {
    let column = quoted(&condition.place);
    let list = || vec!["?"; condition.values.len()].join(", ");
    match condition.comparison {
        Comparison::Is => format!("{column} IN ({})", list()),
        Comparison::IsNot => format!("{column} NOT IN ({})", list()),
        Comparison::Above => format!("{column} > ?"),
        Comparison::AtLeast => format!("{column} >= ?"),
        Comparison::Below => format!("{column} < ?"),
        Comparison::AtMost => format!("{column} <= ?"),
    }
}

fn value(value: &Value) -> Sql {
    match value {
        Value::Integer(number) => Sql::Integer(*number),
        Value::Uint(number) => Sql::Blob(Exact::of_uint(*number).as_slice().to_vec()),
        Value::Int(number) => Sql::Blob(Exact::of_int(*number).as_slice().to_vec()),
        Value::Bool(flag) => Sql::Integer((*flag).into()),
        Value::Address(address) => Sql::Blob(address.to_vec()),
        Value::Bytes(bytes) => Sql::Blob(bytes.to_vec()),
        Value::Text(text) => Sql::Text(storable_text(text).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rusqlite::{Connection, StatementStatus, params_from_iter};
    use windlass_core::row_query::RowOrder;
    use windlass_core::table::RowKey;
    use windlass_core::time::Timestamp;
    use windlass_testkit::make;

    use super::*;
    use crate::table::{index, registry, sum};
    use crate::writer::Tx;

    const BLOCKS: u64 = 20_000;

    /// A table with a row in each of many blocks.
    fn filled(table: &Arc<TableSpec>) -> Connection {
        let connection = Connection::open_in_memory().expect("a database");
        for step in [
            include_str!("../../migrations/0001_foundation.sql"),
            include_str!("../../migrations/0006_table_view.sql"),
        ] {
            connection.execute_batch(step).expect("the schema");
        }
        sum::register(&connection).expect("the function");
        let instances = crate::instance::Instances::default();
        let tx = Tx::new(&connection, Timestamp::from_ms(0), &instances);
        registry::create(&tx, std::slice::from_ref(table)).expect("the table");
        let rows = make::rows(table, (0..BLOCKS).map(|block| make::row(block, 0, 1)));
        crate::table::insert(&tx, &rows).expect("the rows");
        connection
    }

    /// What answering takes, in steps of SQLite's machine, and how many rows there are.
    fn cost(connection: &Connection, question: Question) -> (i32, usize) {
        let mut statement = connection.prepare(&question.sql).expect(&question.sql);
        let rows =
            statement.query_map(params_from_iter(question.values), |_| Ok(())).expect("an answer").count();
        (statement.get_status(StatementStatus::VmStep), rows)
    }

    #[test]
    fn a_deep_page_costs_what_the_first_does() {
        let table = make::table("t", 1);
        let connection = filled(&table);
        for order in [RowOrder::OldestFirst, RowOrder::NewestFirst] {
            let at = |after| page(&table, &RowQuery { order, after, ..make::page("t", 100) }, 100);
            let (first, rows) = cost(&connection, at(None));
            assert_eq!(rows, 100);
            for block in [200, BLOCKS / 2, BLOCKS - 200] {
                let (deep, rows) = cost(&connection, at(Some(RowKey { block, log_index: 0 })));
                assert_eq!(rows, 100);
                assert!(deep < 2 * first, "{order:?} behind {block}: {deep} steps, not {first}");
            }
        }
    }

    #[test]
    fn a_page_of_one_value_is_read_from_its_index_alone() {
        let table = make::table("t", 1);
        let connection = filled(&table);
        let instances = crate::instance::Instances::default();
        let tx = Tx::new(&connection, Timestamp::from_ms(0), &instances);
        // Only every seventh number is there, so each value has one row.
        let is = Condition {
            place: Place::Column(make::identifier("small")),
            comparison: Comparison::Is,
            values: vec![Value::Integer(7 * 15_000 - 20)],
        };
        let query = RowQuery { conditions: vec![is], ..make::page("t", 100) };
        let (before, rows) = cost(&connection, page(&table, &query, 100));
        assert_eq!(rows, 1);
        index::create(&tx, &table.name, &make::identifier("small")).expect("an index");
        let (after, rows) = cost(&connection, page(&table, &query, 100));
        assert_eq!(rows, 1);
        assert!(after < 500 && after < before / 100, "{after} steps, not {before}");
    }

    #[test]
    fn a_condition_on_blocks_reads_only_them() {
        let table = make::table("t", 1);
        let connection = filled(&table);
        let block = |comparison, number| Condition {
            place: Place::Block,
            comparison,
            values: vec![Value::Integer(number)],
        };
        let conditions = [block(Comparison::AtLeast, 15_000), block(Comparison::Below, 15_100)];
        let (steps, _) = cost(&connection, count(&table.name, &conditions));
        assert!(steps < 1_000, "{steps} steps for a hundred rows");
        let query = RowQuery { conditions: conditions.to_vec(), ..make::page("t", 1_000) };
        let (steps, rows) = cost(&connection, page(&table, &query, 1_000));
        assert_eq!(rows, 100);
        assert!(steps < 5_000, "{steps} steps for a hundred rows");
    }
}
