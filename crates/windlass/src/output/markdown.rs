//! Pages of Markdown on a terminal: style distinguishes headings, lists and code, and
//! paragraphs are wrapped. It knows as much of Markdown as the pages of error codes use.

use clap::builder::styling::{AnsiColor, Style};

use super::style::{NAME, paint};

const TITLE: Style = AnsiColor::Green.on_default().bold();
const HEADING: Style = Style::new().bold();
/// How far code is indented.
const INDENT: &str = "    ";
/// Text is no wider than this, however wide the terminal.
const MAX_WIDTH: usize = 100;

/// A page as it looks on a terminal with so many columns.
pub(crate) fn render(page: &str, columns: usize) -> String {
    let width = columns.clamp(20, MAX_WIDTH);
    let mut text = String::new();
    let mut is_code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
            continue;
        }
        let shown = match line {
            code if is_code => format!("{INDENT}{}", paint(NAME, code)),
            line if line.starts_with("# ") => paint(TITLE, &line[2..]),
            line if line.starts_with("## ") => paint(HEADING, &line[3..]),
            line => wrapped(line, width),
        };
        text.push_str(&shown);
        text.push('\n');
    }
    text
}

/// A paragraph or an item of a list in as many rows as it takes; an item's later rows are indented as its text is.
fn wrapped(line: &str, width: usize) -> String {
    let indent = item_indent(line);
    let (mut rows, mut row, mut used) = (Vec::new(), String::new(), 0);
    for word in pieces(&line[indent..]) {
        if used > 0 && indent + used + 1 + word.width > width {
            rows.push(std::mem::take(&mut row));
            used = 0;
        }
        if used > 0 {
            row.push(' ');
            used += 1;
        }
        row.push_str(&word.shown);
        used += word.width;
    }
    rows.push(row);
    format!("{}{}", &line[..indent], rows.join(&format!("\n{}", " ".repeat(indent))))
}

/// How far the text of an item is indented: behind `- ` or `1. `.
fn item_indent(line: &str) -> usize {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    match &line[digits..] {
        rest if digits > 0 && rest.starts_with(". ") => digits + 2,
        rest if digits == 0 && rest.starts_with("- ") => 2,
        _ => 0,
    }
}

/// Something that is not broken, and how wide it looks.
struct Piece {
    shown: String,
    width: usize,
}

/// Words; code is painted and keeps its spaces, so that a command is not torn.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut is_joined = false;
    for (place, part) in text.split('`').enumerate() {
        if place % 2 == 1 {
            add(&mut pieces, is_joined, Piece { shown: paint(NAME, part), width: part.chars().count() });
            is_joined = true;
            continue;
        }
        for word in part.split_inclusive(' ') {
            let plain = word.trim_end();
            if !plain.is_empty() {
                add(&mut pieces, is_joined, Piece { shown: plain.to_owned(), width: plain.chars().count() });
            }
            is_joined = !word.ends_with(' ');
        }
    }
    pieces
}

/// Adds a piece, to the one before where there is no space between them.
fn add(pieces: &mut Vec<Piece>, is_joined: bool, piece: Piece) {
    match pieces.last_mut().filter(|_| is_joined) {
        Some(last) => {
            last.shown.push_str(&piece.shown);
            last.width += piece.width;
        }
        None => pieces.push(piece),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(page: &str, columns: usize) -> String {
        anstream::adapter::strip_str(&render(page, columns)).to_string()
    }

    #[test]
    fn a_page_is_wrapped_and_its_marks_are_styles() {
        let page = "# W1: a title\n\nOne `windlass run --role pay` here.\n\n- an item that is long\n1. first (`a`, `b`).\n\n```sh\nls  -l\n```\n";
        assert_eq!(
            plain(page, 24),
            "W1: a title\n\nOne\nwindlass run --role pay\nhere.\n\n- an item that is long\n1. first (a, b).\n\n    ls  -l\n"
        );
        assert_eq!(plain("- an item that is long\n", 20), "- an item that is\n  long\n");
        assert!(render("## Why\n", 80).contains("\u{1b}[1mWhy\u{1b}[0m"));
    }

    #[test]
    fn no_row_of_any_page_is_wider_than_the_terminal() {
        for code in windlass_core::code::Code::ALL {
            let shown = plain(crate::explain::page(*code), 80);
            let wide = shown.lines().find(|row| row.chars().count() > 80 && !row.starts_with(INDENT));
            assert!(wide.is_none(), "{code}: {wide:?}");
            assert!(!shown.contains("## ") && !shown.contains("```"), "{code}");
        }
    }
}
