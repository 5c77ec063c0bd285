//! News of heads over WebSockets: a wake-up signal, never a source of data.
//!
//! One task for each endpoint connects, makes sure of the chain and subscribes to
//! `newHeads`; when that ends for whatever reason it starts over, after a pause that
//! grows until heads arrive again. Whoever listens still polls: a head that nobody
//! announces is found later, not never.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use windlass_core::chain::ChainId;

use super::socket::{PING_AFTER, Socket};
use crate::evm::endpoint::Endpoint;
use crate::evm::error::RpcError;
use crate::evm::hex::{Hex, Storable};

/// The ids of the two calls of a subscriber.
const CHAIN_ID_CALL: u64 = 1;
const SUBSCRIBE_CALL: u64 = 2;

/// How patient a subscriber is.
#[derive(Debug, Clone, Copy)]
pub struct HeadsOptions {
    /// The pause before the second try to connect.
    pub first_pause: Duration,
    /// The longest pause between two tries.
    pub longest_pause: Duration,
    /// How long nothing may be heard before a ping goes out.
    pub ping_after: Duration,
    /// How long no head may come before the subscription counts as lost.
    pub quiet: Duration,
}

impl Default for HeadsOptions {
    fn default() -> Self {
        Self {
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
            ping_after: PING_AFTER,
            quiet: Duration::from_secs(120),
        }
    }
}

/// Listens to heads until it is dropped.
#[derive(Debug)]
pub struct EvmHeads {
    heads: watch::Receiver<Option<u64>>,
    tasks: Vec<JoinHandle<()>>,
}

impl EvmHeads {
    /// Starts listening to the `ws` and `wss` URLs among these; the others are left alone.
    pub fn start<U: AsRef<str>>(urls: &[U], chain: ChainId, options: HeadsOptions) -> Result<Self, RpcError> {
        let endpoints: Vec<Endpoint> =
            urls.iter().map(|url| Endpoint::parse(url.as_ref())).collect::<Result<_, _>>()?;
        let sockets: Vec<Endpoint> = endpoints.into_iter().filter(Endpoint::is_socket).collect();
        let (sender, heads) = watch::channel(None);
        let newest: Arc<[AtomicU64]> = sockets.iter().map(|_| AtomicU64::new(0)).collect();
        let announce = Announcer { sender: Arc::new(sender), newest };
        let listen = |(place, endpoint)| {
            let listener = Listener { endpoint, place, chain, options, announce: announce.clone() };
            tokio::spawn(listener.run())
        };
        let tasks = sockets.into_iter().enumerate().map(listen).collect();
        Ok(Self { heads, tasks })
    }

    /// How many endpoints are listened to.
    pub fn endpoints(&self) -> usize {
        self.tasks.len()
    }

    /// The newest head that was announced. It changes with every announcement, also when
    /// the number stays the same, as after a reorg.
    pub fn receiver(&self) -> watch::Receiver<Option<u64>> {
        self.heads.clone()
    }
}

impl Drop for EvmHeads {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Where heads are announced: the highest of what the endpoints said last.
#[derive(Clone)]
struct Announcer {
    sender: Arc<watch::Sender<Option<u64>>>,
    newest: Arc<[AtomicU64]>,
}

impl Announcer {
    fn head(&self, place: usize, number: u64) {
        self.newest[place].store(number, Ordering::Relaxed);
        let highest = self.newest.iter().map(|newest| newest.load(Ordering::Relaxed)).max();
        self.sender.send_replace(highest);
    }

    /// What an endpoint said last counts no more.
    fn lost(&self, place: usize) {
        self.newest[place].store(0, Ordering::Relaxed);
    }
}

struct Listener {
    endpoint: Endpoint,
    place: usize,
    chain: ChainId,
    options: HeadsOptions,
    announce: Announcer,
}

impl Listener {
    async fn run(self) {
        let mut pause = self.options.first_pause;
        loop {
            let mut heard = false;
            // It only returns when something went wrong.
            let Err(error) = self.listen(&mut heard).await;
            self.announce.lost(self.place);
            if heard {
                pause = self.options.first_pause;
            }
            tracing::debug!(%error, pause_ms = pause.as_millis(), "heads are not announced");
            sleep(pause).await;
            pause = (pause * 2).min(self.options.longest_pause);
        }
    }

    async fn listen(&self, heard: &mut bool) -> Result<std::convert::Infallible, RpcError> {
        let mut socket = Socket::connect(&self.endpoint, self.options.ping_after).await?;
        let calls = [
            json!({ "jsonrpc": "2.0", "id": CHAIN_ID_CALL, "method": "eth_chainId", "params": [] }),
            json!({ "jsonrpc": "2.0", "id": SUBSCRIBE_CALL, "method": "eth_subscribe", "params": ["newHeads"] }),
        ];
        for call in calls {
            socket.send(call.to_string().into_bytes()).await?;
        }
        loop {
            let message = timeout(self.options.quiet, socket.next()).await;
            let message = message.map_err(|_| self.strange("it announced no head for too long"))??;
            if let Some(number) = self.read(&message)? {
                *heard = true;
                self.announce.head(self.place, number);
            }
        }
    }

    /// A head's number, if the message announces one.
    fn read(&self, message: &Bytes) -> Result<Option<u64>, RpcError> {
        let message: News<'_> =
            serde_json::from_slice(message).map_err(|_| self.strange("it is not an answer"))?;
        match message {
            News { error: Some(error), .. } => Err(self.strange(error.get())),
            News { id: Some(CHAIN_ID_CALL), result: Some(result), .. } => {
                let found: Option<Hex<u64>> = serde_json::from_str(result.get()).ok();
                let right = found.is_some_and(|Hex(id)| id == self.chain.as_u64());
                if right { Ok(None) } else { Err(self.strange(&format!("its chain is not {}", self.chain))) }
            }
            News { params: Some(params), .. } => {
                let Hex(number) = params.result.number;
                Ok(Some(number.0))
            }
            News { .. } => Ok(None),
        }
    }

    fn strange(&self, reason: &str) -> RpcError {
        RpcError::Malformed {
            place: self.endpoint.place.clone(),
            method: "eth_subscribe".to_owned(),
            reason: self.endpoint.scrub(reason),
        }
    }
}

/// An answer or an announcement.
#[derive(Deserialize)]
struct News<'a> {
    #[serde(default)]
    id: Option<u64>,
    #[serde(borrow, default)]
    result: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a serde_json::value::RawValue>,
    #[serde(default)]
    params: Option<Params>,
}

#[derive(Deserialize)]
struct Params {
    result: Head,
}

#[derive(Deserialize)]
struct Head {
    number: Hex<Storable>,
}
