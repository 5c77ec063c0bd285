//! Writes JSON-RPC answers around the bytes that a node wrote.
//!
//! A large result is passed on as it is, between two small pieces; small ones are
//! copied together, so that a batch of a thousand goes out in one write.

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::value::RawValue;

use crate::node::RpcError;

/// The most bytes of results in a batch; calls beyond it are refused, as in geth.
pub const MAX_BATCH_REPLY_BYTES: usize = 128 << 20;
/// A result up to this size is copied rather than passed on.
const MAX_COPIED_BYTES: usize = 16 << 10;

/// An answer in pieces.
#[derive(Debug, Default)]
pub(super) struct Reply {
    pieces: Vec<Bytes>,
    tail: BytesMut,
    len: usize,
    answers: usize,
}

impl Reply {
    /// How many bytes all pieces have together.
    pub(super) fn len(&self) -> usize {
        self.len + self.tail.len()
    }

    /// Whether there is nothing to say: only notifications were sent.
    pub(super) fn is_empty(&self) -> bool {
        self.answers == 0
    }

    /// Adds the answer to the call with this id.
    pub(super) fn push(&mut self, id: Option<&RawValue>, result: Result<Bytes, RpcError>) {
        if self.answers > 0 {
            self.tail.put_u8(b',');
        }
        self.answers += 1;
        self.tail.put_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        self.tail.put_slice(id.map_or("null", RawValue::get).as_bytes());
        match result {
            Ok(result) => {
                self.tail.put_slice(b",\"result\":");
                self.put(result);
            }
            Err(error) => {
                self.tail.put_slice(b",\"error\":");
                let text = serde_json::to_vec(&error).expect("an error is plain data");
                self.tail.put_slice(&text);
            }
        }
        self.tail.put_u8(b'}');
    }

    /// Opens or closes the list that a batch is answered with.
    pub(super) fn bracket(&mut self, bracket: u8) {
        self.tail.put_u8(bracket);
    }

    /// The pieces, in order.
    pub(super) fn into_pieces(mut self) -> Vec<Bytes> {
        self.cut();
        self.pieces
    }

    /// Everything in one piece.
    pub(super) fn into_bytes(self) -> Bytes {
        let mut pieces = self.into_pieces();
        if pieces.len() == 1 { pieces.remove(0) } else { Bytes::from(pieces.concat()) }
    }

    fn put(&mut self, result: Bytes) {
        if result.len() <= MAX_COPIED_BYTES {
            self.tail.put_slice(&result);
        } else {
            self.cut();
            self.len += result.len();
            self.pieces.push(result);
        }
    }

    fn cut(&mut self) {
        if !self.tail.is_empty() {
            self.len += self.tail.len();
            self.pieces.push(self.tail.split().freeze());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_results_are_passed_on_and_small_ones_copied() {
        let large = Bytes::from(format!("\"{}\"", "x".repeat(MAX_COPIED_BYTES)));
        let id = RawValue::from_string("7".to_owned()).unwrap();
        let mut reply = Reply::default();
        reply.bracket(b'[');
        reply.push(Some(&id), Ok(Bytes::from_static(b"true")));
        reply.push(Some(&id), Ok(large.clone()));
        reply.push(None, Err(RpcError::new(-1, "no")));
        reply.bracket(b']');
        let len = reply.len();
        let pieces = reply.into_pieces();
        assert_eq!(pieces[1].as_ptr(), large.as_ptr());
        assert_eq!(pieces.len(), 3);
        let text = pieces.concat();
        assert_eq!(text.len(), len);
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(value[0]["result"], true);
        assert_eq!(value[1]["id"], 7);
        assert_eq!(value[2]["error"]["message"], "no");
        assert!(value[2]["id"].is_null());
    }
}
