//! Apache Parquet, compressed with Snappy. Wide integers are decimal text: Parquet's
//! own decimals end long before 256 bits in most readers.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use windlass_core::table::{ColumnKind, EventRow, HEAD_COLUMNS, TableSpec, Value};

use super::RowWriter;

/// A row group has at most so many rows: they are in memory together.
const MAX_GROUP_ROWS: usize = 50_000;
/// A row group ends early when its texts have so many bytes.
const MAX_GROUP_BYTES: usize = 32 << 20;

/// Writes Parquet.
pub(super) struct Parquet<'w, W: Write + Send> {
    writer: SerializedFileWriter<&'w mut W>,
    table: Arc<TableSpec>,
    group: Vec<EventRow>,
    group_bytes: usize,
}

impl<'w, W: Write + Send> Parquet<'w, W> {
    /// Writes what stands before the first row.
    pub(super) fn begin(table: Arc<TableSpec>, out: &'w mut W) -> io::Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("windlass {}", env!("CARGO_PKG_VERSION")))
            .build();
        let schema = schema(&table).map_err(failed)?;
        let writer = SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(failed)?;
        Ok(Self { writer, table, group: Vec::new(), group_bytes: 0 })
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        if self.group.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        let mut place = 0_usize;
        while let Some(mut column) = group.next_column()? {
            match place.checked_sub(HEAD_COLUMNS.len()) {
                None => write_head(&mut column, place, &self.group)?,
                Some(own) => write_own(&mut column, self.table.columns[own].kind, own, &self.group)?,
            }
            column.close()?;
            place += 1;
        }
        group.close()?;
        self.group.clear();
        self.group_bytes = 0;
        Ok(())
    }
}

impl<W: Write + Send> RowWriter for Parquet<'_, W> {
    fn rows(&mut self, rows: &[EventRow]) -> io::Result<()> {
        for row in rows {
            self.group_bytes += row.values.iter().map(loose_bytes).sum::<usize>();
            self.group.push(row.clone());
            if self.group.len() >= MAX_GROUP_ROWS || self.group_bytes >= MAX_GROUP_BYTES {
                self.write_group().map_err(failed)?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.write_group().map_err(failed)?;
        self.writer.close().map(drop).map_err(failed)
    }
}

fn loose_bytes(value: &Value) -> usize {
    match value {
        Value::Bytes(bytes) => bytes.len(),
        Value::Text(text) => text.len(),
        _ => 0,
    }
}

fn failed(error: ParquetError) -> io::Error {
    match error {
        // A closed pipe has to be known as such.
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

fn schema(table: &TableSpec) -> Result<TypePtr, ParquetError> {
    let instant = LogicalType::timestamp(true, TimeUnit::MILLIS);
    let heads = HEAD_COLUMNS.into_iter().map(|name| match name {
        "block_number" | "log_index" => field(name, Physical::INT64, None),
        "block_timestamp" => field(name, Physical::INT64, Some(instant.clone())),
        _ => field(name, Physical::BYTE_ARRAY, Some(LogicalType::String)),
    });
    let own = table.columns.iter().map(|column| match column.kind {
        ColumnKind::Integer => field(&column.field, Physical::INT64, None),
        ColumnKind::Bool => field(&column.field, Physical::BOOLEAN, None),
        ColumnKind::Json => field(&column.field, Physical::BYTE_ARRAY, Some(LogicalType::Json)),
        _ => field(&column.field, Physical::BYTE_ARRAY, Some(LogicalType::String)),
    });
    let fields = heads.chain(own).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder(table.name.as_str()).with_fields(fields).build().map(Arc::new)
}

fn field(name: &str, physical: Physical, logical: Option<LogicalType>) -> Result<TypePtr, ParquetError> {
    let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
    builder.with_logical_type(logical).build().map(Arc::new)
}

fn write_head(
    column: &mut SerializedColumnWriter<'_>,
    place: usize,
    rows: &[EventRow],
) -> Result<(), ParquetError> {
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    match place {
        0 => integers(column, rows.iter().map(|row| signed(row.head.block.number))),
        1 => integers(column, rows.iter().map(|row| i64::from(row.head.log_index))),
        2 => texts(column, rows.iter().map(|row| row.head.block.hash)),
        3 => integers(column, rows.iter().map(|row| signed(row.head.timestamp_s.saturating_mul(1_000)))),
        4 => texts(column, rows.iter().map(|row| row.head.transaction_hash)),
        _ => texts(column, rows.iter().map(|row| row.head.address)),
    }
}

fn write_own(
    column: &mut SerializedColumnWriter<'_>,
    kind: ColumnKind,
    place: usize,
    rows: &[EventRow],
) -> Result<(), ParquetError> {
    let values = rows.iter().map(|row| &row.values[place]);
    match kind {
        ColumnKind::Integer => integers(
            column,
            values.map(|value| if let Value::Integer(integer) = value { *integer } else { 0 }),
        ),
        ColumnKind::Bool => {
            let values: Vec<bool> = values.map(|value| *value == Value::Bool(true)).collect();
            column.typed::<BoolType>().write_batch(&values, None, None).map(drop)
        }
        _ => texts(column, values),
    }
}

fn integers(
    column: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = i64>,
) -> Result<(), ParquetError> {
    let values: Vec<i64> = values.collect();
    column.typed::<Int64Type>().write_batch(&values, None, None).map(drop)
}

fn texts(
    column: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = impl std::fmt::Display>,
) -> Result<(), ParquetError> {
    let values: Vec<ByteArray> = values.map(|value| value.to_string().into_bytes().into()).collect();
    column.typed::<ByteArrayType>().write_batch(&values, None, None).map(drop)
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::super::tests::{rows, table};
    use super::*;

    #[test]
    fn what_is_written_reads_back_exactly() {
        let mut out = Vec::new();
        let mut parquet = Parquet::begin(table(), &mut out).expect("begun");
        parquet.rows(&rows()).expect("written");
        Box::new(parquet).finish().expect("finished");
        let reader = SerializedFileReader::new(bytes::Bytes::from(out)).expect("a file");
        let read: Vec<_> = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect();
        assert_eq!(read.len(), 2);
        assert_eq!(
            read[0].get_string(6).expect("an amount"),
            "115792089237316195423570985008687907853269984665640564039457584007913129639935"
        );
        assert_eq!(read[0].get_string(7).expect("a note"), "a \"b\", c");
        assert!(read[0].get_bool(8).expect("a bool"));
        assert_eq!(read[1].get_long(0).expect("a block"), 8);
    }

    #[test]
    fn a_table_without_rows_is_a_file_too() {
        let mut out = Vec::new();
        let parquet = Parquet::begin(table(), &mut out).expect("begun");
        Box::new(parquet).finish().expect("finished");
        let reader = SerializedFileReader::new(bytes::Bytes::from(out)).expect("a file");
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    }
}
