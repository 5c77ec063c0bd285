//! JSON-RPC's request and answer.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A call.
#[derive(Serialize)]
pub(crate) struct Request<'a, P> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: P,
}

impl<'a, P: Serialize> Request<'a, P> {
    /// A call under an id that its answer must bear.
    pub(crate) fn new(id: u64, method: &'a str, params: P) -> Self {
        Self { jsonrpc: "2.0", id, method, params }
    }
}

/// An answer. A result of `null` and none at all both read as `None`: which of
/// them is an answer is for the method to say.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'a: 'de, T: Deserialize<'de>"))]
pub(crate) struct Answer<'a, T> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default = "none")]
    pub(crate) result: Option<T>,
    #[serde(borrow)]
    pub(crate) error: Option<ErrorObject<'a>>,
}

impl<T> Answer<'_, T> {
    /// The id, if it is one of ours.
    pub(crate) fn id(&self) -> Option<u64> {
        self.id?.get().parse().ok()
    }

    /// Whether this answers the call of that id. An error may come without an id:
    /// a node that could not read the call does not know it.
    pub(crate) fn answers(&self, id: u64) -> bool {
        match self.id {
            Some(found) => found.get() == id.to_string(),
            None => self.error.is_some(),
        }
    }
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
    pub(crate) data: Option<&'a RawValue>,
}
