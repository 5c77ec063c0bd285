//! The shapes in which nodes tell a revert. There is no standard: some give it a code of
//! its own, some only words; the bytes come as a text, within a text, or within an object.

use alloy_primitives::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::evm::envelope::ErrorObject;
use crate::evm::hex;

/// The code that geth, reth, erigon and anvil give to a revert.
const REVERT_CODE: i64 = 3;
/// The word that is in all the others' words, in the message or in the data.
const REVERT_WORD: &str = "revert";
/// Where bytes are kept in an object, in the order of trust.
const FIELDS: [&str; 4] = ["data", "result", "return", "output"];
/// How deep objects are looked into.
const MAX_DEPTH: usize = 4;
/// How a call ends that breaks the machine's rules: for good, and without bytes. Running
/// out of gas is not among them, since that depends on how much the node grants.
const HALTS: [&str; 12] = [
    "invalid opcode",
    "invalidfeopcode",
    "opcodenotfound",
    "bad instruction",
    "badinstruction",
    "invalid jump",
    "invalidjump",
    "bad jump",
    "stack underflow",
    "stack limit reached",
    "write protection",
    "return data out of bounds",
];

/// A call that was undone.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Revert {
    /// Selector and arguments; empty where there are none or the node does not tell.
    pub(super) data: Bytes,
    /// The node's words.
    pub(super) message: String,
}

/// Reads an error, if it tells of a revert; the words are those that may be shown.
pub(super) fn read(error: &ErrorObject<'_>, words: &str) -> Option<Revert> {
    let data: Value =
        error.data.map(RawValue::get).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let said = error.message.to_lowercase();
    let told = said.contains(REVERT_WORD) || data.as_str().is_some_and(says_revert);
    let halted =
        HALTS.iter().any(|halt| said.contains(halt) || data.as_str().is_some_and(|data| says(data, halt)));
    if error.code != REVERT_CODE && !told && !halted {
        return None;
    }
    let bytes = bytes_in(&data, MAX_DEPTH).filter(|bytes| !bytes.is_empty());
    let bytes = bytes.or_else(|| error_in(&error.message)).unwrap_or_default();
    Some(Revert { data: bytes, message: words.to_owned() })
}

fn says_revert(text: &str) -> bool {
    says(text, REVERT_WORD)
}

fn says(text: &str, word: &str) -> bool {
    text.to_lowercase().contains(word)
}

/// The bytes in an error's data: `"0x…"`, `"Reverted 0x…"`, `{"data": "0x…"}`, or within
/// an object under a transaction's hash. Other fields hold addresses and hashes.
fn bytes_in(data: &Value, depth: usize) -> Option<Bytes> {
    match data {
        Value::String(text) => hex_in(text),
        Value::Object(fields) if depth > 0 => {
            let named = FIELDS.iter().filter_map(|name| fields.get(*name));
            let nested = fields.values().filter(|value| value.is_object());
            named.chain(nested).find_map(|value| bytes_in(value, depth - 1))
        }
        _ => None,
    }
}

/// The first hexadecimal text in another.
fn hex_in(text: &str) -> Option<Bytes> {
    let text = &text[text.find("0x")?..];
    let end = text[2..].find(|c: char| !c.is_ascii_hexdigit()).map_or(text.len(), |end| end + 2);
    hex::parse::<Vec<u8>>(&text[..end]).map(Bytes::from)
}

/// An error's bytes in a message, where there are no data. A selector and whole words:
/// an address or a hash is nothing of the kind.
fn error_in(message: &str) -> Option<Bytes> {
    hex_in(message).filter(|bytes| bytes.len() % 32 == 4)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex as hexadecimal;
    use serde_json::json;

    use super::*;

    const PAUSED: &[u8] = &hexadecimal!("d93c0665");

    fn revert(error: Value) -> Option<Revert> {
        let text = error.to_string();
        let error: ErrorObject<'_> = serde_json::from_str(&text).expect("an error");
        read(&error, &error.message.clone())
    }

    #[test]
    fn every_nodes_shape_is_understood() {
        let hash = format!("0x{}", "ab".repeat(32));
        for (node, error) in [
            ("geth", json!({"code": 3, "message": "execution reverted", "data": "0xd93c0665"})),
            (
                "anvil",
                json!({"code": 3, "message": "execution reverted: custom error 0xd93c0665", "data": "0xd93c0665"}),
            ),
            ("besu", json!({"code": -32000, "message": "Execution reverted", "data": "0xd93c0665"})),
            (
                "nethermind",
                json!({"code": -32015, "message": "VM execution error.", "data": "Reverted 0xd93c0665"}),
            ),
            ("parity", json!({"code": -32015, "message": "VM execution error", "data": "revert 0xd93c0665"})),
            (
                "hardhat",
                json!({"code": -32603, "message": "Error: VM Exception while processing transaction: reverted with custom error 'EnforcedPause()'",
                    "data": {"message": "Error: 0x00 reverted", "txHash": hash, "data": "0xd93c0665"}}),
            ),
            (
                "ganache",
                json!({"code": -32000, "message": "VM Exception while processing transaction: revert",
                    "data": {hash.clone(): {"error": "revert", "program_counter": 7, "return": "0xd93c0665"}, "name": "c"}}),
            ),
            (
                "wrapped twice",
                json!({"code": -32603, "message": "reverted", "data": {"originalError": {"code": 3, "data": "0xd93c0665"}}}),
            ),
            ("in words alone", json!({"code": -32000, "message": "execution reverted: 0xd93c0665"})),
        ] {
            let found = revert(error).unwrap_or_else(|| panic!("{node}: not a revert"));
            assert_eq!(found.data.as_ref(), PAUSED, "{node}");
        }
    }

    #[test]
    fn a_revert_without_bytes_is_one_too() {
        let address = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
        for error in [
            json!({"code": 3, "message": "execution reverted", "data": "0x"}),
            json!({"code": 3, "message": ""}),
            json!({"code": -32000, "message": "execution reverted"}),
            json!({"code": -32000, "message": "execution reverted: not for you", "data": null}),
            json!({"code": -32000, "message": format!("call to {address} was reverted"), "data": {"from": address}}),
            json!({"code": -32015, "message": "VM execution error.", "data": "revert"}),
            json!({"code": -32015, "message": "VM execution error.", "data": "Reverted 0x"}),
            json!({"code": -32015, "message": "VM execution error.", "data": "Bad instruction fe"}),
            json!({"code": -32000, "message": "invalid opcode: INVALID"}),
            json!({"code": -32603, "message": "EVM error InvalidFEOpcode"}),
        ] {
            let text = error.to_string();
            assert_eq!(revert(error).map(|revert| revert.data), Some(Bytes::new()), "{text}");
        }
    }

    #[test]
    fn the_reason_may_speak_of_anything() {
        let limited =
            json!({"code": 3, "message": "execution reverted: rate limit exceeded", "data": "0x08c379a0"});
        assert_eq!(revert(limited).expect("a revert").message, "execution reverted: rate limit exceeded");
    }

    #[test]
    fn other_errors_are_none() {
        for error in [
            json!({"code": -32000, "message": "header not found"}),
            json!({"code": -32000, "message": "out of gas"}),
            json!({"code": -32000, "message": "gas required exceeds allowance (30000000)"}),
            json!({"code": -32005, "message": "rate limit", "data": {"see": "https://h.example"}}),
            json!({"code": -32603, "message": "internal error", "data": "0xd93c0665"}),
        ] {
            assert_eq!(revert(error.clone()), None, "{error}");
        }
    }
}
