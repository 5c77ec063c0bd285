//! CSV as RFC 4180 has it, with line feeds: a line of names, then a line a row.

use std::fmt::{Display, Write as _};
use std::io::{self, Write};
use std::sync::Arc;

use windlass_core::table::{EventRow, HEAD_COLUMNS, TableSpec};

use super::RowWriter;

/// Writes CSV.
pub(super) struct Csv<'w, W> {
    out: &'w mut W,
    /// One page as text, and one cell: kept, so that they need no new memory each time.
    page: String,
    cell: String,
}

impl<'w, W: Write> Csv<'w, W> {
    /// Writes the line of names.
    pub(super) fn begin(table: Arc<TableSpec>, out: &'w mut W) -> io::Result<Self> {
        let mut csv = Self { out, page: String::new(), cell: String::new() };
        let fields = table.columns.iter().map(|column| column.field.as_str());
        for (place, name) in HEAD_COLUMNS.into_iter().chain(fields).enumerate() {
            csv.put(place, name);
        }
        csv.page.push('\n');
        csv.flush()?;
        Ok(csv)
    }

    fn put(&mut self, place: usize, value: impl Display) {
        if place > 0 {
            self.page.push(',');
        }
        self.cell.clear();
        // Writing to a `String` cannot fail.
        let _ = write!(self.cell, "{value}");
        if self.cell.contains([',', '"', '\n', '\r']) {
            self.page.push('"');
            self.page.push_str(&self.cell.replace('"', "\"\""));
            self.page.push('"');
        } else {
            self.page.push_str(&self.cell);
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(self.page.as_bytes())?;
        self.page.clear();
        Ok(())
    }
}

impl<W: Write + Send> RowWriter for Csv<'_, W> {
    fn rows(&mut self, rows: &[EventRow]) -> io::Result<()> {
        for EventRow { head, values } in rows {
            self.put(0, head.block.number);
            self.put(1, head.log_index);
            self.put(2, head.block.hash);
            self.put(3, head.timestamp_s);
            self.put(4, head.transaction_hash);
            self.put(5, head.address);
            for (place, value) in values.iter().enumerate() {
                self.put(HEAD_COLUMNS.len() + place, value);
            }
            self.page.push('\n');
        }
        self.flush()
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{rows, table};
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let mut out = Vec::new();
        let mut csv = Csv::begin(table(), &mut out).expect("written");
        csv.rows(&rows()).expect("written");
        Box::new(csv).finish().expect("written");
        let text = String::from_utf8(out).expect("text");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "block_number,log_index,block_hash,block_timestamp,transaction_hash,address,amount,note,ok"
        );
        assert!(lines[1].ends_with(",115792089237316195423570985008687907853269984665640564039457584007913129639935,\"a \"\"b\"\", c\",true"), "{}", lines[1]);
        assert!(lines[2].ends_with(",0,plain,false"), "{}", lines[2]);
        assert_eq!(lines.len(), 3);
    }
}
