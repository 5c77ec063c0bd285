//! What a call asks for, as far as faults must know: blocks, tags and ranges.
//!
//! Faults stand outside the chain: they learn its head, and where a block stands,
//! by asking the node what any client could ask.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};

use crate::node::{Node, RpcError};

/// The number of the node's newest block.
pub(super) fn head(node: &dyn Node) -> Result<u64, RpcError> {
    let answer = node.call("eth_blockNumber", None)?;
    let text: String = serde_json::from_slice(&answer).map_err(|_| unreadable())?;
    quantity(&text).ok_or_else(unreadable)
}

/// The number of the block that a call answers with; nothing if it has none.
pub(super) fn block_number(answer: &[u8], field: &str) -> Option<u64> {
    let value: Value = serde_json::from_slice(answer).ok()?;
    quantity(value.get(field)?.as_str()?)
}

/// The number of the block that has this hash, if the node knows it.
pub(super) fn number_of_hash(node: &dyn Node, hash: &Value) -> Result<Option<u64>, RpcError> {
    let answer = ask(node, "eth_getBlockByHash", &json!([hash, false]))?;
    Ok(block_number(&answer, "number"))
}

/// Calls the node with parameters that were made up here.
pub(super) fn ask(node: &dyn Node, method: &str, params: &Value) -> Result<Bytes, RpcError> {
    let raw = to_raw_value(params).map_err(|_| unreadable())?;
    node.call(method, Some(&raw))
}

/// A block named in a call, by number or tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Height {
    Number(u64),
    /// `latest`, `pending`, or left out.
    Newest,
    /// `safe` or `finalized`.
    Settled(&'static str),
}

impl Height {
    /// Reads a block's name; nothing if it is not one by number or tag.
    pub(super) fn read(value: Option<&Value>) -> Option<Self> {
        match value {
            None | Some(Value::Null) => Some(Self::Newest),
            Some(Value::String(text)) => match text.as_str() {
                "latest" | "pending" => Some(Self::Newest),
                "earliest" => Some(Self::Number(0)),
                "safe" => Some(Self::Settled("safe")),
                "finalized" => Some(Self::Settled("finalized")),
                text => quantity(text).map(Self::Number),
            },
            Some(_) => None,
        }
    }

    /// The number, for a node whose newest block is `head` and which stands
    /// `behind` blocks behind the one that is asked about settled blocks.
    pub(super) fn resolve(self, node: &dyn Node, head: u64, behind: u64) -> Result<u64, RpcError> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Newest => Ok(head),
            Self::Settled(tag) => {
                let answer = ask(node, "eth_getBlockByNumber", &json!([tag, false]))?;
                Ok(block_number(&answer, "number").unwrap_or(0).saturating_sub(behind))
            }
        }
    }
}

/// The parameters as values, to look into and to change.
pub(super) fn values(params: Option<&RawValue>) -> Option<Vec<Value>> {
    serde_json::from_str(params?.get()).ok()
}

/// The blocks of the logs in an answer, in order.
pub(super) fn blocks_of_logs(answer: &[u8]) -> Result<Vec<u64>, RpcError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Entry<'a> {
        block_number: &'a str,
    }
    let entries: Vec<Entry<'_>> = serde_json::from_slice(answer).map_err(|_| unreadable())?;
    entries.iter().map(|entry| quantity(entry.block_number).ok_or_else(unreadable)).collect()
}

/// A hexadecimal quantity.
pub(super) fn quantity(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn unreadable() -> RpcError {
    RpcError::new(-32603, "the node behind the faults gave an answer that cannot be read")
}
