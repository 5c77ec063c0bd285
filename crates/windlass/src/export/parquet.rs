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

use super::RowWriter;
use super::sheet::{Cell, CellKind, Sheet, SheetColumn};

/// A row group has at most so many rows: they are in memory together.
const MAX_GROUP_ROWS: usize = 50_000;
/// A row group ends early when its texts have so many bytes.
const MAX_GROUP_BYTES: usize = 32 << 20;

/// Writes Parquet.
pub(super) struct Parquet<'w, S: Sheet, W: Write + Send> {
    writer: SerializedFileWriter<&'w mut W>,
    sheet: &'w S,
    columns: Vec<SheetColumn>,
    group: Vec<S::Row>,
    group_bytes: usize,
}

impl<'w, S: Sheet, W: Write + Send> Parquet<'w, S, W> {
    /// Writes what stands before the first row.
    pub(super) fn begin(sheet: &'w S, out: &'w mut W) -> io::Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("windlass {}", env!("CARGO_PKG_VERSION")))
            .build();
        let columns = sheet.columns();
        let schema = schema(sheet.name(), &columns).map_err(failed)?;
        let writer = SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(failed)?;
        Ok(Self { writer, sheet, columns, group: Vec::new(), group_bytes: 0 })
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        if self.group.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for (place, about) in self.columns.iter().enumerate() {
            let missing = || ParquetError::General(format!("column {} is not in the schema", about.name));
            let mut column = group.next_column()?.ok_or_else(missing)?;
            let cells = self.group.iter().map(|row| self.sheet.cell(row, place));
            write_column(&mut column, about, cells)?;
            column.close()?;
        }
        group.close()?;
        self.group.clear();
        self.group_bytes = 0;
        Ok(())
    }
}

impl<S: Sheet, W: Write + Send> RowWriter<S::Row> for Parquet<'_, S, W> {
    fn rows(&mut self, rows: &[S::Row]) -> io::Result<()> {
        for row in rows {
            self.group_bytes += self.sheet.text_bytes(row);
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

fn schema(name: &str, columns: &[SheetColumn]) -> Result<TypePtr, ParquetError> {
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder(name).with_fields(fields).build().map(Arc::new)
}

fn field(column: &SheetColumn) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match column.kind {
        CellKind::Integer => (Physical::INT64, None),
        CellKind::Bool => (Physical::BOOLEAN, None),
        CellKind::Instant => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
        CellKind::Json => (Physical::BYTE_ARRAY, Some(LogicalType::Json)),
        CellKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition = if column.is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let builder = Type::primitive_type_builder(&column.name, physical).with_repetition(repetition);
    builder.with_logical_type(logical).build().map(Arc::new)
}

fn write_column<'r>(
    column: &mut SerializedColumnWriter<'_>,
    about: &SheetColumn,
    cells: impl Iterator<Item = Cell<'r>> + Clone,
) -> Result<(), ParquetError> {
    let levels: Option<Vec<i16>> = about
        .is_optional
        .then(|| cells.clone().map(|cell| i16::from(!matches!(cell, Cell::Empty))).collect());
    let cells = cells.filter(|cell| !about.is_optional || !matches!(cell, Cell::Empty));
    let levels = levels.as_deref();
    match about.kind {
        CellKind::Integer | CellKind::Instant => {
            let values: Vec<i64> = cells.map(|cell| integer(&cell)).collect();
            column.typed::<Int64Type>().write_batch(&values, levels, None).map(drop)
        }
        CellKind::Bool => {
            let values: Vec<bool> = cells.map(|cell| matches!(cell, Cell::Bool(true))).collect();
            column.typed::<BoolType>().write_batch(&values, levels, None).map(drop)
        }
        CellKind::Text | CellKind::Json => {
            let values: Vec<ByteArray> = cells.map(|cell| cell.to_string().into_bytes().into()).collect();
            column.typed::<ByteArrayType>().write_batch(&values, levels, None).map(drop)
        }
    }
}

/// A cell as a number; times in milliseconds since 1970.
fn integer(cell: &Cell<'_>) -> i64 {
    match cell {
        Cell::Integer(integer) => *integer,
        Cell::Seconds(seconds) => i64::try_from(seconds.saturating_mul(1_000)).unwrap_or(i64::MAX),
        Cell::Instant(at) => at.as_ms(),
        _ => 0,
    }
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
        let table = table();
        let mut parquet = Parquet::begin(&table, &mut out).expect("begun");
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
        let table = table();
        let parquet = Parquet::begin(&table, &mut out).expect("begun");
        Box::new(parquet).finish().expect("finished");
        let reader = SerializedFileReader::new(bytes::Bytes::from(out)).expect("a file");
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    }
}
