//! JSON-RPC's request and answer.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A call.
#[derive(Serialize)]
pub(crate) struct Request<'a, P> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: P,
}

impl<'a, P: Serialize> Request<'a, P> {
    /// One call a connection at a time: the id tells nothing apart, and is required.
    pub(crate) fn new(method: &'a str, params: P) -> Self {
        Self { jsonrpc: "2.0", id: 1, method, params }
    }
}

/// An answer. A result of `null` and none at all both read as `None`: which of
/// them is an answer is for the method to say.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'a: 'de, T: Deserialize<'de>"))]
pub(crate) struct Answer<'a, T> {
    #[serde(default = "none")]
    pub(crate) result: Option<T>,
    #[serde(borrow)]
    pub(crate) error: Option<ErrorObject<'a>>,
}

fn none<T>() -> Option<T> {
    None
}

/// A JSON-RPC error.
#[derive(Debug, Deserialize)]
pub(crate) struct ErrorObject<'a> {
    #[serde(default)]
    pub(crate) code: i64,
    #[serde(borrow, default)]
    pub(crate) message: Cow<'a, str>,
    /// Some providers put what matters here.
    #[serde(borrow, default)]
    pub(crate) data: Option<&'a serde_json::value::RawValue>,
}
