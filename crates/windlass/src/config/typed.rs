//! From the tree to typed sections, with every problem at once.

use serde_path_to_error::Segment;

use super::origin::Origin;
use super::problem::Problem;
use super::sections::Config;
use super::tree::{self, Table};

/// No configuration has more problems than this worth listing.
const MAX_PROBLEMS: usize = 50;

/// Reads the sections. A value that does not fit is reported, taken out, and the
/// rest is read again, so that one mistake does not hide the next.
pub(crate) fn read(mut table: Table) -> Result<Config, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut taken: Vec<Vec<String>> = Vec::new();
    while problems.len() < MAX_PROBLEMS {
        let error = match serde_path_to_error::deserialize(tree::values(&table)) {
            Ok(config) if problems.is_empty() => return Ok(config),
            Ok(_) => break,
            Err(error) => error,
        };
        let path: Vec<String> = error.path().iter().filter_map(key).collect();
        let message = error.inner().message();
        // A field that is missing because its value was taken out has been reported as such.
        if !taken.iter().any(|field| message == missing(field, &path)) {
            let origin = tree::nearest(&table, &path).map_or(Origin::Default, |node| node.origin.clone());
            problems.push(Problem::new(origin, error.path().to_string(), message));
        }
        if !tree::take(&mut table, &path) {
            break;
        }
        taken.push(path);
    }
    Err(problems)
}

/// What serde says when the field at `path` is missing from the table at `parent`.
fn missing(path: &[String], parent: &[String]) -> String {
    match path.strip_prefix(parent) {
        Some([field, ..]) => format!("missing field `{field}`"),
        _ => String::new(),
    }
}

fn key(segment: &Segment) -> Option<String> {
    match segment {
        Segment::Map { key } => Some(key.clone()),
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Enum { .. } | Segment::Unknown => None,
    }
}

/// Checks what no single value can say.
pub(crate) fn check(config: &Config, table: &Table) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut seen = std::collections::BTreeMap::new();
    for (name, chain) in &config.chain {
        if let Some(other) = seen.insert(chain.id, name) {
            let path = ["chain".to_owned(), name.to_string(), "id".to_owned()];
            let origin = tree::nearest(table, &path).map_or(Origin::Default, |node| node.origin.clone());
            let message = format!("`{other}` has the id {} already", chain.id);
            problems.push(Problem::new(origin, path.join("."), message));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file;

    fn table(text: &str) -> Table {
        file::parse(std::path::Path::new("w.toml"), text).0
    }

    #[test]
    fn one_mistake_does_not_hide_the_next() {
        let text = "[log]\nlevel = 'loud'\nformat = 'xml'\n[chain.a]\nid = 'x'\nrpc = ['http://h', 'ftp://h']
[chain.b]\nid = 2\n[chain.C]\nid = 1\nrpc = ['http://h']\n[shutdown]\nlimit = 30\n";
        let problems = read(table(text)).expect_err("wrong");
        let mut places: Vec<String> =
            problems.iter().map(|problem| format!("{} {}", problem.origin, problem.path)).collect();
        places.sort();
        assert_eq!(
            places,
            [
                "w.toml:13 shutdown.limit",
                "w.toml:2 log.level",
                "w.toml:3 log.format",
                "w.toml:5 chain.a.id",
                "w.toml:6 chain.a.rpc[1]",
                "w.toml:7 chain.b",
                "w.toml:9 chain.C",
            ]
        );
    }

    #[test]
    fn two_chains_of_one_id_are_a_mistake() {
        let table = table("[chain.a]\nid = 1\nrpc = ['http://h']\n[chain.b]\nid = 1\nrpc = ['http://h']");
        let config = read(table.clone()).expect("typed");
        let problems: Vec<String> = check(&config, &table).iter().map(ToString::to_string).collect();
        assert_eq!(problems, ["w.toml:5: chain.b.id: `a` has the id 1 already"]);
    }
}
