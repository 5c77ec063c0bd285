//! What a live chain is told over its input, and what it says: the new head, and the
//! last moment at which nobody could see it, on the clock that both processes share.
//!
//! A chain can also be told to go by the clock: then blocks come whatever becomes of
//! those before, until it is told to stop and says when each became visible and what it
//! was asked for meanwhile.

use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use windlass_core::chain::BlockRef;
use windlass_devnet::synthetic::{LiveNode, NewHead};

use crate::clock;
use crate::requests::{RequestCounter, Requests};
use crate::serve::Served;

const APPEND: &str = "append";
const REORGANISE: &str = "reorganise";
const HEAD: &str = "head";
const BEGIN: &str = "begin";
const END: &str = "end";
/// No command adds more blocks than this.
const MAX_APPENDED: u64 = 1_000_000;

/// A chain that does as it is told.
pub(crate) struct Obedient {
    node: Arc<LiveNode>,
    requests: Arc<RequestCounter>,
    beat: Option<Beat>,
}

impl Obedient {
    pub(crate) fn new(node: Arc<LiveNode>, requests: Arc<RequestCounter>) -> Self {
        Self { node, requests, beat: None }
    }

    /// Does what the lines of the input say, until they end.
    pub(crate) fn obey(mut self) -> io::Result<()> {
        for line in io::stdin().lock().lines() {
            let line = line?;
            let mut words = line.split_whitespace();
            let answer = match (words.next(), words.next().map(str::parse)) {
                (Some(APPEND), None) => text(self.node.append()),
                (Some(APPEND), Some(Ok(blocks @ 1..=MAX_APPENDED))) => self.append(blocks),
                (Some(REORGANISE), Some(Ok(depth))) => text(self.node.reorganise(depth)),
                (Some(HEAD), None) => self.node.now().head().to_string(),
                (Some(BEGIN), Some(Ok(block_ms @ 1..))) => self.begin(block_ms),
                (Some(END), None) => self.end()?,
                _ => return Err(io::Error::other(format!("`{line}` means nothing"))),
            };
            anstream::println!("{answer}");
        }
        Ok(())
    }

    fn append(&self, blocks: u64) -> String {
        let mut head = self.node.append();
        for _ in 1..blocks {
            head = self.node.append();
        }
        text(head)
    }

    /// From now on blocks come by the clock, and requests are counted.
    fn begin(&mut self, block_ms: u64) -> String {
        self.requests.take();
        self.beat = Some(Beat::start(self.node.clone(), Duration::from_millis(block_ms)));
        clock::now().as_nanos().to_string()
    }

    fn end(&mut self) -> io::Result<String> {
        let beat = self.beat.take().ok_or_else(|| io::Error::other("the clock does not run"))?;
        let blocks = beat.stop()?;
        let told = OpenLoop { blocks, requests: self.requests.take() };
        serde_json::to_string(&told).map_err(io::Error::other)
    }
}

/// A thread that adds a block at every beat.
struct Beat {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<(u64, u64)>>,
}

impl Beat {
    fn start(node: Arc<LiveNode>, every: Duration) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let stop = is_over.clone();
        let thread = std::thread::spawn(move || {
            let mut visible = Vec::new();
            let mut due = Instant::now() + every;
            while !stop.load(Ordering::Acquire) {
                match due.checked_duration_since(Instant::now()) {
                    Some(wait) if !wait.is_zero() => std::thread::park_timeout(wait),
                    _ => {
                        let head = node.append();
                        let since_ns = u64::try_from(clock::at(head.since).as_nanos()).unwrap_or(u64::MAX);
                        visible.push((head.number, since_ns));
                        due += every;
                    }
                }
            }
            visible
        });
        Self { is_over, thread }
    }

    /// Stops it; which blocks it added, and since when they were visible.
    fn stop(self) -> io::Result<Vec<(u64, u64)>> {
        self.is_over.store(true, Ordering::Release);
        self.thread.thread().unpark();
        self.thread.join().map_err(|_| io::Error::other("the clock broke"))
    }
}

fn text(NewHead { number, hash, since }: NewHead) -> String {
    format!("{number} {hash} {}", clock::at(since).as_nanos())
}

/// A head that has just become visible.
pub(crate) struct Visible {
    /// The block.
    pub(crate) block: BlockRef,
    /// Since when, on the shared clock.
    pub(crate) since: Duration,
}

/// What happened while blocks came by the clock.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OpenLoop {
    /// The blocks that came, in nanoseconds of the shared clock.
    blocks: Vec<(u64, u64)>,
    /// What was asked meanwhile.
    pub(crate) requests: Requests,
}

impl OpenLoop {
    /// The blocks that came, and since when each could be seen.
    pub(crate) fn visible(&self) -> impl Iterator<Item = (u64, Duration)> {
        self.blocks.iter().map(|(number, since_ns)| (*number, Duration::from_nanos(*since_ns)))
    }
}

type Broken = Box<dyn std::error::Error>;

impl Served {
    /// Adds a block. It returns when the block can be seen, and blocks the thread until then.
    pub(crate) fn append(&mut self) -> Result<Visible, Broken> {
        read(&self.tell(APPEND)?)
    }

    /// Adds many blocks at once; returns when the last can be seen.
    pub(crate) fn append_many(&mut self, blocks: u64) -> Result<Visible, Broken> {
        read(&self.tell(&format!("{APPEND} {blocks}"))?)
    }

    /// Replaces the newest blocks by a branch that is one longer; likewise.
    pub(crate) fn reorganise(&mut self, depth: u64) -> Result<Visible, Broken> {
        read(&self.tell(&format!("{REORGANISE} {depth}"))?)
    }

    /// The number of the newest block.
    pub(crate) fn head(&mut self) -> Result<u64, Broken> {
        Ok(self.tell(HEAD)?.parse()?)
    }

    /// From now on a block comes every so often; when that began, on the shared clock.
    pub(crate) fn begin(&mut self, block_ms: u64) -> Result<Duration, Broken> {
        Ok(Duration::from_nanos(self.tell(&format!("{BEGIN} {block_ms}"))?.parse()?))
    }

    /// No more blocks come.
    pub(crate) fn end(&mut self) -> Result<OpenLoop, Broken> {
        Ok(serde_json::from_str(&self.tell(END)?)?)
    }
}

fn read(line: &str) -> Result<Visible, Broken> {
    let mut words = line.split(' ');
    let mut next = || words.next().ok_or("a word is missing");
    let block = BlockRef { number: next()?.parse()?, hash: next()?.parse()? };
    Ok(Visible { block, since: Duration::from_nanos(next()?.parse()?) })
}
