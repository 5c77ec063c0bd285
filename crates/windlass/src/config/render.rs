//! What is in force, value by value, with its origin. Secrets stay what they are.

use serde::Serialize;

use super::load::Loaded;
use super::origin::Origin;
use super::tree;

/// A value that is in force.
#[derive(Debug, Serialize)]
pub(crate) struct Setting {
    /// The key, such as `chain.polygon.id`.
    pub(crate) key: String,
    /// The value, redacted.
    pub(crate) value: toml::Value,
    /// Where it came from.
    pub(crate) origin: String,
}

/// Every value that is in force, by section.
///
/// The values come from the typed sections, which redact themselves when they
/// are serialised; the raw tree is asked for origins only.
pub(crate) fn settings(loaded: &Loaded) -> Result<Vec<Setting>, toml::ser::Error> {
    let mut found = Vec::new();
    collect(&toml::Table::try_from(&loaded.config)?, &mut Vec::new(), loaded, &mut found);
    Ok(found)
}

fn collect(table: &toml::Table, path: &mut Vec<String>, loaded: &Loaded, found: &mut Vec<Setting>) {
    for (key, value) in table {
        path.push(key.clone());
        match value {
            toml::Value::Table(below) => collect(below, path, loaded, found),
            value => found.push(Setting {
                key: path.join("."),
                value: value.clone(),
                origin: origin(loaded, path).to_string(),
            }),
        }
        path.pop();
    }
}

fn origin(loaded: &Loaded, path: &[String]) -> Origin {
    match tree::nearest(&loaded.tree, path) {
        Some(node) if matches!(node.content, tree::Content::Value(_)) => node.origin.clone(),
        _ => Origin::Default,
    }
}

/// The settings as TOML, the origin of each as a comment.
pub(crate) fn toml_text(settings: &[Setting]) -> String {
    let mut text = String::new();
    let mut section = "";
    for setting in settings {
        let (table, key) = setting.key.rsplit_once('.').unwrap_or(("", &setting.key));
        if table != section {
            let gap = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{gap}[{table}]\n"));
            section = table;
        }
        let line = format!("{key} = {}", setting.value);
        text.push_str(&format!("{line:COMMENT_COLUMN$}  # {}\n", setting.origin));
    }
    text
}

const COMMENT_COLUMN: usize = 40;
