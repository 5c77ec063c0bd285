//! The reference model: what the store ports mean, in maps and plain loops.
//!
//! It is the stores' contract in executable form: no SQL, no concurrency, time as
//! an argument. Property tests and the transcript hold every store to it, and
//! [`ModelStore`](crate::model_store::ModelStore) puts it behind the ports. It is
//! written to be obviously right, not fast: a commit works on a copy of everything.
//!
//! It also counts what befell it ([`Tally`]), so that a suite can show that it
//! met every kind of trouble it claims to withstand.

mod claim;
mod cursor;
mod deliver;
mod door;
mod event;
mod job;
mod job_list;
mod lane;
mod lease;
mod outbox;
mod pay;
mod range;
mod table;
mod tally;

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::chain::{BlockHeader, ChainId};
use windlass_core::cursor::Cursor;
use windlass_core::event::LogEvent;
use windlass_core::job::JobId;
use windlass_core::lease::LeaseRow;
use windlass_core::name::{CursorName, LeaseName, Partition, Sink, StateKey};
use windlass_core::outbox::Message;
use windlass_core::table::Identifier;
use windlass_core::time::Timestamp;

pub(crate) use lane::Lane;
use pay::Ledger;
use table::Table;
pub use tally::Tally;

/// A whole store, as data.
#[derive(Debug, Clone, Default)]
pub struct Model {
    leases: BTreeMap<LeaseName, LeaseRow>,
    pub(crate) lanes: BTreeMap<i64, Lane>,
    lane_ids: BTreeMap<(String, String), i64>,
    last_lane: i64,
    pub(crate) jobs: BTreeMap<JobId, OpenJob>,
    pub(crate) dead: BTreeMap<JobId, Dead>,
    pub(crate) cursors: BTreeMap<CursorName, Cursor>,
    pub(crate) partitions: BTreeMap<Partition, Messages>,
    pub(crate) sinks: BTreeSet<Sink>,
    events: BTreeMap<(ChainId, u64, u32), LogEvent>,
    blocks: BTreeMap<(ChainId, u64), BlockHeader>,
    state: BTreeMap<StateKey, String>,
    tables: BTreeMap<Identifier, Table>,
    ledger: Ledger,
    /// How often what happened.
    pub tally: Tally,
}

/// A job that is not finished.
#[derive(Debug, Clone)]
pub(crate) struct OpenJob {
    payload: String,
    enqueued_at: Timestamp,
    pub(crate) not_before: Option<Timestamp>,
}

/// A job or message that was given up.
#[derive(Debug, Clone)]
pub(crate) struct Dead {
    /// Of the lane, which may be no more.
    queue: String,
    key: String,
    payload: String,
    attempts: u32,
    reason: String,
    enqueued_at: Timestamp,
    died_at: Timestamp,
    /// For messages: idempotency key and topic.
    letter: Option<(String, String)>,
}

/// The messages of a partition.
#[derive(Debug, Clone, Default)]
pub(crate) struct Messages {
    tail: i64,
    floor: i64,
    pub(crate) kept: BTreeMap<i64, Kept>,
}

/// A message, and the one sink it is for, if it is not for all.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    message: Message,
    pub(crate) only_sink: Option<Sink>,
}
