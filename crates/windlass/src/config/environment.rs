//! The environment layer: `WINDLASS_CHAIN__POLYGON__ID=137` is `chain.polygon.id`.
//!
//! Every setting lies in a section, so every variable that is one has two
//! underscores in a row; others, such as those of the tests, are left alone.

use serde_json::Value as Schema;

use super::origin::Origin;
use super::schema;
use super::tree::{self, Table};

/// What every variable begins with.
pub(crate) const PREFIX: &str = "WINDLASS_";
const SEPARATOR: &str = "__";

/// Reads the variables that are settings.
pub(crate) fn layer(variables: impl IntoIterator<Item = (String, String)>, root: &Schema) -> Table {
    let mut table = Table::new();
    for (name, text) in variables {
        if let Some(path) = path_of(&name) {
            let value = value(&text, schema::at(root, &path));
            tree::put(&mut table, &path, &Origin::Env(name), value);
        }
    }
    table
}

fn path_of(name: &str) -> Option<Vec<String>> {
    let rest = name.strip_prefix(PREFIX).filter(|rest| rest.contains(SEPARATOR))?;
    Some(rest.split(SEPARATOR).map(str::to_ascii_lowercase).collect())
}

/// The text as the setting's type wants it: as it is for texts, a list of one for
/// lists that are not written as such, and TOML otherwise.
fn value(text: &str, schema: Option<&Schema>) -> toml::Value {
    let plain = || toml::Value::from(text);
    let kind = schema.and_then(|schema| schema["type"].as_str()).unwrap_or("");
    match kind {
        "string" => plain(),
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

    fn layer_of(variables: &[(&str, &str)]) -> toml::Table {
        let owned = variables.iter().map(|(name, text)| (name.to_string(), text.to_string()));
        tree::values(&layer(owned, &schema::inlined()))
    }

    #[test]
    fn variables_become_settings_of_the_right_type() {
        let found = layer_of(&[
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
    }

    #[test]
    fn other_variables_are_left_alone() {
        let found = layer_of(&[("WINDLASS_TEST_POSTGRES_URL", "x"), ("HOME__X", "y"), ("PATH", "z")]);
        assert_eq!(found, toml::Table::new());
    }
}
