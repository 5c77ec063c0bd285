//! A question as SQL: the conditions, and the values they compare with.

use std::slice::from_ref;

use tokio_postgres::types::Type;
use windlass_core::error::StoreResult;
use windlass_core::row_query::{Comparison, Condition, Place, RowOrder, RowQuery, SumQuery};
use windlass_core::table::{HEAD_COLUMNS, TableSpec};

use super::param::{self, Bound};

/// A statement and its values.
pub(super) struct Question<'a> {
    pub(super) sql: String,
    pub(super) values: Vec<Bound<'a>>,
}

/// Whether rows are found by their blocks alone.
pub(super) fn is_by_block(conditions: &[Condition]) -> bool {
    let is_range =
        |condition: &Condition| condition.place == Place::Block && condition.comparison != Comparison::IsNot;
    conditions.iter().all(is_range)
}

/// Whether a page is found by the table's key, or by the index of a column that is to have
/// one value: then one plan suits every value.
pub(super) fn is_by_key(query: &RowQuery) -> bool {
    let is_one_value =
        |condition: &Condition| condition.comparison == Comparison::Is && condition.values.len() == 1;
    let is_by_key = |condition: &Condition| is_by_block(from_ref(condition)) || is_one_value(condition);
    query.conditions.iter().all(is_by_key)
}

/// A page of rows: it begins behind a key, wherever that is, by the table's own order.
pub(super) fn page<'a>(table: &TableSpec, query: &'a RowQuery, limit: u32) -> StoreResult<Question<'a>> {
    let columns: String = table.columns.iter().map(|column| format!(", {}", column.name.quoted())).collect();
    let select = format!("SELECT {}{columns} FROM {}", HEAD_COLUMNS.join(", "), table.name.quoted());
    let mut question = Question { sql: select, values: Vec::new() };
    let (comparison, direction) = match query.order {
        RowOrder::OldestFirst => (">", "ASC"),
        RowOrder::NewestFirst => ("<", "DESC"),
    };
    let mut terms = Vec::new();
    if let Some(after) = query.after {
        // A number that does not fit was refused.
        let block = question.bind(Bound::new(i64::try_from(after.block).unwrap_or(i64::MAX), Type::INT8));
        let log_index = question.bind(Bound::new(i64::from(after.log_index), Type::INT8));
        terms.push(format!("(block_number, log_index) {comparison} ({block}, {log_index})"));
    }
    question.demand(table, terms, &query.conditions)?;
    let limit = question.bind(Bound::new(i64::from(limit), Type::INT8));
    question.sql += &format!(" ORDER BY block_number {direction}, log_index {direction} LIMIT {limit}");
    Ok(question)
}

/// How many rows meet the conditions.
pub(super) fn count<'a>(table: &TableSpec, conditions: &'a [Condition]) -> StoreResult<Question<'a>> {
    let select = format!("SELECT count(*) FROM {}", table.name.quoted());
    let mut question = Question { sql: select, values: Vec::new() };
    question.demand(table, Vec::new(), conditions)?;
    Ok(question)
}

/// Totals, each with how many rows it is of, behind the value they share.
pub(super) fn totals<'a>(table: &TableSpec, query: &'a SumQuery, limit: u32) -> StoreResult<Question<'a>> {
    let by = query.by.as_ref().map_or_else(|| "NULL".to_owned(), quoted);
    let (name, column) = (table.name.quoted(), query.column.quoted());
    let select = format!("SELECT {by}, COALESCE(sum({column}), 0)::TEXT, count(*) FROM {name}");
    let mut question = Question { sql: select, values: Vec::new() };
    question.demand(table, Vec::new(), &query.conditions)?;
    if query.by.is_some() {
        question.sql += &format!(" GROUP BY {by} ORDER BY {by}");
    }
    let limit = question.bind(Bound::new(i64::from(limit), Type::INT8));
    question.sql += &format!(" LIMIT {limit}");
    Ok(question)
}

impl<'a> Question<'a> {
    /// Adds a value; returns what stands for it.
    fn bind(&mut self, value: Bound<'a>) -> String {
        self.values.push(value);
        format!("${}", self.values.len())
    }

    fn demand(
        &mut self,
        table: &TableSpec,
        mut terms: Vec<String>,
        conditions: &'a [Condition],
    ) -> StoreResult<()> {
        for condition in conditions {
            terms.push(self.term(table, condition)?);
        }
        if !terms.is_empty() {
            self.sql += " WHERE ";
            self.sql += &terms.join(" AND ");
        }
        Ok(())
    }

    fn term(&mut self, table: &TableSpec, condition: &'a Condition) -> StoreResult<String> {
        let Condition { place, comparison, values } = condition;
        let column = quoted(place);
        let kind = place.kind(table)?;
        let is_one = *comparison == Comparison::Is && values.len() == 1;
        let single = match comparison {
            // The rows of one value come in the order of its index; those of several do not.
            Comparison::Is | Comparison::IsNot if !is_one => param::list(kind, values.iter()),
            // That there is one value was checked.
            _ => values.first().map_or_else(|| param::list(kind, [].iter()), param::one),
        };
        let value = self.bind(single);
        Ok(match comparison {
            Comparison::Is if is_one => format!("{column} = {value}"),
            Comparison::Is => format!("{column} = ANY ({value})"),
            Comparison::IsNot => format!("{column} <> ALL ({value})"),
            Comparison::Above => format!("{column} > {value}"),
            Comparison::AtLeast => format!("{column} >= {value}"),
            Comparison::Below => format!("{column} < {value}"),
            Comparison::AtMost => format!("{column} <= {value}"),
        })
    }
}

fn quoted(place: &Place) -> String {
    format!("\"{}\"", place.column_name())
}
