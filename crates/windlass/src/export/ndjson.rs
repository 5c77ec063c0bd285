//! A JSON object a line: wide integers as decimal strings, as everywhere.

use std::io::{self, Write};

use super::RowWriter;
use super::sheet::Sheet;

/// Writes JSON lines.
pub(super) struct Ndjson<'w, S, W> {
    sheet: &'w S,
    out: &'w mut W,
    page: Vec<u8>,
}

impl<'w, S: Sheet, W: Write> Ndjson<'w, S, W> {
    /// Nothing stands before the first row.
    pub(super) const fn begin(sheet: &'w S, out: &'w mut W) -> Self {
        Self { sheet, out, page: Vec::new() }
    }
}

impl<S: Sheet, W: Write + Send> RowWriter<S::Row> for Ndjson<'_, S, W> {
    fn rows(&mut self, rows: &[S::Row]) -> io::Result<()> {
        for row in rows {
            self.sheet.write_json(row, &mut self.page)?;
            self.page.push(b'\n');
        }
        self.out.write_all(&self.page)?;
        self.page.clear();
        Ok(())
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
    fn every_row_is_an_object_with_exact_numbers() {
        let mut out = Vec::new();
        let table = table();
        let mut ndjson = Ndjson::begin(&table, &mut out);
        ndjson.rows(&rows()).expect("written");
        Box::new(ndjson).finish().expect("written");
        let text = String::from_utf8(out).expect("text");
        let read: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("json")).collect();
        assert_eq!(read.len(), 2);
        assert_eq!(
            read[0]["amount"],
            "115792089237316195423570985008687907853269984665640564039457584007913129639935"
        );
        assert_eq!((&read[0]["note"], &read[0]["ok"]), (&"a \"b\", c".into(), &true.into()));
        assert_eq!(read[1]["block_number"], 8);
    }
}
