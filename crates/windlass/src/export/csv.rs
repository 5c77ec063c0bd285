//! CSV as RFC 4180 has it, with line feeds: a line of names, then a line a row.

use std::fmt::{Display, Write as _};
use std::io::{self, Write};

use super::RowWriter;
use super::sheet::Sheet;

/// Writes CSV.
pub(super) struct Csv<'w, S, W> {
    sheet: &'w S,
    out: &'w mut W,
    columns: usize,
    /// One page as text, and one cell: kept, so that they need no new memory each time.
    page: String,
    cell: String,
}

impl<'w, S: Sheet, W: Write> Csv<'w, S, W> {
    /// Writes the line of names.
    pub(super) fn begin(sheet: &'w S, out: &'w mut W) -> io::Result<Self> {
        let columns = sheet.columns();
        let mut csv = Self { sheet, out, columns: columns.len(), page: String::new(), cell: String::new() };
        for (place, column) in columns.iter().enumerate() {
            csv.put(place, &column.name);
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

impl<S: Sheet, W: Write + Send> RowWriter<S::Row> for Csv<'_, S, W> {
    fn rows(&mut self, rows: &[S::Row]) -> io::Result<()> {
        let sheet = self.sheet;
        for row in rows {
            for place in 0..self.columns {
                self.put(place, sheet.cell(row, place));
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
        let table = table();
        let mut csv = Csv::begin(&table, &mut out).expect("written");
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
