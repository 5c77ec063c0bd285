//! Typed tables: rows in maps, and questions answered by looking at each of them.

use std::cmp::Ordering;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use alloy_primitives::{Signed, U512};
use windlass_core::chain::{Address, ChainId};
use windlass_core::commit::Written;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::range::BlockRange;
use windlass_core::row_query::{
    Comparison, Condition, MAX_ROW_PAGE, MAX_SUM_GROUPS, Place, RowOrder, RowQuery, SumGroup, SumQuery,
};
use windlass_core::store::TableInfo;
use windlass_core::table::{EventRow, Identifier, RowKey, Rows, TableSpec, Value};
use windlass_core::table_rules::{check_conditions, check_room, storable_text};

use super::Model;

/// Room for sums of 256-bit numbers.
type I512 = Signed<512, 8>;

/// A table, and what is in it.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    spec: Arc<TableSpec>,
    rows: BTreeMap<RowKey, EventRow>,
    indexed: BTreeSet<Identifier>,
}

impl Model {
    pub(crate) fn create_tables(&mut self, tables: &[Arc<TableSpec>]) -> StoreResult<Vec<Identifier>> {
        let mut next = self.tables.clone();
        let mut made = Vec::new();
        for spec in tables {
            spec.validate()?;
            match next.get(&spec.name) {
                None => {
                    check_room(next.len())?;
                    made.push(spec.name.clone());
                    next.insert(
                        spec.name.clone(),
                        Table { spec: spec.clone(), rows: BTreeMap::new(), indexed: BTreeSet::new() },
                    );
                }
                Some(stored) if stored.spec.holds_same(spec) => self.tally.hit("known table asked for again"),
                Some(stored) => {
                    self.tally.hit("table conflict");
                    return Err(spec.conflict_with(&stored.spec));
                }
            }
        }
        self.tables = next;
        Ok(made)
    }

    /// The table and one of its columns, which must be there.
    fn indexable(&mut self, name: &Identifier, column: &Identifier) -> StoreResult<&mut Table> {
        let table = self.tables.get_mut(name).ok_or_else(|| StoreError::TableMissing(name.clone()))?;
        table.spec.require_indexable(column)?;
        Ok(table)
    }

    pub(crate) fn column_indexes(&mut self, name: &Identifier) -> StoreResult<Vec<Identifier>> {
        let table = self.tables.get(name).ok_or_else(|| StoreError::TableMissing(name.clone()))?;
        let columns = table.spec.columns.iter().map(|column| column.name.clone());
        Ok(columns.filter(|column| table.indexed.contains(column)).collect())
    }

    pub(crate) fn create_column_index(
        &mut self,
        name: &Identifier,
        column: &Identifier,
    ) -> StoreResult<bool> {
        Ok(self.indexable(name, column)?.indexed.insert(column.clone()))
    }

    pub(crate) fn drop_column_index(&mut self, name: &Identifier, column: &Identifier) -> StoreResult<bool> {
        Ok(self.indexable(name, column)?.indexed.remove(column))
    }

    pub(crate) fn drop_table(&mut self, name: &Identifier) -> bool {
        let dropped = self.tables.remove(name);
        if dropped.as_ref().is_some_and(|table| !table.rows.is_empty()) {
            self.tally.hit("table dropped with rows");
        }
        dropped.is_some()
    }

    pub(crate) fn list_tables(&self) -> Vec<TableInfo> {
        let info = |table: &Table| TableInfo { spec: table.spec.clone(), rows: table.rows.len() as u64 };
        self.tables.values().map(info).collect()
    }

    pub(super) fn add_rows(&mut self, rows: &Rows) -> StoreResult<Written> {
        let spec = rows.table();
        let stored = self.tables.get_mut(&spec.name).filter(|table| table.spec.holds_same(spec));
        let Some(table) = stored else {
            self.tally.hit("rows for a missing table refused");
            return Err(StoreError::TableMissing(spec.name.clone()));
        };
        let (mut new, mut known, mut contradictions) = (0, 0, 0);
        for (head, values) in rows.iter() {
            match table.rows.entry(head.key()) {
                Entry::Vacant(free) => {
                    let values = values.iter().map(kept).collect();
                    free.insert(EventRow { head: *head, values });
                    new += 1;
                }
                Entry::Occupied(stored) if stored.get().head.block.hash == head.block.hash => known += 1,
                Entry::Occupied(_) => contradictions += 1,
            }
        }
        if known > 0 {
            self.tally.hit("known rows left as they are");
        }
        if contradictions > 0 {
            self.tally.hit("rows of another fork refused");
            return Err(StoreError::EventConflict { chain: spec.chain.as_i64(), count: contradictions });
        }
        Ok(Written::Rows(new))
    }

    pub(super) fn erase_rows(
        &mut self,
        name: &Identifier,
        blocks: BlockRange,
        contracts: &[Address],
    ) -> StoreResult<Written> {
        let table = self.tables.get_mut(name).ok_or_else(|| StoreError::TableMissing(name.clone()))?;
        let before = table.rows.len();
        table.rows.retain(|key, row| {
            let is_meant = contracts.is_empty() || contracts.contains(&row.head.address);
            key.block < blocks.from || key.block > blocks.to || !is_meant
        });
        let gone = before - table.rows.len();
        if gone > 0 {
            self.tally.hit("rows erased");
        }
        Ok(Written::Rows(gone as u64))
    }

    /// Takes back rows of every table of a chain; says how many.
    pub(super) fn retract_rows(&mut self, chain: ChainId, from_block: u64) -> u64 {
        let (mut gone, mut touched) = (0, 0);
        for table in self.tables.values_mut().filter(|table| table.spec.chain == chain) {
            let before = table.rows.len();
            table.rows.retain(|key, _| key.block < from_block);
            gone += before - table.rows.len();
            touched += usize::from(table.rows.len() < before);
        }
        if touched > 1 {
            self.tally.hit("rows of several tables retracted");
        }
        gone as u64
    }

    fn table(&self, name: &Identifier) -> StoreResult<&Table> {
        self.tables.get(name).ok_or_else(|| StoreError::TableMissing(name.clone()))
    }

    pub(crate) fn rows(&mut self, query: &RowQuery) -> StoreResult<Vec<EventRow>> {
        let table = self.table(&query.table)?;
        query.validate(&table.spec)?;
        let mut rows: Vec<&EventRow> = table.meeting(&query.conditions).collect();
        if query.order == RowOrder::NewestFirst {
            rows.reverse();
        }
        let is_behind = |row: &&EventRow| match (query.after, query.order) {
            (None, _) => true,
            (Some(after), RowOrder::OldestFirst) => row.head.key() > after,
            (Some(after), RowOrder::NewestFirst) => row.head.key() < after,
        };
        let limit = query.limit.min(MAX_ROW_PAGE) as usize;
        let page: Vec<EventRow> = rows.into_iter().filter(is_behind).take(limit).cloned().collect();
        if page.len() == limit && limit > 0 && query.after.is_some() {
            self.tally.hit("full page behind a row");
        }
        Ok(page)
    }

    pub(crate) fn count_rows(&self, name: &Identifier, conditions: &[Condition]) -> StoreResult<u64> {
        let table = self.table(name)?;
        check_conditions(&table.spec, conditions)?;
        Ok(table.meeting(conditions).count() as u64)
    }

    pub(crate) fn sum_rows(&mut self, query: &SumQuery) -> StoreResult<Vec<SumGroup>> {
        let table = self.table(&query.table)?;
        query.validate(&table.spec)?;
        let column = Place::Column(query.column.clone());
        let mut groups: Vec<(Option<Value>, I512, u64)> = Vec::new();
        if query.by.is_none() {
            groups.push((None, I512::ZERO, 0));
        }
        for row in table.meeting(&query.conditions) {
            let by = query.by.as_ref().map(|place| table.value(row, place));
            let place = groups.iter().position(|(value, _, _)| *value == by).unwrap_or_else(|| {
                groups.push((by, I512::ZERO, 0));
                groups.len() - 1
            });
            groups[place].1 += wide(&table.value(row, &column));
            groups[place].2 += 1;
        }
        groups.sort_by(|(one, _, _), (other, _, _)| match (one, other) {
            (Some(one), Some(other)) => compare(one, other),
            _ => Ordering::Equal,
        });
        groups.truncate(query.limit.min(MAX_SUM_GROUPS) as usize);
        if groups.len() > 1 {
            self.tally.hit("several totals");
        }
        let group = |(by, sum, rows): (_, I512, _)| SumGroup { by, sum: sum.to_string(), rows };
        Ok(groups.into_iter().map(group).collect())
    }
}

impl Table {
    fn meeting<'a>(&'a self, conditions: &'a [Condition]) -> impl Iterator<Item = &'a EventRow> {
        let meets = |row: &&EventRow| conditions.iter().all(|condition| self.meets(row, condition));
        self.rows.values().filter(meets)
    }

    fn meets(&self, row: &EventRow, condition: &Condition) -> bool {
        let value = self.value(row, &condition.place);
        let mut orders = condition.values.iter().map(|other| compare(&value, &kept(other)));
        match condition.comparison {
            Comparison::Is => orders.any(Ordering::is_eq),
            Comparison::IsNot => orders.all(Ordering::is_ne),
            Comparison::Above => orders.all(Ordering::is_gt),
            Comparison::AtLeast => orders.all(Ordering::is_ge),
            Comparison::Below => orders.all(Ordering::is_lt),
            Comparison::AtMost => orders.all(Ordering::is_le),
        }
    }

    fn value(&self, row: &EventRow, place: &Place) -> Value {
        let head = &row.head;
        let integer = |number: u64| Value::Integer(i64::try_from(number).expect("rows have small numbers"));
        match place {
            Place::Block => integer(head.block.number),
            Place::LogIndex => integer(head.log_index.into()),
            Place::Timestamp => integer(head.timestamp_s),
            Place::BlockHash => Value::Bytes(head.block.hash.to_vec().into()),
            Place::TransactionHash => Value::Bytes(head.transaction_hash.to_vec().into()),
            Place::Address => Value::Address(head.address),
            Place::Column(name) => {
                let place = self.spec.columns.iter().position(|column| column.name == *name);
                row.values[place.expect("the question was checked")].clone()
            }
        }
    }
}

/// A value as it is kept.
fn kept(value: &Value) -> Value {
    match value {
        Value::Text(text) => Value::Text(storable_text(text).into_owned()),
        other => other.clone(),
    }
}

/// The order of two values of one kind.
fn compare(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Integer(one), Value::Integer(other)) => one.cmp(other),
        (Value::Uint(one), Value::Uint(other)) => one.cmp(other),
        (Value::Int(one), Value::Int(other)) => one.cmp(other),
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Address(one), Value::Address(other)) => one.cmp(other),
        (Value::Bytes(one), Value::Bytes(other)) => one.cmp(other),
        (Value::Text(one), Value::Text(other)) => one.as_bytes().cmp(other.as_bytes()),
        _ => panic!("{one:?} and {other:?} were not to be compared"),
    }
}

/// A number with room for sums.
fn wide(value: &Value) -> I512 {
    match value {
        Value::Integer(number) => I512::try_from(*number).expect("it fits"),
        Value::Uint(number) => I512::from_raw(U512::from(*number)),
        Value::Int(number) => {
            let magnitude = I512::from_raw(U512::from(number.unsigned_abs()));
            if number.is_negative() { -magnitude } else { magnitude }
        }
        other => panic!("{other:?} was not to be summed"),
    }
}
