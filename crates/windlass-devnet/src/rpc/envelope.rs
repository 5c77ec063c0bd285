//! Reads JSON-RPC requests in place: one call or a batch.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::node::RpcError;

/// The most calls in a batch, as in geth.
pub const MAX_BATCH_CALLS: usize = 1_000;

/// One call, borrowed from the text it came in.
#[derive(Debug)]
pub(super) struct Call<'a> {
    /// Echoed as it came; a call without one is a notification and gets no answer.
    pub(super) id: Option<&'a RawValue>,
    pub(super) method: Cow<'a, str>,
    pub(super) params: Option<&'a RawValue>,
}

/// Something in the place of a call that is none.
#[derive(Debug)]
pub(super) struct BadCall<'a> {
    pub(super) id: Option<&'a RawValue>,
    pub(super) error: RpcError,
}

pub(super) type Entry<'a> = Result<Call<'a>, BadCall<'a>>;

/// What a client sent.
#[derive(Debug)]
pub(super) struct Payload<'a> {
    pub(super) entries: Vec<Entry<'a>>,
    /// Whether the answer is a list too.
    pub(super) batch: bool,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct OnlyId<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
}

/// An id that is null is there, unlike one that is left out.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> Payload<'a> {
    /// Reads what a client sent; never fails, since mistakes are answered too.
    pub(super) fn read(text: &'a [u8]) -> Self {
        if text.trim_ascii_start().first() == Some(&b'[') {
            Self::read_batch(text)
        } else {
            Self { entries: vec![entry(text)], batch: false }
        }
    }

    fn read_batch(text: &'a [u8]) -> Self {
        let one = |error| Self { entries: vec![Err(BadCall { id: None, error })], batch: false };
        let Ok(list) = serde_json::from_slice::<Vec<&RawValue>>(text) else {
            return one(parse_error());
        };
        if list.is_empty() {
            return one(RpcError::new(-32600, "empty batch"));
        }
        if list.len() > MAX_BATCH_CALLS {
            let id = entry(list[0].get().as_bytes()).map_or_else(|bad| bad.id, |call| call.id);
            let error = RpcError::new(-32600, "batch too large");
            return Self { entries: vec![Err(BadCall { id, error })], batch: true };
        }
        let entries = list.into_iter().map(|text| entry(text.get().as_bytes())).collect();
        Self { entries, batch: true }
    }
}

fn entry(text: &[u8]) -> Entry<'_> {
    let envelope: Envelope<'_> = serde_json::from_slice(text).map_err(|error| {
        if error.is_data() {
            let id = serde_json::from_slice(text).ok().and_then(|only: OnlyId<'_>| only.id);
            invalid_request(id)
        } else {
            BadCall { id: None, error: parse_error() }
        }
    })?;
    let id = envelope.id;
    match envelope.method {
        Some(method) if envelope.jsonrpc.as_deref() == Some("2.0") && id.is_none_or(is_valid_id) => {
            Ok(Call { id, method, params: envelope.params })
        }
        _ => Err(invalid_request(id)),
    }
}

/// A string, a number or null.
fn is_valid_id(id: &RawValue) -> bool {
    id.get().starts_with(|first: char| first.is_ascii_digit() || matches!(first, '"' | '-' | 'n'))
}

fn invalid_request<'a>(id: Option<&'a RawValue>) -> BadCall<'a> {
    BadCall { id: id.filter(|id| is_valid_id(id)), error: RpcError::new(-32600, "invalid request") }
}

fn parse_error() -> RpcError {
    RpcError::new(-32700, "parse error")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Entry<'_> {
        let payload = Payload::read(text.as_bytes());
        assert!(!payload.batch);
        payload.entries.into_iter().next().unwrap()
    }

    fn code_and_id(text: &str) -> (i64, Option<String>) {
        let bad = only(text).unwrap_err();
        (bad.error.code, bad.id.map(|id| id.get().to_owned()))
    }

    #[test]
    fn reads_calls_with_every_kind_of_id() {
        for id in ["1", "-7", "\"a\\\"b\"", "null", "1.5"] {
            let text = format!(r#" {{"jsonrpc":"2.0","id":{id},"method":"m","params":[1]}}"#);
            let call = only(&text).unwrap();
            assert_eq!(call.id.unwrap().get(), id);
            assert_eq!((call.method.as_ref(), call.params.unwrap().get()), ("m", "[1]"));
        }
        assert!(only(r#"{"jsonrpc":"2.0","method":"m"}"#).unwrap().id.is_none());
    }

    #[test]
    fn tells_a_syntax_error_from_a_bad_request() {
        assert_eq!(code_and_id("{"), (-32700, None));
        assert_eq!(code_and_id(""), (-32700, None));
        assert_eq!(code_and_id("7"), (-32600, None));
        assert_eq!(code_and_id(r#"{"jsonrpc":"2.0","id":3}"#), (-32600, Some("3".into())));
        assert_eq!(code_and_id(r#"{"jsonrpc":"1.0","id":3,"method":"m"}"#).0, -32600);
        assert_eq!(code_and_id(r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#), (-32600, None));
        let number_as_method = r#"{"jsonrpc":"2.0","id":3,"method":5}"#;
        assert_eq!(code_and_id(number_as_method), (-32600, Some("3".into())));
    }

    #[test]
    fn a_batch_keeps_its_order_and_its_mistakes() {
        let text = br#"[{"jsonrpc":"2.0","id":1,"method":"a"}, 5, {"jsonrpc":"2.0","id":2,"method":"b"}]"#;
        let payload = Payload::read(text);
        assert!(payload.batch);
        let kinds: Vec<_> = payload.entries.iter().map(Result::is_ok).collect();
        assert_eq!(kinds, [true, false, true]);
    }

    #[test]
    fn batches_have_bounds() {
        let empty = Payload::read(b"[]");
        assert_eq!(empty.entries[0].as_ref().unwrap_err().error.message, "empty batch");
        let call = r#"{"jsonrpc":"2.0","id":9,"method":"m"}"#;
        let text = format!("[{}]", vec![call; MAX_BATCH_CALLS + 1].join(","));
        let large = Payload::read(text.as_bytes());
        let bad = large.entries[0].as_ref().unwrap_err();
        assert_eq!((large.entries.len(), bad.error.message.as_str()), (1, "batch too large"));
        assert_eq!(bad.id.unwrap().get(), "9");
        assert_eq!(Payload::read(b"[{").entries[0].as_ref().unwrap_err().error.code, -32700);
    }
}
