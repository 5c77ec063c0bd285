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

/// What a text says.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// As far as it could be read.
    pub(crate) table: Table,
    /// What could not.
    pub(crate) problems: Vec<Problem>,
    /// Whether there are errors of syntax: what follows one is guesswork.
    pub(crate) is_garbled: bool,
}

/// Reads TOML text; syntax errors are all reported, and what could be read is kept.
pub(crate) fn parse(path: &Path, text: &str) -> Parsed {
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
    let is_garbled = !problems.is_empty();
    let table = table(document.into_inner(), &lines, &mut problems);
    Parsed { table, problems, is_garbled }
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
        let content = content(value, lines, problems);
        if matches!(content, Content::Unreadable) {
            problems.push(Problem::new(origin.clone(), key.clone(), OUT_OF_RANGE));
        }
        nodes.insert(key, Node { origin, content });
    }
    nodes
}

/// The only values that are well written and cannot be taken.
const OUT_OF_RANGE: &str =
    "the number is out of range: numbers go from -9223372036854775808 to 9223372036854775807";

fn content(value: Spanned<DeValue<'_>>, lines: &Lines<'_>, problems: &mut Vec<Problem>) -> Content {
    let span = value.span();
    match value.into_inner() {
        DeValue::Table(below) => Content::Table(table(below, lines, problems)),
        leaf => {
            let leaf = Spanned::new(span, leaf).into_deserializer();
            toml::Value::deserialize(leaf).map_or(Content::Unreadable, Content::Value)
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
        let Parsed { table, problems, is_garbled } = parse(Path::new("w.toml"), text);
        assert_eq!((problems, is_garbled), (vec![], false));
        assert_eq!(tree::values(&table), toml::from_str::<toml::Table>(text).expect("toml"));
        for (key, line) in
            [("database", 2), ("database.url", 3), ("chain.polygon", 5), ("chain.polygon.rpc", 7)]
        {
            assert_eq!(line_of(&table, key), format!("w.toml:{line}"), "{key}");
        }
    }

    #[test]
    fn a_number_that_is_too_large_is_not_dropped() {
        let parsed = parse(Path::new("w.toml"), "[chain.a]\nid = 99999999999999999999\n");
        assert!(!parsed.is_garbled, "what follows can be read");
        let shown: Vec<String> = parsed.problems.iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert!(shown[0].starts_with("w.toml:2: id: the number is out of range"), "{shown:?}");
    }

    #[test]
    fn syntax_errors_are_all_reported_without_the_source() {
        let parsed = parse(Path::new("w.toml"), "a = hunter2\nb = 1\nc = \"open\nd = 3\n");
        assert!(parsed.is_garbled);
        let shown: Vec<String> = parsed.problems.iter().map(ToString::to_string).collect();
        assert!(shown.len() >= 2, "{shown:?}");
        assert!(shown[0].starts_with("w.toml:1: "), "{shown:?}");
        assert!(!shown.concat().contains("hunter2"), "{shown:?}");
    }
}
