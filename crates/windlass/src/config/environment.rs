//! The environment layer: `WINDLASS_CHAIN__POLYGON__ID=137` is `chain.polygon.id`.
//!
//! Every setting lies in a section, so every variable that is one has two
//! underscores in a row. A variable that begins like a setting and is none is
//! refused, as an unknown key is; those of the tests are left alone.

use std::ffi::{OsStr, OsString};

use serde_json::Value as Schema;

use super::origin::Origin;
use super::problem::{Problem, nearest};
use super::schema;
use super::tree::{self, Table};

/// What every variable begins with.
pub(crate) const PREFIX: &str = "WINDLASS_";
const SEPARATOR: &str = "__";
/// Names the configuration file; read with the flags.
const FILE_VARIABLE: &str = "WINDLASS_CONFIG";
/// Holds the key of whoever gives commands; no setting, but theirs alone.
const KEY_VARIABLE: &str = crate::pay::caller::KEY_VARIABLE;
/// Variables that the tests and their scripts use.
const TEST_VARIABLES: [&str; 2] = ["WINDLASS_SOAK", "WINDLASS_SEED"];
const TEST_PREFIX: &str = "WINDLASS_TEST_";

/// Reads the variables that are settings, and reports those that only look so.
pub(crate) fn layer(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    root: &Schema,
) -> (Table, Vec<Problem>) {
    let mut table = Table::new();
    let mut problems = Vec::new();
    for (name, text) in variables.into_iter().filter(|(name, _)| concerns(name)) {
        let origin = Origin::Env(name.to_string_lossy().into_owned());
        match (name.to_str().map(path_of), text.to_str()) {
            (Some(Some(path)), Some(text)) => {
                tree::put(&mut table, &path, &origin, value(text, schema::at(root, &path)));
            }
            (Some(Some(_)), None) => problems.push(Problem::new(origin, "", "the value is not UTF-8 text")),
            (Some(None), _) => problems.push(unknown(&name.to_string_lossy(), origin, root)),
            (None, _) => problems.push(Problem::new(origin, "", "the name is not UTF-8 text")),
        }
    }
    (table, problems)
}

/// Whether a variable is one of ours to understand.
fn concerns(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    let mut others = TEST_VARIABLES.into_iter().chain([FILE_VARIABLE, KEY_VARIABLE]);
    bytes.starts_with(PREFIX.as_bytes())
        && !bytes.starts_with(TEST_PREFIX.as_bytes())
        && !others.any(|other| bytes == other.as_bytes())
}

fn path_of(name: &str) -> Option<Vec<String>> {
    let rest = name.strip_prefix(PREFIX).filter(|rest| rest.contains(SEPARATOR))?;
    Some(rest.split(SEPARATOR).map(str::to_ascii_lowercase).collect())
}

fn unknown(name: &str, origin: Origin, root: &Schema) -> Problem {
    let known = names(name, root);
    let hint = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("a setting is written `{PREFIX}SECTION{SEPARATOR}KEY`"),
    };
    Problem::new(origin, "", "this variable names no setting").hint(Some(hint))
}

/// The variables there are, those of the chain or index that `name` may mean included.
fn names(name: &str, root: &Schema) -> Vec<String> {
    let mut names = vec![FILE_VARIABLE.to_owned()];
    for (section, below) in root["properties"].as_object().into_iter().flatten() {
        let each = below.get("additionalProperties").filter(|each| each.is_object());
        let keys = each.unwrap_or(below)["properties"].as_object().into_iter().flatten();
        for (key, _) in keys {
            let middle = match each {
                Some(_) => named(name, section, key).map(|own| format!("{SEPARATOR}{own}")),
                None => Some(String::new()),
            };
            let variable = |middle| format!("{PREFIX}{section}{middle}{SEPARATOR}{key}").to_ascii_uppercase();
            names.extend(middle.map(variable));
        }
    }
    names
}

/// `POLYGON` in `WINDLASS_CHAIN_POLYGON_LEASE_TTL`, if the key is what the name ends
/// with, or one that is as long in words.
fn named<'n>(name: &'n str, section: &str, key: &str) -> Option<&'n str> {
    let rest = name.strip_prefix(PREFIX)?.strip_prefix(&section.to_ascii_uppercase())?;
    let words = key.split('_').count();
    let start = rest.rmatch_indices('_').nth(words - 1).map(|(at, _)| at)?;
    Some(rest[..start].trim_matches('_')).filter(|own| !own.is_empty())
}

/// The text as the setting's type wants it: as it is for texts, a list of one for
/// lists that are not written as such, and TOML otherwise.
fn value(text: &str, schema: Option<&Schema>) -> toml::Value {
    let plain = || toml::Value::from(text);
    let kind = schema.and_then(|schema| schema["type"].as_str()).unwrap_or("");
    match kind {
        "string" => plain(),
        // An address, which TOML would take for a number.
        "" if text.starts_with("0x") => plain(),
        "array" if !text.trim_start().starts_with('[') => vec![text].into(),
        _ => match text.parse::<toml::Value>() {
            Ok(toml::Value::Table(_)) | Err(_) => plain(),
            Ok(value) => value,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> (toml::Table, Vec<String>) {
        let owned = variables.iter().map(|(name, text)| (name.into(), text.into()));
        let (table, problems) = layer(owned, &schema::inlined());
        (tree::values(&table), problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn variables_become_settings_of_the_right_type() {
        let (found, problems) = read(&[
            ("WINDLASS_DATABASE__URL", "123"),
            ("WINDLASS_CHAIN__POLYGON__ID", "137"),
            ("WINDLASS_CHAIN__POLYGON__RPC", "https://h"),
            ("WINDLASS_CHAIN__BASE__RPC", "[\"https://a\", \"https://b\"]"),
            ("WINDLASS_CHAIN__POLYGON__FINALITY", "safe"),
            ("WINDLASS_CHAIN__BASE__FINALITY", "12"),
        ]);
        let expected = "database.url = '123'
            [chain.polygon]\nid = 137\nrpc = ['https://h']\nfinality = 'safe'
            [chain.base]\nrpc = ['https://a', 'https://b']\nfinality = 12";
        assert_eq!(found, toml::from_str::<toml::Table>(expected).expect("toml"));
        assert_eq!(problems, Vec::<String>::new());
    }

    #[test]
    fn other_variables_are_left_alone() {
        let found = read(&[
            ("WINDLASS_TEST_POSTGRES_URL", "x"),
            ("WINDLASS_TEST_A__B", "x"),
            ("WINDLASS_SOAK", "1"),
            ("WINDLASS_SEED", "1"),
            ("WINDLASS_CONFIG", "w.toml"),
            ("WINDLASS_API_KEY", "hunter2"),
            ("HOME__X", "y"),
            ("PATH", "z"),
        ]);
        assert_eq!(found, (toml::Table::new(), Vec::new()));
    }

    #[test]
    fn what_looks_like_a_setting_and_is_none_is_reported() {
        for (name, hint) in [
            ("WINDLASS_DATABASE_URL", "did you mean `WINDLASS_DATABASE__URL`?"),
            ("WINDLASS_CHAIN_POLYGON_ID", "did you mean `WINDLASS_CHAIN__POLYGON__ID`?"),
            ("WINDLASS_CONFG", "did you mean `WINDLASS_CONFIG`?"),
            ("WINDLASS_ZEBRA", "a setting is written `WINDLASS_SECTION__KEY`"),
        ] {
            let (_, problems) = read(&[(name, "hunter2")]);
            assert_eq!(problems, [format!("{name}: this variable names no setting (hint: {hint})")]);
        }
    }

    #[test]
    fn what_is_no_text_is_reported() {
        use std::os::unix::ffi::OsStringExt;
        let bytes = |text: &[u8]| OsString::from_vec(text.to_vec());
        let variables =
            [(bytes(b"WINDLASS_LOG__LEVEL"), bytes(b"\xff")), (bytes(b"WINDLASS_\xff"), bytes(b"x"))];
        let (table, problems) = layer(variables, &schema::inlined());
        assert!(table.is_empty());
        assert_eq!(problems[0].to_string(), "WINDLASS_LOG__LEVEL: the value is not UTF-8 text");
        assert_eq!(problems[1].message, "the name is not UTF-8 text");
    }
}
