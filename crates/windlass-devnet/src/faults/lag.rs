//! A node that has not seen the newest blocks: the same chain, cut off earlier.
//!
//! State (`eth_call`, balances, nonces) at a tag is passed on as it is; at a number
//! that the lagging node does not have, it is refused as geth does.

use bytes::Bytes;
use serde_json::{Value, json, value::RawValue};

use super::{
    plan::UnknownHash,
    request::{self, Height},
};
use crate::node::{Node, RpcError};

/// The view of a node that is some blocks behind.
pub(super) struct Lagging<'a> {
    node: &'a dyn Node,
    true_head: u64,
    head: u64,
    unknown_hash: UnknownHash,
}

/// An answer, and whether the lag had a part in it.
pub(super) struct Seen {
    pub(super) result: Result<Bytes, RpcError>,
    pub(super) stale: bool,
}

impl Seen {
    fn stale(result: Result<Bytes, RpcError>) -> Self {
        Self { result, stale: true }
    }

    fn null(stale: bool) -> Self {
        Self { result: Ok(Bytes::from_static(b"null")), stale }
    }

    fn no_logs(stale: bool) -> Self {
        Self { result: Ok(Bytes::from_static(b"[]")), stale }
    }
}

impl<'a> Lagging<'a> {
    pub(super) fn new(node: &'a dyn Node, blocks: u64, unknown_hash: UnknownHash) -> Result<Self, RpcError> {
        let true_head = request::head(node)?;
        Ok(Self { node, true_head, head: true_head.saturating_sub(blocks), unknown_hash })
    }

    /// Answers as the lagging node would.
    pub(super) fn call(&self, method: &str, params: Option<&RawValue>) -> Seen {
        self.try_call(method, params).unwrap_or_else(|error| Seen { result: Err(error), stale: false })
    }

    fn try_call(&self, method: &str, params: Option<&RawValue>) -> Result<Seen, RpcError> {
        let pass = || Seen { result: self.node.call(method, params), stale: false };
        if self.head == self.true_head {
            return Ok(pass());
        }
        match method {
            "eth_blockNumber" => Ok(Seen::stale(Ok(Bytes::from(format!("\"{:#x}\"", self.head))))),
            "eth_getBlockByNumber" | "eth_getBlockReceipts" => self.by_height(method, params),
            "eth_getBlockByHash" => Ok(self.unless_newer(pass(), "number")),
            "eth_getTransactionReceipt" | "eth_getTransactionByHash" => {
                Ok(self.unless_newer(pass(), "blockNumber"))
            }
            "eth_getLogs" => self.logs(params),
            "eth_call" | "eth_getBalance" | "eth_getCode" | "eth_getTransactionCount" => {
                Ok(self.unless_future_state(params, 1).unwrap_or_else(pass))
            }
            "eth_getStorageAt" => Ok(self.unless_future_state(params, 2).unwrap_or_else(pass)),
            _ => Ok(pass()),
        }
    }

    /// Whether the true chain has this block and the lagging node has not.
    fn misses(&self, number: u64) -> bool {
        number > self.head && number <= self.true_head
    }

    /// Null for an answer that speaks of a block which is not there yet.
    fn unless_newer(&self, seen: Seen, field: &str) -> Seen {
        let number = seen.result.as_ref().ok().and_then(|answer| request::block_number(answer, field));
        if number.is_some_and(|number| self.misses(number)) { Seen::null(true) } else { seen }
    }

    fn by_height(&self, method: &str, params: Option<&RawValue>) -> Result<Seen, RpcError> {
        let pass = || Seen { result: self.node.call(method, params), stale: false };
        let Some(mut list) = request::values(params).filter(|list| !list.is_empty()) else {
            return Ok(pass());
        };
        if let Some(hash) = block_hash(&list[0]) {
            let number = request::number_of_hash(self.node, hash)?;
            let missing = number.is_some_and(|number| self.misses(number));
            return Ok(if missing { Seen::null(true) } else { pass() });
        }
        let Some(height) = Height::read(list.first()) else { return Ok(pass()) };
        let number = height.resolve(self.node, self.head, self.behind())?;
        if number > self.head {
            return Ok(Seen::null(self.misses(number)));
        }
        list[0] = quantity(number);
        let result = request::ask(self.node, method, &Value::Array(list));
        Ok(Seen { result, stale: !matches!(height, Height::Number(_)) })
    }

    fn logs(&self, params: Option<&RawValue>) -> Result<Seen, RpcError> {
        let pass = || Seen { result: self.node.call("eth_getLogs", params), stale: false };
        let Some(mut list) = request::values(params).filter(|list| !list.is_empty()) else {
            return Ok(pass());
        };
        if let Some(hash) = list[0].get("blockHash").filter(|hash| !hash.is_null()) {
            let number = request::number_of_hash(self.node, hash)?;
            let missing = number.is_some_and(|number| self.misses(number));
            return Ok(if missing { self.unknown_block() } else { pass() });
        }
        let ends = Height::read(list[0].get("fromBlock")).zip(Height::read(list[0].get("toBlock")));
        let Some((from, to)) = ends else { return Ok(pass()) };
        let from = from.resolve(self.node, self.head, self.behind())?;
        let to = to.resolve(self.node, self.head, self.behind())?;
        if from > to {
            return Ok(pass());
        }
        if from > self.head {
            return Ok(Seen::no_logs(self.misses(from)));
        }
        let newest = matches!(Height::read(list[0].get("toBlock")), Some(Height::Newest));
        list[0]["fromBlock"] = quantity(from);
        list[0]["toBlock"] = quantity(to.min(self.head));
        let result = request::ask(self.node, "eth_getLogs", &Value::Array(list));
        Ok(Seen { result, stale: newest || to > self.head })
    }

    fn unknown_block(&self) -> Seen {
        match self.unknown_hash {
            UnknownHash::Refuse => Seen::stale(Err(RpcError::server("unknown block"))),
            UnknownHash::Empty => Seen::no_logs(true),
        }
    }

    fn unless_future_state(&self, params: Option<&RawValue>, at: usize) -> Option<Seen> {
        let list = request::values(params)?;
        match Height::read(list.get(at))? {
            Height::Number(number) if self.misses(number) => {
                Some(Seen::stale(Err(RpcError::server("header not found"))))
            }
            _ => None,
        }
    }

    fn behind(&self) -> u64 {
        self.true_head - self.head
    }
}

/// The hash in a parameter that names a block by it.
fn block_hash(value: &Value) -> Option<&Value> {
    const HASH_CHARS: usize = 66;
    let by_field = value.get("blockHash");
    by_field.or_else(|| value.as_str().filter(|text| text.len() == HASH_CHARS).map(|_| value))
}

fn quantity(number: u64) -> Value {
    json!(format!("{number:#x}"))
}
