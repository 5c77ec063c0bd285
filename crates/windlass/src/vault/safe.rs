//! A file that the Transaction Builder of a Safe imports, so that a multisig can be the admin.
//!
//! The importer wants every number as text. It warns where the checksum does not fit: Keccak
//! over all but the checksum, each object as its sorted keys followed by its values.

use std::io::Write;
use std::path::Path;

use serde_json::{Map, Value, json};
use windlass_core::chain::Address;
use windlass_core::payout::vault::admin::code;
use windlass_core::time::Timestamp;

use super::artifact::Artifact;
use super::plan::Planned;
use super::site::Site;
use crate::failure::Failure;
use crate::output::file::WholeFile;

/// The version of the file's form.
const FORM: &str = "1.0";
/// A version of the Transaction Builder that reads it.
const BUILDER: &str = "1.18.0";

/// The file's content.
pub(crate) fn batch(
    site: &Site,
    planned: &Planned,
    safe: Option<Address>,
    at: Timestamp,
) -> Result<Value, Failure> {
    let to = planned.to.ok_or_else(no_factory)?;
    let artifact = Artifact::read()?;
    let inputs = artifact.inputs_of(planned.function()).cloned().unwrap_or_else(|| json!([]));
    let values: Map<String, Value> =
        planned.arguments.iter().map(|told| (told.name.to_owned(), told.value.clone().into())).collect();
    let mut batch = json!({
        "version": FORM,
        "chainId": site.id.to_string(),
        "createdAt": at.as_ms(),
        "meta": {
            "name": format!("SettlementVault: {}", planned.function()),
            "description": format!("to {}", planned.purpose),
            "txBuilderVersion": BUILDER,
            "createdFromSafeAddress": safe.map_or_else(String::new, |safe| safe.to_string()),
            "createdFromOwnerAddress": "",
        },
        "transactions": [{
            "to": to.to_string(),
            "value": "0",
            "data": planned.data.to_string(),
            "contractMethod": { "inputs": inputs, "name": planned.function(), "payable": false },
            "contractInputsValues": values,
        }],
    });
    batch["meta"]["checksum"] = checksum(&batch).into();
    Ok(batch)
}

/// What a Safe cannot do by itself.
pub(crate) fn no_factory() -> Failure {
    Failure::refused("a Safe calls contracts, and makes one only through another contract, a factory")
        .hint("deploy from an account and name the Safe as --admin; `--dry-run --json` prints the init code for a factory")
}

/// Writes it, unless something has that name.
pub(crate) fn write(path: &Path, batch: &Value) -> Result<(), Failure> {
    let written = || {
        let mut file = WholeFile::begin(path)?;
        serde_json::to_writer_pretty(&mut file, batch)?;
        file.write_all(b"\n")?;
        file.create()
    };
    written().map_err(|error: std::io::Error| {
        Failure::refused(format_args!("cannot write `{}`: {error}", path.display()))
            .hint("name a file that is not there, in a folder that is")
    })
}

/// What the importer compares: of everything but a checksum that is there.
fn checksum(batch: &Value) -> String {
    let mut batch = batch.clone();
    if let Some(meta) = batch["meta"].as_object_mut() {
        meta.remove("checksum");
    }
    let mut text = String::new();
    flatten(&batch, &mut text);
    code::hash(text.as_bytes()).to_string()
}

fn flatten(value: &Value, text: &mut String) {
    match value {
        Value::Array(entries) => {
            text.push('[');
            for (place, entry) in entries.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                flatten(entry, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort();
            text.push('{');
            text.push_str(&json!(keys).to_string());
            for key in keys {
                flatten(&fields[key], text);
                text.push(',');
            }
            text.push('}');
        }
        plain => text.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The form that is hashed, letter by letter.
    #[test]
    fn objects_are_their_sorted_keys_and_then_their_values() {
        let mut text = String::new();
        flatten(&json!({"b": [1, "x", null], "a": {"d": "\"", "c": true}}), &mut text);
        assert_eq!(text, r#"{["a","b"]{["c","d"]true,"\"",},[1,"x",null],}"#);
    }

    #[test]
    fn the_checksum_is_of_everything_but_itself() {
        let mut batch = json!({"version": "1.0", "meta": {"name": "n"}});
        let sum = checksum(&batch);
        batch["meta"]["checksum"] = sum.clone().into();
        assert_eq!(checksum(&batch), sum);
        batch["version"] = "1.1".into();
        assert_ne!(checksum(&batch), sum);
    }
}
