//! The JSON Schema of the configuration, and unknown keys by it.
//!
//! The schema is made from the types that are read, so it cannot fall behind.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::problem::{Problem, nearest};
use super::sections::Config;
use super::tree::{Content, Table};

/// The schema as `config schema` prints it.
pub(crate) fn published() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<Config>().to_value()
}

/// The schema without references, for looking up keys.
pub(crate) fn inlined() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<Config>().to_value()
}

/// The schema of the key at a path.
pub(crate) fn at<'s>(schema: &'s Value, path: &[String]) -> Option<&'s Value> {
    path.iter().try_fold(schema, |schema, key| below(schema, key))
}

fn below<'s>(schema: &'s Value, key: &str) -> Option<&'s Value> {
    let named = properties(schema).find_map(|properties| properties.get(key));
    named.or_else(|| schema.get("additionalProperties").filter(|any| any.is_object()))
}

/// The keys of a table, or of the one form of a value that is a table.
fn properties(schema: &Value) -> impl Iterator<Item = &serde_json::Map<String, Value>> {
    let forms = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    std::iter::once(schema).chain(forms).filter_map(|form| form.get("properties")?.as_object())
}

/// Takes every unknown key out of the table and reports it with the nearest known one.
pub(crate) fn refuse_unknown(table: &mut Table, schema: &Value, prefix: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    table.retain(|key, node| {
        let Some(schema) = below(schema, key) else {
            problems.push(unknown(key, &node.origin, schema, prefix));
            return false;
        };
        if let Content::Table(inner) = &mut node.content {
            problems.extend(refuse_unknown(inner, schema, &format!("{prefix}{key}.")));
        }
        true
    });
    problems
}

fn unknown(key: &str, origin: &super::origin::Origin, schema: &Value, prefix: &str) -> Problem {
    let known: Vec<&str> = properties(schema).flat_map(serde_json::Map::keys).map(String::as_str).collect();
    let hint = match nearest(key, known.iter().copied()) {
        Some(name) => Some(format!("did you mean `{name}`?")),
        None if known.is_empty() => None,
        None => Some(format!("known here: {}", known.join(", "))),
    };
    Problem::new(origin.clone(), "", format_args!("unknown key `{prefix}{key}`")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{file, tree};

    fn problems_of(text: &str) -> (Vec<String>, toml::Table) {
        let mut table = file::parse(std::path::Path::new("w.toml"), text).table;
        let problems = refuse_unknown(&mut table, &inlined(), "");
        (problems.iter().map(ToString::to_string).collect(), tree::values(&table))
    }

    #[test]
    fn every_unknown_key_is_named_with_its_nearest_relative() {
        let (problems, left) = problems_of(
            "[chian.x]\nid = 1\n[log]\nlevl = 'x'\nformat = 'json'\n[chain.y]\nrcp = []\nzebra = 1",
        );
        assert_eq!(
            problems,
            [
                "w.toml:7: unknown key `chain.y.rcp` (hint: did you mean `rpc`?)",
                "w.toml:8: unknown key `chain.y.zebra` (hint: known here: batch_size, finality, historical_poll_interval, id, lease_ttl, max_range, realtime_poll_interval, rpc, verify, verify_share, workers)",
                "w.toml:1: unknown key `chian` (hint: did you mean `chain`?)",
                "w.toml:4: unknown key `log.levl` (hint: did you mean `level`?)",
            ]
        );
        assert_eq!(left, toml::from_str("log.format = 'json'\nchain.y = {}").expect("toml"));
    }

    #[test]
    fn every_section_and_key_says_what_it_is_for() {
        fn undocumented(schema: &Value, path: &str, found: &mut Vec<String>) {
            for (key, below) in schema["properties"].as_object().into_iter().flatten() {
                let path = format!("{path}.{key}");
                if below["description"].as_str().is_none_or(str::is_empty) {
                    found.push(path.clone());
                }
                undocumented(below, &path, found);
                undocumented(&below["additionalProperties"], &path, found);
            }
        }
        let mut found = Vec::new();
        undocumented(&inlined(), "", &mut found);
        assert_eq!(found, Vec::<String>::new());
    }

    /// Guards `docs/configuration.md`: a key without a row there, or with another default.
    #[test]
    fn every_key_is_in_the_manual_with_its_default() {
        let manual = include_str!("../../../../docs/configuration.md");
        let schema = inlined();
        for (section, below) in schema["properties"].as_object().expect("sections") {
            let (title, below) = match below.get("additionalProperties").filter(|any| any.is_object()) {
                Some(each) => (format!("\n## `[{section}.<name>]`\n"), each),
                None => (format!("\n## `[{section}]`\n"), below),
            };
            let (_, rest) = manual.split_once(&title).unwrap_or_else(|| panic!("no section {title}"));
            let chapter = rest.split("\n## ").next().unwrap_or_default();
            for (key, about) in below["properties"].as_object().expect("keys") {
                let is_required =
                    below["required"].as_array().is_some_and(|all| all.contains(&key.as_str().into()));
                let unset = if is_required { "required" } else { "none" };
                let default = match about.get("default") {
                    // A section within a section has a table of its own.
                    Some(Value::Object(below)) if !below.is_empty() => "see below".to_owned(),
                    Some(value) => format!("`{value}`"),
                    None => unset.to_owned(),
                };
                assert!(
                    chapter.contains(&format!("\n| `{key}` | {default} | ")),
                    "{section}.{key}: {default}"
                );
            }
        }
    }
}
