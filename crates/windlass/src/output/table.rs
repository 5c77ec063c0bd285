//! Tables for people: a header, columns, no lines.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

/// Which side a column leans to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

/// A table with a header; cells are as wide as they need to be.
pub(crate) fn render(header: &[(&str, Side)], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().map(|(name, _)| Cell::new(name)));
    for row in rows {
        table.add_row(row);
    }
    for (column, (_, side)) in table.column_iter_mut().zip(header) {
        if *side == Side::Right {
            column.set_cell_alignment(CellAlignment::Right);
        }
        column.set_padding((0, 2));
    }
    let lines = table.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lean_right_and_lines_end_with_their_text() {
        let header = [("queue", Side::Left), ("open", Side::Right)];
        let rows = [vec!["collect".to_owned(), "7".to_owned()], vec!["x".to_owned(), "1200".to_owned()]];
        assert_eq!(render(&header, rows), "queue    open\ncollect     7\nx        1200\n");
    }
}
