//! Steps about typed tables, and the calls and writes they stand for.

use std::sync::Arc;

use proptest::prelude::*;
use windlass_core::commit::Write;
use windlass_core::range::BlockRange;
use windlass_core::row_query::{Comparison, Condition, Place, RowOrder, RowQuery, SumQuery};
use windlass_core::table::{EventRow, Identifier, TableSpec, Value};

use super::call::Call;
use super::op::{Op, WriteOp};
use crate::make::{self, EVERY_KIND};

/// How many tables scripts know.
pub(super) const TABLES: u8 = 3;
/// A table of the second shape has only so many of the columns.
const FEW_COLUMNS: usize = 4;
/// Blocks and logs are numbered below these.
const BLOCKS: u8 = 6;
const LOGS: u8 = 4;

/// A step about tables.
#[derive(Debug, Clone)]
pub(super) enum TableOp {
    Make { tables: Vec<TableName> },
    Drop { table: u8 },
    Page { table: u8, is_newest_first: bool, after: Option<(u8, u8)>, limit: u8, filters: Vec<Filter> },
    Count { table: u8, filters: Vec<Filter> },
    Sum { table: u8, column: u8, by: Option<u8>, limit: u8, filters: Vec<Filter> },
}

/// A write to tables.
#[derive(Debug, Clone)]
pub(super) enum TableWrite {
    Rows { table: TableName, block: u8, fork: u8, count: u8 },
    Erase { table: u8, from: u8, count: u8, contracts: Vec<u8> },
    Forget { chain: u8, below: u8 },
}

/// A table by number; now and then it is another than the one of that name.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableName {
    number: u8,
    is_other: bool,
}

/// A condition: the value is that of the row there.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    place: u8,
    comparison: u8,
    like: (u8, u8),
}

fn table_name() -> impl Strategy<Value = TableName> {
    (0..TABLES, 0u8..10).prop_map(|(number, other)| TableName { number, is_other: other == 0 })
}

fn filters() -> impl Strategy<Value = Vec<Filter>> {
    let filter = (any::<u8>(), any::<u8>(), (0..BLOCKS, 0..LOGS))
        .prop_map(|(place, comparison, like)| Filter { place, comparison, like });
    prop::collection::vec(filter, 0..3)
}

/// Tables are made, dropped and asked.
pub(super) fn table_op() -> BoxedStrategy<Op> {
    let after = prop::option::of((0..BLOCKS, 0..LOGS));
    let page = (0..TABLES, any::<bool>(), after, 0u8..9, filters());
    let sum = (0..TABLES, any::<u8>(), prop::option::of(any::<u8>()), 0u8..5, filters());
    let op = prop_oneof![
        4 => prop::collection::vec(table_name(), 1..4).prop_map(|tables| TableOp::Make { tables }),
        1 => (0..TABLES).prop_map(|table| TableOp::Drop { table }),
        6 => page.prop_map(|(table, is_newest_first, after, limit, filters)| {
            TableOp::Page { table, is_newest_first, after, limit, filters }
        }),
        2 => (0..TABLES, filters()).prop_map(|(table, filters)| TableOp::Count { table, filters }),
        3 => sum.prop_map(|(table, column, by, limit, filters)| {
            TableOp::Sum { table, column, by, limit, filters }
        }),
    ];
    op.prop_map(Op::Table).boxed()
}

/// Rows come and go.
pub(super) fn table_write() -> BoxedStrategy<WriteOp> {
    let rows = (table_name(), 0..BLOCKS, 0u8..8, 1u8..9);
    let write = prop_oneof![
        6 => rows.prop_map(|(table, block, fork, count)| {
            TableWrite::Rows { table, block, fork: fork / 7, count }
        }),
        1 => (0..TABLES, 0..BLOCKS, 0u8..4, prop::collection::vec(0u8..3, 0..3))
            .prop_map(|(table, from, count, contracts)| TableWrite::Erase { table, from, count, contracts }),
        1 => (0u8..2, 0..BLOCKS).prop_map(|(chain, below)| TableWrite::Forget { chain, below }),
    ];
    write.prop_map(WriteOp::Table).boxed()
}

impl TableName {
    fn spec(self) -> Arc<TableSpec> {
        let columns = if self.is_other { &EVERY_KIND[..FEW_COLUMNS] } else { &EVERY_KIND };
        make::table_of(&format!("t{}", self.number), u64::from(self.number % 2) + 1, columns)
    }
}

fn name(number: u8) -> Identifier {
    make::identifier(&format!("t{number}"))
}

/// The call a step stands for.
pub(super) fn call(op: &TableOp) -> Call {
    match op {
        TableOp::Make { tables } => Call::CreateTables(tables.iter().map(|table| table.spec()).collect()),
        TableOp::Drop { table } => Call::DropTable(name(*table)),
        TableOp::Page { table, is_newest_first, after, limit, filters } => Call::Rows(RowQuery {
            table: name(*table),
            conditions: conditions(filters),
            order: if *is_newest_first { RowOrder::NewestFirst } else { RowOrder::OldestFirst },
            after: after.map(|(block, log)| make::row_key(block.into(), log.into())),
            limit: u32::from(*limit),
        }),
        TableOp::Count { table, filters } => Call::CountRows(name(*table), conditions(filters)),
        TableOp::Sum { table, column, by, limit, filters } => Call::SumRows(SumQuery {
            table: name(*table),
            conditions: conditions(filters),
            // The first three hold numbers; one more is refused.
            column: make::identifier(EVERY_KIND[usize::from(*column % 4)].0),
            by: by.map(|by| place(by).0),
            limit: u32::from(*limit),
        }),
    }
}

/// The write a step stands for.
pub(super) fn write(op: &TableWrite) -> Write {
    match op {
        TableWrite::Rows { table, block, fork, count } => {
            let spec = table.spec();
            let rows = (0..*count).map(|place| {
                let (block, log) = (block + place / LOGS, place % LOGS);
                let mut row = make::row(block.into(), log.into(), *fork);
                row.values.truncate(spec.columns.len());
                row
            });
            Write::Rows(make::rows(&spec, rows))
        }
        TableWrite::Erase { table, from, count, contracts } => {
            let blocks = BlockRange { from: u64::from(*from), to: u64::from(from + count) };
            let contracts = contracts.iter().map(|number| make::contract((*number).into())).collect();
            Write::EraseRows { table: name(*table), blocks, contracts }
        }
        TableWrite::Forget { chain, below } => {
            Write::ForgetBlocks { chain: make::chain(u64::from(*chain) + 1), below: u64::from(*below) }
        }
    }
}

/// What a condition looks at, and what a row has there.
fn place(number: u8) -> (Place, fn(&EventRow) -> Value) {
    let own = |place: u8| Place::Column(make::identifier(EVERY_KIND[usize::from(place)].0));
    match number % 14 {
        0 => (own(0), |row| row.values[0].clone()),
        1 => (own(1), |row| row.values[1].clone()),
        2 => (own(2), |row| row.values[2].clone()),
        3 => (own(3), |row| row.values[3].clone()),
        4 => (own(4), |row| row.values[4].clone()),
        5 => (own(5), |row| row.values[5].clone()),
        6 => (own(6), |row| row.values[6].clone()),
        7 => (own(7), |row| row.values[7].clone()),
        8 => (Place::Address, |row| Value::Address(row.head.address)),
        9 => (Place::BlockHash, |row| Value::Bytes(row.head.block.hash.to_vec().into())),
        10 => (Place::TransactionHash, |row| Value::Bytes(row.head.transaction_hash.to_vec().into())),
        11 => (Place::Timestamp, |row| Value::Integer(row.head.timestamp_s as i64)),
        12 => (Place::LogIndex, |row| Value::Integer(row.head.log_index.into())),
        _ => (Place::Block, |row| Value::Integer(row.head.block.number as i64)),
    }
}

fn conditions(filters: &[Filter]) -> Vec<Condition> {
    let condition = |filter: &Filter| {
        let (place, value) = place(filter.place);
        let comparison = match filter.comparison % 6 {
            0 => Comparison::Is,
            1 => Comparison::IsNot,
            2 => Comparison::Above,
            3 => Comparison::AtLeast,
            4 => Comparison::Below,
            _ => Comparison::AtMost,
        };
        let (block, log) = filter.like;
        let mut values = vec![value(&make::row(block.into(), log.into(), 0))];
        if filter.comparison % 6 < 2 {
            values.push(value(&make::row(u64::from(block) + 1, log.into(), 0)));
        }
        Condition { place, comparison, values }
    };
    filters.iter().map(condition).collect()
}
