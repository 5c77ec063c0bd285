//! JSON-RPC calls over one WebSocket, many at once, answers matched by id.
//!
//! The socket is opened by the first call and again by the first one after it broke; a
//! task owns it. Whoever waited for an answer when it broke hears so at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use tokio::sync::{Mutex, mpsc, oneshot};

use super::socket::{PING_AFTER, Socket};
use crate::evm::endpoint::Endpoint;
use crate::evm::error::RpcError;
use crate::evm::transport::{CallIds, OK, Outgoing, Reply};

/// How many calls wait to be written.
const MAX_WAITING_CALLS: usize = 64;
/// From how many unanswered calls on those are forgotten that nobody waits for.
const MANY_UNANSWERED: usize = 1_024;

/// The way to one endpoint over one socket at a time.
pub(crate) struct Link {
    endpoint: Arc<Endpoint>,
    open: Mutex<Option<mpsc::Sender<Call>>>,
}

struct Call {
    ids: CallIds,
    text: Vec<u8>,
    answer: oneshot::Sender<Bytes>,
}

impl Link {
    pub(crate) fn new(endpoint: Arc<Endpoint>) -> Self {
        Self { endpoint, open: Mutex::new(None) }
    }

    /// Sends a message and waits for its answer.
    pub(crate) async fn send(&self, message: Outgoing) -> Result<Reply, RpcError> {
        let Outgoing { ids, body, limit_bytes } = message;
        let (answer, answered) = oneshot::channel();
        let calls = self.calls().await?;
        calls.send(Call { ids, text: body, answer }).await.map_err(|_| self.broke())?;
        let body = answered.await.map_err(|_| self.broke())?;
        if body.len() > limit_bytes {
            return Err(RpcError::BodyTooLarge { place: self.endpoint.place.clone(), limit_bytes });
        }
        Ok(Reply { status: OK, retry_after: None, body })
    }

    /// The way to the task that has the socket, opening one if there is none.
    async fn calls(&self) -> Result<mpsc::Sender<Call>, RpcError> {
        let mut open = self.open.lock().await;
        if let Some(calls) = open.as_ref().filter(|calls| !calls.is_closed()) {
            return Ok(calls.clone());
        }
        let socket = Socket::connect(&self.endpoint, PING_AFTER).await?;
        let (calls, waiting) = mpsc::channel(MAX_WAITING_CALLS);
        tokio::spawn(serve(socket, waiting));
        *open = Some(calls.clone());
        Ok(calls)
    }

    fn broke(&self) -> RpcError {
        let reason = "the socket broke before the answer came".to_owned();
        RpcError::Connection { place: self.endpoint.place.clone(), reason, was_connected: true }
    }
}

/// Calls without an answer, by their first id.
type Unanswered = BTreeMap<u64, (u64, oneshot::Sender<Bytes>)>;

/// Carries calls and answers until the socket breaks or nobody can call any more.
async fn serve(mut socket: Socket, mut waiting: mpsc::Receiver<Call>) {
    let mut unanswered = Unanswered::new();
    loop {
        tokio::select! {
            call = waiting.recv() => {
                let Some(Call { ids, text, answer }) = call else { return };
                if unanswered.len() >= MANY_UNANSWERED {
                    unanswered.retain(|_, (_, answer)| !answer.is_closed());
                }
                unanswered.insert(ids.first, (ids.count, answer));
                if let Err(error) = socket.send(text).await {
                    return tracing::debug!(%error, "a call could not be sent");
                }
            }
            message = socket.next() => match message {
                Ok(body) => answer(&mut unanswered, body),
                Err(error) => return tracing::debug!(%error, "a socket ended"),
            },
        }
    }
}

fn answer(unanswered: &mut Unanswered, body: Bytes) {
    let first = answered_id(&body).and_then(|id| {
        let (first, (count, _)) = unanswered.range(..=id).next_back()?;
        (id - first < *count).then_some(*first)
    });
    match first.and_then(|first| unanswered.remove(&first)) {
        // Nobody may wait any more: then it is dropped.
        Some((_, waiting)) => drop(waiting.send(body)),
        None => tracing::debug!("a message answers no call"),
    }
}

/// Which call a message answers: its id, or that of any answer in a batch.
fn answered_id(body: &[u8]) -> Option<u64> {
    serde_json::from_slice::<AnsweredId>(body).ok()?.0
}

struct AnsweredId(Option<u64>);

impl<'de> Deserialize<'de> for AnsweredId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdVisitor)
    }
}

struct IdVisitor;

impl<'de> Visitor<'de> for IdVisitor {
    type Value = AnsweredId;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an answer or a list of answers")
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<AnsweredId, A::Error> {
        let mut id = None;
        while let Some(key) = map.next_key::<std::borrow::Cow<'_, str>>()? {
            if key == "id" {
                id = map.next_value::<serde_json::Value>()?.as_u64();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(AnsweredId(id))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<AnsweredId, A::Error> {
        let mut id = None;
        while let Some(AnsweredId(found)) = seq.next_element()? {
            id = id.or(found);
        }
        Ok(AnsweredId(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_by_its_id_alone_or_in_a_list() {
        for (text, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":[1,{"id":3}]}"#, Some(7)),
            (r#"[{"id":9,"result":null},{"id":8}]"#, Some(9)),
            (r#"[{"id":null,"error":{}},{"id":8}]"#, Some(8)),
            (r#"{"method":"eth_subscription","params":{"id":5}}"#, None),
            (r#"{"id":"7"}"#, None),
            ("nonsense", None),
        ] {
            assert_eq!(answered_id(text.as_bytes()), id, "{text}");
        }
    }

    #[tokio::test]
    async fn answers_find_their_calls() {
        let mut unanswered = Unanswered::new();
        let (single, one) = oneshot::channel();
        let (batch, three) = oneshot::channel();
        unanswered.insert(4, (1, single));
        unanswered.insert(5, (3, batch));
        for stray in [r#"{"id":3}"#, r#"{"id":8}"#, "{}"] {
            answer(&mut unanswered, Bytes::from_static(stray.as_bytes()));
        }
        assert_eq!(unanswered.len(), 2);
        answer(&mut unanswered, Bytes::from_static(br#"[{"id":7}]"#));
        answer(&mut unanswered, Bytes::from_static(br#"{"id":4}"#));
        assert_eq!(three.await.expect("answered"), r#"[{"id":7}]"#);
        assert_eq!(one.await.expect("answered"), r#"{"id":4}"#);
    }
}
