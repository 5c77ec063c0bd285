//! The file layer: TOML with a line for every value.

use std::path::Path;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::origin::Origin;
use super::problem::Problem;
use super::tree::{Content, Node, Table};

/// The largest configuration file.
pub(crate) const MAX_FILE_BYTES: u64 = 1 << 20;

/// Reads TOML text; syntax errors are all reported, and what could be read is kept.
pub(crate) fn parse(path: &Path, text: &str) -> (Table, Vec<Problem>) {
    let lines = Lines::new(path, text);
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut problems: Vec<Problem> = errors
        .iter()
        .map(|error| {
            let at = error.span().map_or(0, |span| span.start);
            // Only the parser's own words: its full text would repeat the source line, secrets included.
            Problem::new(lines.origin(at), "", error.message().replace('\n', ", "))
        })
        .collect();
    let table = table(document.into_inner(), &lines, &mut problems);
    (table, problems)
}

/// Where each line ends, so that the line of a value is found without counting from the start.
struct Lines<'a> {
    path: &'a Path,
    ends: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(path: &'a Path, text: &str) -> Self {
        Self { path, ends: text.match_indices('\n').map(|(at, _)| at).collect() }
    }

    fn origin(&self, offset: usize) -> Origin {
        let line = self.ends.partition_point(|end| *end < offset) + 1;
        Origin::File { path: self.path.to_owned(), line }
    }
}

fn table(table: DeTable<'_>, lines: &Lines<'_>, problems: &mut Vec<Problem>) -> Table {
    let mut nodes = Table::new();
    for (key, value) in table {
        let origin = lines.origin(key.span().start);
        let key = key.into_inner().into_owned();
        match content(value, lines, problems) {
            Some(content) => {
                nodes.insert(key, Node { origin, content });
            }
            None => problems.push(Problem::new(origin, key, OUT_OF_RANGE)),
        }
    }
    nodes
}

/// The only values that are well written and cannot be taken.
const OUT_OF_RANGE: &str =
    "the number is out of range: numbers go from -9223372036854775808 to 9223372036854775807";

fn content(value: Spanned<DeValue<'_>>, lines: &Lines<'_>, problems: &mut Vec<Problem>) -> Option<Content> {
    let span = value.span();
    match value.into_inner() {
        DeValue::Table(below) => Some(Content::Table(table(below, lines, problems))),
        leaf => {
            let leaf = Spanned::new(span, leaf).into_deserializer();
            toml::Value::deserialize(leaf).ok().map(Content::Value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tree;

    fn line_of(table: &Table, key: &str) -> String {
        let path: Vec<String> = key.split('.').map(str::to_owned).collect();
        tree::nearest(table, &path).expect(key).origin.to_string()
    }

    #[test]
    fn every_value_knows_its_line() {
        let text =
            "# note\n[database]\nurl = \"sqlite:x\"\n\n[chain.polygon]\nid = 137\nrpc = [\n \"a\",\n]\n";
        let (table, problems) = parse(Path::new("w.toml"), text);
        assert_eq!(problems, []);
        assert_eq!(tree::values(&table), toml::from_str::<toml::Table>(text).expect("toml"));
        for (key, line) in
            [("database", 2), ("database.url", 3), ("chain.polygon", 5), ("chain.polygon.rpc", 7)]
        {
            assert_eq!(line_of(&table, key), format!("w.toml:{line}"), "{key}");
        }
    }

    #[test]
    fn a_number_that_is_too_large_is_not_dropped() {
        let (_, problems) = parse(Path::new("w.toml"), "[chain.a]\nid = 99999999999999999999\n");
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert!(shown[0].starts_with("w.toml:2: id: the number is out of range"), "{shown:?}");
    }

    #[test]
    fn syntax_errors_are_all_reported_without_the_source() {
        let (_, problems) = parse(Path::new("w.toml"), "a = hunter2\nb = 1\nc = \"open\nd = 3\n");
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(shown.len() >= 2, "{shown:?}");
        assert!(shown[0].starts_with("w.toml:1: "), "{shown:?}");
        assert!(!shown.concat().contains("hunter2"), "{shown:?}");
    }
}
