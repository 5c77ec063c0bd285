//! What one WebSocket connection has subscribed to, and what it is told.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::sync::broadcast;

use super::params;
use crate::filter::LogFilter;
use crate::node::{Announcement, Node, RpcError};

/// The most subscriptions of one connection.
pub const MAX_SUBSCRIPTIONS: usize = 128;

#[derive(Debug)]
enum Topic {
    Heads,
    Logs(LogFilter),
}

/// The subscriptions of one connection.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    topics: BTreeMap<u64, Topic>,
    last_id: u64,
    /// There from the first subscription on.
    announcements: Option<broadcast::Receiver<Arc<Announcement>>>,
}

impl Subscriptions {
    /// Answers `eth_subscribe`. What happens after this call is told.
    pub(super) fn subscribe(
        &mut self,
        node: &dyn Node,
        params: Option<&RawValue>,
    ) -> Result<Bytes, RpcError> {
        let topic = match params::required::<&str>(params, 0)? {
            "newHeads" => Topic::Heads,
            "logs" => Topic::Logs(params::optional::<LogFilter>(params, 1)?.unwrap_or_default()),
            other => {
                let words = format!("no {other:?} subscription in eth namespace");
                return Err(RpcError::new(-32601, words));
            }
        };
        if self.topics.len() == MAX_SUBSCRIPTIONS {
            return Err(RpcError::server("too many subscriptions on this connection"));
        }
        self.announcements.get_or_insert_with(|| node.announcements());
        self.last_id += 1;
        self.topics.insert(self.last_id, topic);
        Ok(Bytes::from(format!("\"{:#x}\"", self.last_id)))
    }

    /// Answers `eth_unsubscribe`.
    pub(super) fn unsubscribe(&mut self, params: Option<&RawValue>) -> Result<Bytes, RpcError> {
        let id = params::required::<&str>(params, 0)?;
        let id = id.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        if id.and_then(|id| self.topics.remove(&id)).is_none() {
            return Err(RpcError::server("subscription not found"));
        }
        Ok(Bytes::from_static(b"true"))
    }

    /// Waits for something to tell; forever if nothing was subscribed to.
    pub(super) async fn next(&mut self) -> Result<Arc<Announcement>, broadcast::error::RecvError> {
        match &mut self.announcements {
            Some(announcements) => announcements.recv().await,
            None => std::future::pending().await,
        }
    }

    /// Forgets the node, which has gone.
    pub(super) fn close(&mut self) {
        self.announcements = None;
        self.topics.clear();
    }

    /// The messages that an announcement makes, in the order of the subscriptions.
    pub(super) fn messages(&self, announcement: &Announcement) -> Vec<String> {
        let mut messages = Vec::new();
        for (id, topic) in &self.topics {
            match topic {
                Topic::Heads => {
                    messages.extend(announcement.heads.iter().map(|head| message(*id, head)));
                }
                Topic::Logs(filter) => {
                    let matching = announcement.logs.iter().filter(|log| filter.matches(&log.inner));
                    messages.extend(
                        matching
                            .map(|log| message(*id, &serde_json::to_vec(log).expect("a log is plain data"))),
                    );
                }
            }
        }
        messages
    }
}

fn message(id: u64, result: &[u8]) -> String {
    let result = String::from_utf8_lossy(result);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"eth_subscription\",\
         \"params\":{{\"subscription\":\"{id:#x}\",\"result\":{result}}}}}"
    )
}
