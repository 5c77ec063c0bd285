//! From calls to answers: counts each call, draws its fate, asks the node.

use std::{sync::Arc, time::Duration};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio_util::sync::CancellationToken;

use super::{
    counters::Counters,
    envelope::{Call, Entry, Payload},
    reply::{MAX_BATCH_REPLY_BYTES, Reply},
};
use crate::{
    faults::{Answer, Fate, Faults, Kind, WireFault},
    node::{Node, RpcError},
};

/// What every connection of a server shares.
pub(super) struct Dispatcher {
    pub(super) node: Arc<dyn Node>,
    pub(super) faults: Option<Faults>,
    pub(super) counters: Counters,
    pub(super) stop: CancellationToken,
    many_threads: bool,
}

/// A payload whose calls have been counted and have got their fates.
pub(super) struct Admitted<'a> {
    entries: Vec<(Entry<'a>, Fate)>,
    batch: bool,
}

impl Admitted<'_> {
    /// A batch is as slow as its slowest call.
    pub(super) fn delay(&self) -> Duration {
        self.entries.iter().map(|(_, fate)| fate.delay).max().unwrap_or_default()
    }

    /// A batch shares the connection's fate with its first unlucky call.
    pub(super) fn wire(&self) -> Option<WireFault> {
        self.entries.iter().find_map(|(_, fate)| fate.wire)
    }
}

impl Dispatcher {
    pub(super) fn new(node: Arc<dyn Node>, faults: Option<Faults>, stop: CancellationToken) -> Self {
        let many_threads = Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
        Self { node, faults, counters: Counters::default(), stop, many_threads }
    }

    /// Counts the calls and draws what becomes of them.
    pub(super) fn admit<'a>(&self, payload: Payload<'a>) -> Admitted<'a> {
        let admit = |entry: Entry<'a>| {
            let fate = entry.as_ref().map_or_else(|_| Fate::default(), |call| self.fate(call));
            (entry, fate)
        };
        Admitted { entries: payload.entries.into_iter().map(admit).collect(), batch: payload.batch }
    }

    fn fate(&self, call: &Call<'_>) -> Fate {
        self.counters.add(&call.method);
        self.faults.as_ref().map_or_else(Fate::default, |faults| faults.draw(&call.method))
    }

    /// Acts out a latency.
    pub(super) async fn wait(&self, delay: Duration) {
        if !delay.is_zero() {
            self.happened(Kind::Latency);
            self.sleep(delay).await;
        }
    }

    /// Sleeps, but not past the end of the server.
    pub(super) async fn sleep(&self, time: Duration) {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Counts a fault that the transport acts out.
    pub(super) fn happened(&self, kind: Kind) {
        if let Some(faults) = &self.faults {
            faults.happened(kind);
        }
    }

    /// Answers all calls. The status is that of a single refused call, else 200.
    pub(super) fn reply(
        &self,
        admitted: &Admitted<'_>,
        mut answer: impl FnMut(&Call<'_>, &Fate) -> Answer,
    ) -> (Reply, u16) {
        let mut reply = Reply::default();
        let mut status = 200;
        if admitted.batch {
            reply.bracket(b'[');
        }
        for (entry, fate) in &admitted.entries {
            let full = reply.len() > MAX_BATCH_REPLY_BYTES;
            let (id, answer) = match entry {
                Ok(call) if full => (call.id, too_large()),
                Ok(call) => (call.id, answer(call, fate)),
                Err(bad) => (bad.id, Answer::from(Err(bad.error.clone()))),
            };
            status = answer.status;
            if id.is_some() || entry.is_err() {
                reply.push(id, answer.result);
            }
        }
        if admitted.batch {
            reply.bracket(b']');
            status = 200;
        }
        (reply, status)
    }

    /// Asks the node, through the faults, off the scheduler if it may take long.
    pub(super) fn answer(&self, call: &Call<'_>, fate: &Fate) -> Answer {
        let (method, params) = (call.method.as_ref(), call.params);
        let ask = || match &self.faults {
            Some(faults) => faults.answer(fate, &*self.node, method, params),
            None => Answer::from(self.node.call(method, params)),
        };
        if self.many_threads && may_take_long(method) { tokio::task::block_in_place(ask) } else { ask() }
    }
}

/// Calls that may keep a thread busy for more than a fraction of a millisecond.
fn may_take_long(method: &str) -> bool {
    matches!(
        method,
        "eth_getLogs" | "eth_call" | "eth_estimateGas" | "eth_sendRawTransaction" | "eth_getBlockReceipts"
    )
}

fn too_large() -> Answer {
    Answer::from(Err(RpcError::new(-32003, "response too large")))
}
