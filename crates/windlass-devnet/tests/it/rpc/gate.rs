//! A node whose heavy calls wait to be let through, so that tests see them under way.

use std::sync::{
    Arc, Condvar, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::sync::{Notify, broadcast};
use windlass_devnet::node::{Announcement, Node, RpcError};

/// `eth_call` waits at the gate; everything else is answered at once.
#[derive(Default)]
pub(crate) struct Gate {
    /// How many may still pass.
    passes: Mutex<usize>,
    changed: Condvar,
    /// How many have come to the gate so far, and how many stand there.
    came: AtomicUsize,
    inside: AtomicUsize,
    crowd: AtomicUsize,
    arrival: Notify,
}

impl Gate {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Lets this many more calls pass.
    pub(crate) fn open(&self, count: usize) {
        *self.passes.lock().unwrap() += count;
        self.changed.notify_all();
    }

    /// How many calls have come so far.
    pub(crate) fn came(&self) -> usize {
        self.came.load(Ordering::SeqCst)
    }

    /// The most that ever stood at the gate together.
    pub(crate) fn crowd(&self) -> usize {
        self.crowd.load(Ordering::SeqCst)
    }

    /// Waits until this many calls have come.
    pub(crate) async fn wait_for(&self, count: usize) {
        while self.came() < count {
            self.arrival.notified().await;
        }
    }

    fn pass(&self) {
        self.crowd.fetch_max(self.inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        self.came.fetch_add(1, Ordering::SeqCst);
        self.arrival.notify_one();
        let passes = self.passes.lock().unwrap();
        *self.changed.wait_while(passes, |passes| *passes == 0).unwrap() -= 1;
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Node for Gate {
    fn call(&self, method: &str, _: Option<&RawValue>) -> Result<Bytes, RpcError> {
        if method == "eth_call" {
            self.pass();
        }
        Ok(Bytes::from_static(b"true"))
    }

    fn announcements(&self) -> broadcast::Receiver<Arc<Announcement>> {
        broadcast::channel(1).1
    }
}
