//! From the tree to typed sections, with every problem at once.
//!
//! Each section, and each chain, is read by itself: a mistake costs another
//! reading of its own section only, and hides nothing elsewhere.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use secrecy::ExposeSecret;
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;

use super::chain::{Chain, ChainName, RpcUrl, repeated_url};
use super::origin::Origin;
use super::problem::Problem;
use super::sections::Config;
use super::tree::{self, Content, Node, Table};
use super::words;
use super::{api, index, pay, signer};

/// The most sections of one kind, such as chains or indexes.
pub(crate) const MAX_NAMED: usize = 1_000;
/// How the reader begins to say that a key is not there.
const MISSING: &str = "missing field ";
/// No section has more problems than this worth listing.
const MAX_SECTION_PROBLEMS: usize = 100;

/// Reads the sections, and reports every value that does not fit. A section that has one
/// is left out, or has its defaults.
pub(crate) fn read(mut table: Table) -> (Config, Vec<Problem>) {
    let mut reader = Reader { problems: Vec::new() };
    let config = Config {
        database: reader.section(table.remove("database"), "database"),
        chain: reader.named(table.remove("chain"), "chain"),
        index: reader.named(table.remove("index"), "index"),
        pay: table.remove("pay").and_then(|node| reader.part(node, "pay")),
        signer: reader.named(table.remove("signer"), "signer"),
        api: reader.section(table.remove("api"), "api"),
        log: reader.section(table.remove("log"), "log"),
        shutdown: reader.section(table.remove("shutdown"), "shutdown"),
    };
    (config, reader.problems)
}

struct Reader {
    problems: Vec<Problem>,
}

impl Reader {
    fn section<T: DeserializeOwned + JsonSchema + Default>(&mut self, node: Option<Node>, name: &str) -> T {
        node.and_then(|node| self.part(node, name)).unwrap_or_default()
    }

    /// Sections that somebody has named, such as `[chain.polygon]`.
    fn named<K, V>(&mut self, node: Option<Node>, section: &str) -> BTreeMap<K, V>
    where
        K: TryFrom<String, Error = String> + Ord,
        V: DeserializeOwned + JsonSchema,
    {
        let mut read = BTreeMap::new();
        let Some((_, named)) = node.and_then(|node| self.table(node, section)) else { return read };
        if let Some(one_too_many) = named.values().nth(MAX_NAMED) {
            let message = format!("there may be {MAX_NAMED} sections, not {}", named.len());
            self.problems.push(Problem::new(one_too_many.origin.clone(), section, message));
            return read;
        }
        for (name, node) in named {
            let (path, origin) = (format!("{section}.{name}"), node.origin.clone());
            let part = self.part(node, &path);
            match (K::try_from(name), part) {
                (Ok(name), Some(part)) => {
                    read.insert(name, part);
                }
                (Ok(_), None) => {}
                (Err(message), _) => self.problems.push(Problem::new(origin, path, message)),
            }
        }
        read
    }

    /// The keys of a section, with its place.
    fn table(&mut self, node: Node, path: &str) -> Option<(Origin, Table)> {
        match node.content {
            Content::Table(table) => Some((node.origin, table)),
            Content::Value(_) => {
                let message = format!("`{path}` is a section: write `[{path}]` and its settings below");
                self.problems.push(Problem::new(node.origin, "", message));
                None
            }
            Content::Unreadable => None,
        }
    }

    /// Reads one section. A value that does not fit is reported, taken out, and the
    /// rest is read again, so that one mistake does not hide the next.
    fn part<T: DeserializeOwned + JsonSchema>(&mut self, node: Node, path: &str) -> Option<T> {
        let (origin, mut table) = self.table(node, path)?;
        let mut taken = Taken::unreadable(&mut table);
        for _ in 0..MAX_SECTION_PROBLEMS {
            let error = match serde_path_to_error::deserialize(tree::values(&table)) {
                Ok(part) => return taken.is_empty().then_some(part),
                Err(error) => error,
            };
            let place: Vec<&Segment> = error.path().iter().collect();
            let message = error.inner().message();
            if message.starts_with(MISSING) {
                // The reader names the first that is missing, and nothing can be put in its place.
                for field in required::<T>().into_iter().filter(|field| !table.contains_key(field)) {
                    // One that is missing because its value was taken out has been reported as such.
                    if !taken.fields.contains(&field) {
                        let message = words::plain(&format!("{MISSING}`{field}`"));
                        self.problems.push(Problem::new(origin.clone(), path, message));
                    }
                }
                break;
            }
            let key = taken.key(&place);
            let origin = key_of(&place).and_then(|key| table.get(key)).map_or(&origin, |node| &node.origin);
            let key = if key.is_empty() { path.to_owned() } else { format!("{path}.{key}") };
            self.problems.push(Problem::new(origin.clone(), key, words::plain(message)));
            if !taken.take(&mut table, &place) {
                break;
            }
        }
        None
    }
}

/// The keys that a section has to have.
fn required<T: JsonSchema>() -> Vec<String> {
    let schema = schemars::schema_for!(T);
    let required = schema.get("required").and_then(|required| required.as_array());
    required.into_iter().flatten().filter_map(|key| key.as_str().map(str::to_owned)).collect()
}

/// What was taken out of a section because it does not fit.
#[derive(Default)]
struct Taken {
    fields: Vec<String>,
    /// Places in lists, as they were written.
    entries: BTreeMap<String, Vec<usize>>,
}

impl Taken {
    /// What was no value to begin with, and told so.
    fn unreadable(table: &mut Table) -> Self {
        let is_unreadable = |_: &String, node: &mut Node| matches!(node.content, Content::Unreadable);
        let fields = table.extract_if(.., is_unreadable).map(|(key, _)| key).collect();
        Self { fields, ..Self::default() }
    }

    fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.entries.is_empty()
    }

    /// The key as it was written: `rpc[2]`, even when `rpc[1]` was taken out before.
    fn key(&self, place: &[&Segment]) -> String {
        match (key_of(place), entry_of(place)) {
            (Some(key), Some(entry)) => format!("{key}[{}]", self.written_at(key, entry)),
            (Some(key), None) => key.to_owned(),
            (None, _) => String::new(),
        }
    }

    fn written_at(&self, key: &str, entry: usize) -> usize {
        let taken = self.entries.get(key).map_or(&[][..], Vec::as_slice);
        // They are in order, since a list is read from its start.
        taken.iter().fold(entry, |at, taken| if *taken <= at { at + 1 } else { at })
    }

    /// Takes out what stands at a place: an entry of a list as long as others are left, or the whole value.
    fn take(&mut self, table: &mut Table, place: &[&Segment]) -> bool {
        let Some(key) = key_of(place) else { return false };
        let content = table.get_mut(key).map(|node| &mut node.content);
        if let (Some(entry), Some(Content::Value(toml::Value::Array(list)))) = (entry_of(place), content)
            && entry < list.len()
            && list.len() > 1
        {
            list.remove(entry);
            let written_at = self.written_at(key, entry);
            self.entries.entry(key.to_owned()).or_default().push(written_at);
            return true;
        }
        self.fields.push(key.to_owned());
        table.remove(key).is_some()
    }
}

fn key_of<'s>(place: &[&'s Segment]) -> Option<&'s str> {
    match place.first() {
        Some(Segment::Map { key }) => Some(key),
        _ => None,
    }
}

fn entry_of(place: &[&Segment]) -> Option<usize> {
    match place.get(1) {
        Some(Segment::Seq { index }) => Some(*index),
        _ => None,
    }
}

/// One URL twice would agree with itself, and what two endpoints say alike is believed.
fn repeated_endpoint(name: &ChainName, chain: &Chain, table: &Table) -> Option<Problem> {
    let written: Vec<_> = chain.rpc.iter().map(RpcUrl::written).collect();
    let urls: Vec<&str> = written.iter().map(ExposeSecret::expose_secret).collect();
    let (first, second) = repeated_url(&urls)?;
    let path = ["chain".to_owned(), name.to_string(), "rpc".to_owned()];
    let origin = tree::nearest(table, &path).map_or(Origin::Default, |node| node.origin.clone());
    let message = format!("one URL twice: at places {} and {}", first + 1, second + 1);
    Some(Problem::new(origin, path.join("."), message))
}

/// Checks what no single value can say, of what could be read.
pub(crate) fn check(config: &Config, table: &Table) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut seen = BTreeMap::new();
    for (name, chain) in &config.chain {
        if let Some(other) = seen.insert(chain.id, name) {
            let path = ["chain".to_owned(), name.to_string(), "id".to_owned()];
            let origin = tree::nearest(table, &path).map_or(Origin::Default, |node| node.origin.clone());
            let message = format!("`{other}` has the id {} already", chain.id);
            problems.push(Problem::new(origin, path.join("."), message));
        }
        problems.extend(repeated_endpoint(name, chain, table));
    }
    problems.extend(api::check(config, table));
    problems.extend(index::check::check(config, table));
    problems.extend(signer::check(config, table));
    problems.extend(pay::check::check(config, table));
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file;

    fn table(text: &str) -> Table {
        file::parse(std::path::Path::new("w.toml"), text).table
    }

    fn problems(text: &str) -> Vec<String> {
        let problems = read(table(text)).1;
        let mut shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        shown.sort();
        shown
    }

    #[test]
    fn one_mistake_does_not_hide_the_next() {
        let text = "[log]\nlevel = 'loud'\nformat = 'xml'\n[chain.a]\nid = 'x'\nrpc = ['http://h', 'ftp://h']
[chain.b]\nid = 2\n[chain.C]\nid = 1\nrpc = ['http://h']\n[shutdown]\nlimit = 30\n";
        let problems = read(table(text)).1;
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
    fn every_key_that_is_missing_is_named() {
        let chain = ["w.toml:1: chain.a: `id` is missing", "w.toml:1: chain.a: `rpc` is missing"];
        assert_eq!(problems("[chain.a]"), chain);
        let index =
            ["chain", "contract", "start"].map(|key| format!("w.toml:1: index.i: `{key}` is missing"));
        assert_eq!(problems("[index.i]"), index);
        let taken = ["w.toml:1: chain.a: `rpc` is missing", "w.toml:2: chain.a.id: "];
        let told = problems("[chain.a]\nid = 'x'");
        assert!(
            told.len() == 2 && told.iter().zip(taken).all(|(told, begin)| told.starts_with(begin)),
            "{told:?}"
        );
    }

    #[test]
    fn every_entry_that_does_not_fit_is_named_as_it_is_written() {
        let text = "[chain.a]\nid = 1\nrpc = ['no', 'http://h', 2, 'http://h', 'env:']\n[chain.b]\nid = 2\nrpc = [1, 2]";
        let places: Vec<String> = read(table(text)).1.into_iter().map(|problem| problem.path).collect();
        assert_eq!(
            places,
            ["chain.a.rpc[0]", "chain.a.rpc[2]", "chain.a.rpc[4]", "chain.b.rpc[0]", "chain.b.rpc[1]"]
        );
    }

    #[test]
    fn a_list_or_a_value_is_no_section() {
        for section in ["database", "log", "api", "shutdown", "chain"] {
            for value in ["[]", "3", "[[1]]"] {
                assert_eq!(
                    problems(&format!("{section} = {value}")),
                    [format!(
                        "w.toml:1: `{section}` is a section: write `[{section}]` and its settings below"
                    )]
                );
            }
        }
        assert!(problems("[[chain.a]]\nid = 1")[0].contains("`chain.a` is a section"));
    }

    #[test]
    fn there_is_a_limit_to_chains() {
        let chains = |count: usize| -> String {
            (1..=count).map(|n| format!("[chain.c{n}]\nid = {n}\nrpc = ['http://h']\n")).collect()
        };
        assert_eq!(read(table(&chains(MAX_NAMED))).1, []);
        let problems = problems(&chains(MAX_NAMED + 1));
        assert!(problems[0].ends_with("chain: there may be 1000 sections, not 1001"), "{problems:?}");
    }

    #[test]
    fn two_chains_of_one_id_are_a_mistake() {
        let table = table("[chain.a]\nid = 1\nrpc = ['http://h']\n[chain.b]\nid = 1\nrpc = ['http://h']");
        let (config, _) = read(table.clone());
        let problems: Vec<String> = check(&config, &table).iter().map(ToString::to_string).collect();
        assert_eq!(problems, ["w.toml:5: chain.b.id: `a` has the id 1 already"]);
    }

    #[test]
    fn one_url_twice_is_a_mistake() {
        let found = |rpc: &str| {
            let table = table(&format!("[chain.a]\nid = 1\nrpc = [{rpc}]"));
            let (config, _) = read(table.clone());
            check(&config, &table).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let problem = "w.toml:3: chain.a.rpc: one URL twice: at places 1 and 3";
        assert_eq!(found("'http://h/k', 'http://i', 'http://H:80/k'"), [problem]);
        assert_eq!(found("'env:A', 'env:B', 'env:A'"), [problem]);
        assert_eq!(found("'http://h/k', 'http://h/l', 'env:A'"), [""; 0]);
    }
}
