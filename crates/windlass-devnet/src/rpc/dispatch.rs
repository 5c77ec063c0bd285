//! From calls to answers: counts each call, draws its fate, asks the node.

use std::{sync::Arc, time::Duration};

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::{Semaphore, SemaphorePermit},
};
use tokio_util::sync::CancellationToken;

use super::{
    counters::Counters,
    dev,
    envelope::{Call, Entry, Payload},
    reply::{MAX_BATCH_REPLY_BYTES, Reply},
    server::Observer,
    subscriptions::Subscriptions,
};
use crate::{
    faults::{Answer, Fate, Faults, Kind, WireFault},
    node::{CallRef, Node, RpcError},
};

/// The most calls that run contracts at once; the others wait their turn, so that
/// light calls and new blocks find a thread.
pub const MAX_HEAVY_CALLS: usize = 4;

/// What every connection of a server shares.
pub(super) struct Dispatcher {
    pub(super) node: Arc<dyn Node>,
    pub(super) faults: Option<Faults>,
    pub(super) counters: Counters,
    pub(super) stop: CancellationToken,
    observer: Option<Arc<dyn Observer>>,
    heavy: Semaphore,
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

    /// How many calls the batch may hold, if it holds more; the strictest fate of its calls counts.
    fn exceeded_limit(&self) -> Option<u64> {
        let limit = self.entries.iter().filter_map(|(_, fate)| fate.batch_limit).min()?;
        (self.batch && self.entries.len() as u64 > limit).then_some(limit)
    }
}

impl Dispatcher {
    pub(super) fn new(
        node: Arc<dyn Node>,
        faults: Option<Faults>,
        observer: Option<Arc<dyn Observer>>,
        stop: CancellationToken,
    ) -> Self {
        let many_threads = Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
        let heavy = Semaphore::new(MAX_HEAVY_CALLS);
        Self { node, faults, counters: Counters::default(), stop, observer, heavy, many_threads }
    }

    /// Counts the calls and draws what becomes of them.
    pub(super) fn admit<'a>(&self, payload: Payload<'a>) -> Admitted<'a> {
        let calls: Vec<Option<CallRef<'_>>> = payload.entries.iter().map(call_of).collect();
        calls.iter().flatten().for_each(|call| self.counters.add(call.method));
        if let Some(observer) = &self.observer {
            observer.message(&calls.iter().flatten().copied().collect::<Vec<_>>());
        }
        let fates = match &self.faults {
            Some(faults) => faults.draw(&*self.node, &calls),
            None => vec![Fate::default(); calls.len()],
        };
        Admitted { entries: payload.entries.into_iter().zip(fates).collect(), batch: payload.batch }
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

    /// Answers all calls, subscriptions too where the connection can have some.
    /// The status is that of a single refused call, else 200.
    pub(super) async fn reply(
        &self,
        admitted: &Admitted<'_>,
        mut subscriptions: Option<&mut Subscriptions>,
    ) -> (Reply, u16) {
        if let Some(limit) = admitted.exceeded_limit() {
            self.happened(Kind::BatchLimit);
            return batch_refusal(limit);
        }
        let mut open = OpenReply::new(admitted.batch);
        for (entry, fate) in &admitted.entries {
            let answer = match entry {
                Ok(_) if open.is_full() => too_large(),
                Ok(_) if open.answered > 0 && self.stop.is_cancelled() => stopping(),
                Ok(call) => self.answer(call, fate, subscriptions.as_deref_mut()).await,
                Err(bad) => Answer::from(Err(bad.error.clone())),
            };
            open.push(entry, answer);
        }
        open.close()
    }

    /// Answers all calls with one error.
    pub(super) fn refuse(&self, admitted: &Admitted<'_>, error: &RpcError) -> Reply {
        let mut open = OpenReply::new(admitted.batch);
        for (entry, _) in &admitted.entries {
            let error = entry.as_ref().map_or_else(|bad| &bad.error, |_| error);
            open.push(entry, Answer::from(Err(error.clone())));
        }
        open.close().0
    }

    async fn answer(
        &self,
        call: &Call<'_>,
        fate: &Fate,
        subscriptions: Option<&mut Subscriptions>,
    ) -> Answer {
        match (call.method.as_ref(), subscriptions) {
            ("eth_subscribe", Some(own)) => own.subscribe(&*self.node, call.params).into(),
            ("eth_unsubscribe", Some(own)) => own.unsubscribe(call.params).into(),
            ("eth_subscribe" | "eth_unsubscribe", None) => {
                Answer::from(Err(RpcError::new(-32601, "notifications not supported")))
            }
            (dev::SET_FAULTS, _) => dev::set_faults(self.faults.as_ref(), call.params).into(),
            (dev::FAULTS, _) => dev::faults(self.faults.as_ref()).into(),
            (method, _) if is_heavy(method) => match self.turn().await {
                Some(_turn) => self.off_the_scheduler(|| self.ask(call, fate)),
                None => stopping(),
            },
            (method, _) if may_take_long(method) => self.off_the_scheduler(|| self.ask(call, fate)),
            _ => self.ask(call, fate),
        }
    }

    /// Waits for a turn at the heavy calls; none when the server stops first.
    ///
    /// It always waits a little, and that is where a connection notices that its client has gone.
    async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        tokio::task::yield_now().await;
        self.stop.run_until_cancelled(self.heavy.acquire()).await?.ok()
    }

    fn off_the_scheduler(&self, ask: impl FnOnce() -> Answer) -> Answer {
        if self.many_threads { tokio::task::block_in_place(ask) } else { ask() }
    }

    /// Asks the node, through the faults.
    fn ask(&self, call: &Call<'_>, fate: &Fate) -> Answer {
        let (method, params) = (call.method.as_ref(), call.params);
        match &self.faults {
            Some(faults) => faults.answer(fate, &*self.node, method, params),
            None => Answer::from(self.node.call(method, params)),
        }
    }
}

fn call_of<'a>(entry: &'a Entry<'_>) -> Option<CallRef<'a>> {
    entry.as_ref().ok().map(|call| CallRef { method: &call.method, params: call.params })
}

/// A reply that answers are still added to.
struct OpenReply {
    reply: Reply,
    batch: bool,
    answered: usize,
    status: u16,
}

impl OpenReply {
    fn new(batch: bool) -> Self {
        let mut reply = Reply::default();
        if batch {
            reply.bracket(b'[');
        }
        Self { reply, batch, answered: 0, status: 200 }
    }

    fn is_full(&self) -> bool {
        self.reply.len() > MAX_BATCH_REPLY_BYTES
    }

    /// Adds an answer, unless nobody asked for one.
    fn push(&mut self, entry: &Entry<'_>, answer: Answer) {
        let id = entry.as_ref().map_or_else(|bad| bad.id, |call| call.id);
        if id.is_some() || entry.is_err() {
            self.reply.push(id, answer.result);
        }
        self.answered += 1;
        self.status = answer.status;
    }

    fn close(mut self) -> (Reply, u16) {
        if self.batch {
            self.reply.bracket(b']');
            self.status = 200;
        }
        (self.reply, self.status)
    }
}

/// Calls that run contracts and may keep a thread busy for as long as their gas lasts.
fn is_heavy(method: &str) -> bool {
    matches!(method, "eth_call" | "eth_estimateGas")
}

/// Calls that may keep a thread busy for more than a fraction of a millisecond.
fn may_take_long(method: &str) -> bool {
    matches!(
        method,
        "eth_getLogs"
            | "eth_sendRawTransaction"
            | "eth_getBlockReceipts"
            | "windlass_mine"
            | "windlass_reorg"
    )
}

/// One error for the whole batch, as free plans give it.
fn batch_refusal(limit: u64) -> (Reply, u16) {
    let words = format!("Batch of more than {limit} requests are not allowed on this plan");
    let mut reply = Reply::default();
    reply.push(None, Err(RpcError::new(31, words)));
    (reply, 200)
}

fn too_large() -> Answer {
    Answer::from(Err(RpcError::new(-32003, "response too large")))
}

fn stopping() -> Answer {
    Answer::from(Err(RpcError::server("the server stops")))
}
