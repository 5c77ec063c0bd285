//! Where two JSON values differ, and what of them is compared.

use serde_json::Value;

/// What the two chains may differ in. A part of a pointer that is `*` stands for any.
///
/// Hashes of blocks differ because the devnet keeps no state trie, draws another `mixHash` and
/// signs its blocks in `extraData`, which also gives them another size. Anvil's own additions are
/// left out too: a total difficulty, and in receipts a time and the price of blobs they do not have.
const NOT_COMPARED: &[&str] = &[
    "/block/hash",
    "/block/parentHash",
    "/block/stateRoot",
    "/block/mixHash",
    "/block/extraData",
    "/block/size",
    "/block/totalDifficulty",
    "/block/transactions/*/blockHash",
    "/transactions/*/blockHash",
    "/receipts/*/blockHash",
    "/receipts/*/blobGasPrice",
    "/receipts/*/blockTimestamp",
    "/receipts/*/logs/*/blockHash",
    "/receiptsAlone/*/blockHash",
    "/receiptsAlone/*/blobGasPrice",
    "/receiptsAlone/*/blockTimestamp",
    "/receiptsAlone/*/logs/*/blockHash",
    "/logs/*/blockHash",
    "/logsByHash/*/blockHash",
    "/eth_getLogs */result/*/blockHash",
];

/// One place where anvil and the devnet disagree.
#[derive(Debug)]
pub(super) struct Difference {
    /// The JSON pointer of the place.
    pub(super) pointer: String,
    theirs: Option<Value>,
    ours: Option<Value>,
}

/// All places where two values differ; a field that one side lacks is a difference.
pub(super) fn differences(theirs: &Value, ours: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    descend(String::new(), Some(theirs), Some(ours), &mut found);
    found
}

fn descend(pointer: String, theirs: Option<&Value>, ours: Option<&Value>, found: &mut Vec<Difference>) {
    if theirs == ours || !is_compared(&pointer) {
        return;
    }
    match (theirs, ours) {
        (Some(Value::Object(theirs)), Some(Value::Object(ours))) => {
            let missing = ours.keys().filter(|key| !theirs.contains_key(*key));
            for key in theirs.keys().chain(missing) {
                descend(format!("{pointer}/{}", escape(key)), theirs.get(key), ours.get(key), found);
            }
        }
        (Some(Value::Array(theirs)), Some(Value::Array(ours))) if theirs.len() == ours.len() => {
            for (index, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                descend(format!("{pointer}/{index}"), Some(theirs), Some(ours), found);
            }
        }
        _ => found.push(Difference { pointer, theirs: theirs.cloned(), ours: ours.cloned() }),
    }
}

/// A key as RFC 6901 writes it.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Whether a place counts.
pub(super) fn is_compared(pointer: &str) -> bool {
    !NOT_COMPARED.iter().any(|pattern| matches(pattern, pointer))
}

fn matches(pattern: &str, pointer: &str) -> bool {
    let (mut wanted, mut parts) = (pattern.split('/'), pointer.split('/'));
    loop {
        match (wanted.next(), parts.next()) {
            (None, None) => return true,
            (Some(wanted), Some(part)) => {
                let fits = match wanted.strip_suffix('*') {
                    Some(start) => part.starts_with(start),
                    None => part == wanted,
                };
                if !fits {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

/// The differences for a person to read.
pub(super) fn report(found: &[Difference]) -> String {
    let show = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
    let line = |one: &Difference| {
        format!("{}: anvil {}, devnet {}\n", one.pointer, show(&one.theirs), show(&one.ours))
    };
    found.iter().map(line).collect()
}

/// The pointers of all values that hold no others.
pub(super) fn leaves(value: &Value) -> Vec<String> {
    let below = |key: &str, value: &Value| -> Vec<String> {
        leaves(value).into_iter().map(|rest| format!("/{}{rest}", escape(key))).collect()
    };
    match value {
        Value::Object(fields) => fields.iter().flat_map(|(key, value)| below(key, value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(index, value)| below(&index.to_string(), value)).collect()
        }
        _ => vec![String::new()],
    }
}

/// Changes a leaf a little: the last digit of a text, a truth, or nothing into something.
pub(super) fn mutate(leaf: &mut Value) {
    *leaf = match &*leaf {
        Value::String(text) => {
            let last = if text.ends_with('1') { "2" } else { "1" };
            Value::String(format!("{}{last}", &text[..text.len().saturating_sub(1)]))
        }
        Value::Bool(truth) => Value::Bool(!truth),
        _ => Value::String("0x1".to_owned()),
    }
}
