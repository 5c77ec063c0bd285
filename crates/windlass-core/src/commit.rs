//! The transaction door: what a loop commits, as data.
//!
//! A [`Commit`] is everything that one step of a loop has to say: the fences it
//! stands on, the events it found, the cursor it moved, the jobs it finished or
//! asked for, the messages that are to leave. A store takes it whole or not at
//! all. Because it is data, no loop can hold a transaction open over I/O, and a
//! test can look at, cut or replay what a loop would do.

use serde::{Deserialize, Serialize};

use crate::chain::{Address, BlockHeader, ChainId};
use crate::cursor::{Cursor, CursorMove, CursorRule};
use crate::error::{StoreError, StoreResult};
use crate::event::LogEvent;
use crate::job::{JobId, JobTicket, MAX_PAYLOAD_BYTES, NewJob};
use crate::lease::{Epoch, Lease};
use crate::name::{CursorName, LeaseName, Queue, StateKey};
use crate::outbox::NewMessage;
use crate::payout::ledger::{CHECKPOINT_KEY, MAX_CHECKPOINT_BYTES, PayWrite};
use crate::plan::{self, MAX_PLAN_BYTES};
use crate::range::BlockRange;
use crate::store::check_job_queue;
use crate::table::{Identifier, Rows};

/// The most rows of one kind in one commit.
pub const MAX_COMMIT_ROWS: usize = 100_000;

/// The most bytes of payloads and log data in one commit.
pub const MAX_COMMIT_BYTES: usize = 128 << 20;

/// How sure the disk must be before the store says yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// It survives the loss of power.
    #[default]
    Full,
    /// It survives the death of the process; after a loss of power the store is
    /// whole but may be a little older. For what can be read again from a chain.
    Relaxed,
}

/// Everything one step commits together.
#[derive(Debug, Clone, Default)]
pub struct Commit {
    /// Each must hold, or nothing is written.
    pub fences: Vec<Fence>,
    /// Applied in this order.
    pub writes: Vec<Write>,
    /// How sure the disk must be.
    pub durability: Durability,
}

/// A lease or lane the step stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fence {
    /// A named lease is still in this epoch.
    Lease {
        /// Which lease.
        name: LeaseName,
        /// The holder's epoch.
        epoch: Epoch,
    },
    /// A lane is still in this epoch, and the job is its first open one.
    Job(JobTicket),
}

/// One write of a commit.
#[derive(Debug, Clone)]
pub enum Write {
    /// Stores logs; those already there are left as they are.
    Events(Vec<LogEvent>),
    /// Takes logs of a chain out, of these blocks: before they are collected anew.
    EraseEvents {
        /// The chain.
        chain: ChainId,
        /// Which blocks.
        blocks: BlockRange,
        /// Of which contracts; of every one when empty.
        contracts: Vec<Address>,
    },
    /// Remembers headers of blocks that may still be reorganised.
    Blocks {
        /// The chain.
        chain: ChainId,
        /// The headers.
        headers: Vec<BlockHeader>,
    },
    /// Stores rows of one table, each where none with its key stands yet. A row of the
    /// same block stays as it is; one of another block refuses the commit.
    Rows(Rows),
    /// Takes rows of one table out, of these blocks: before they are collected anew.
    EraseRows {
        /// Which table.
        table: Identifier,
        /// Which blocks.
        blocks: BlockRange,
        /// Of which contracts; of every one when empty.
        contracts: Vec<Address>,
    },
    /// Takes back every log, row and header of a chain from this block on.
    Retract {
        /// The chain.
        chain: ChainId,
        /// The first block that is gone.
        from_block: u64,
    },
    /// Forgets headers of a chain below this block, which nothing can reorganise any more.
    ForgetBlocks {
        /// The chain.
        chain: ChainId,
        /// The first block that stays.
        below: u64,
    },
    /// Creates a cursor unless it exists.
    SeedCursor {
        /// Which cursor.
        name: CursorName,
        /// Where it begins.
        start: Cursor,
    },
    /// Moves a cursor forward by its rule; a conflict refuses the commit.
    AdvanceCursor {
        /// Which cursor.
        name: CursorName,
        /// Where it goes.
        to: Cursor,
        /// What an equal position means.
        rule: CursorRule,
    },
    /// Moves a cursor anywhere, provided that it stands where the caller thinks:
    /// how a reorg goes back to the common ancestor.
    ResetCursor {
        /// Which cursor.
        name: CursorName,
        /// Where the caller thinks it is.
        expected: Cursor,
        /// Where it goes.
        to: Cursor,
    },
    /// Puts jobs into lanes.
    Enqueue(Vec<NewJob>),
    /// Finishes a job.
    CompleteJob(JobTicket),
    /// Takes a queue away: its lanes, and every job in them, open or given up. Whoever
    /// holds one of them can no longer finish it.
    DropQueue(Queue),
    /// Writes messages to the outbox.
    Publish(Vec<NewMessage>),
    /// Keeps a value under a key, as JSON text; `None` forgets it.
    PutState {
        /// What it is about.
        key: StateKey,
        /// The value.
        value: Option<String>,
    },
    /// Writes what is kept of payouts.
    Pay(PayWrite),
}

/// What a write did, in the place of that write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Written {
    /// How many rows are new, or were taken back.
    Rows(u64),
    /// How a cursor moved.
    Cursor(CursorMove),
    /// The jobs' ids, in their order.
    Jobs(Vec<JobId>),
    /// The messages' numbers in their partitions, in their order.
    Messages(Vec<i64>),
    /// Nothing more to say.
    Done,
}

impl Commit {
    /// A commit of these writes, standing on nothing.
    pub fn of(writes: Vec<Write>) -> Self {
        Self { writes, ..Self::default() }
    }

    /// The same, refused unless the lease still holds.
    pub fn under_lease(mut self, lease: &Lease) -> Self {
        self.fences.push(Fence::Lease { name: lease.name.clone(), epoch: lease.epoch });
        self
    }

    /// The same, refused unless the job's lane is still held.
    pub fn under_job(mut self, ticket: JobTicket) -> Self {
        self.fences.push(Fence::Job(ticket));
        self
    }

    /// The same, allowed to be lost with the power.
    pub fn relaxed(mut self) -> Self {
        self.durability = Durability::Relaxed;
        self
    }

    /// Refuses what no store takes, before it is even asked: too many rows or bytes,
    /// texts that are too long or hold NUL (which PostgreSQL cannot keep), queues
    /// that belong to the outbox.
    pub fn validate(&self) -> StoreResult<()> {
        self.writes.iter().try_for_each(Write::validate)?;
        let bytes: usize = self.writes.iter().map(Write::bytes).sum();
        if bytes > MAX_COMMIT_BYTES {
            let told = format!("a commit holds at most {MAX_COMMIT_BYTES} bytes, this one {bytes}");
            return Err(StoreError::Invalid(told));
        }
        Ok(())
    }
}

impl Write {
    fn validate(&self) -> StoreResult<()> {
        let rows = self.rows();
        if rows > MAX_COMMIT_ROWS {
            let told = format!("a commit writes at most {MAX_COMMIT_ROWS} rows of a kind, this one {rows}");
            return Err(StoreError::Invalid(told));
        }
        match self {
            Self::Enqueue(jobs) => jobs.iter().try_for_each(|job| {
                check_job_queue(&job.queue)?;
                check_text("a job's payload", &job.payload)
            }),
            Self::DropQueue(queue) => check_job_queue(queue),
            Self::Publish(messages) => messages.iter().try_for_each(|message| {
                check_text("a message's idempotency key", &message.idempotency_key)?;
                check_text("a message's topic", &message.topic)?;
                check_text("a message's payload", &message.payload)
            }),
            Self::PutState { key, value: Some(value) } if plan::is_kept_at(key) => {
                check_length("a plan", value, MAX_PLAN_BYTES)
            }
            Self::PutState { key, value: Some(value) } if key.as_str() == CHECKPOINT_KEY => {
                check_length("a checkpoint", value, MAX_CHECKPOINT_BYTES)
            }
            Self::PutState { value: Some(value), .. } => check_text("a state's value", value),
            Self::Pay(write) => {
                write.texts().into_iter().try_for_each(|text| check_text("a text of the ledger", text))
            }
            _ => Ok(()),
        }
    }

    /// How much there is to keep, without what every row has.
    fn bytes(&self) -> usize {
        match self {
            Self::Events(events) => events.iter().map(|event| event.data.len()).sum(),
            Self::Rows(rows) => rows.loose_bytes(),
            Self::Enqueue(jobs) => jobs.iter().map(|job| job.payload.len()).sum(),
            Self::Publish(messages) => messages.iter().map(|message| message.payload.len()).sum(),
            Self::PutState { value, .. } => value.as_ref().map_or(0, String::len),
            Self::Pay(write) => write.bytes(),
            _ => 0,
        }
    }

    fn rows(&self) -> usize {
        match self {
            Self::Events(rows) => rows.len(),
            Self::Rows(rows) => rows.len(),
            Self::Blocks { headers, .. } => headers.len(),
            Self::Enqueue(jobs) => jobs.len(),
            Self::Publish(messages) => messages.len(),
            Self::Pay(write) => write.rows(),
            _ => 1,
        }
    }
}

fn check_text(what: &str, text: &str) -> StoreResult<()> {
    check_length(what, text, MAX_PAYLOAD_BYTES)
}

fn check_length(what: &str, text: &str, limit: usize) -> StoreResult<()> {
    if text.len() > limit {
        let told = format!("{what} is at most {limit} bytes long, this one has {}", text.len());
        return Err(StoreError::Invalid(told));
    }
    if text.contains('\0') {
        return Err(StoreError::Invalid(format!("{what} must not hold NUL")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Partition;

    #[test]
    fn a_plan_may_be_longer_than_other_values_and_has_a_limit_too() {
        let put = |key: &str, bytes: usize| {
            let key = StateKey::new(key).expect("a key");
            Commit::of(vec![Write::PutState { key, value: Some("x".repeat(bytes)) }]).validate()
        };
        let plan = plan::key(ChainId::new(137).expect("an id")).expect("a key");
        assert!(put(plan.as_str(), MAX_PLAN_BYTES).is_ok());
        assert!(matches!(put(plan.as_str(), MAX_PLAN_BYTES + 1), Err(StoreError::Invalid(_))));
        assert!(matches!(put("collect/137/sight", MAX_PAYLOAD_BYTES + 1), Err(StoreError::Invalid(_))));
    }

    fn message(payload: &str) -> Write {
        Write::Publish(vec![NewMessage {
            partition: Partition::new("p").expect("a name"),
            idempotency_key: "k".into(),
            topic: "t".into(),
            payload: payload.into(),
        }])
    }

    #[test]
    fn what_no_store_takes_is_refused_beforehand() {
        assert!(Commit::of(vec![message("{}")]).validate().is_ok());
        assert!(Commit::of(vec![message(&"x".repeat(MAX_PAYLOAD_BYTES))]).validate().is_ok());
        for bad in ["x".repeat(MAX_PAYLOAD_BYTES + 1), "a\0b".to_owned()] {
            let refused = Commit::of(vec![message("{}"), message(&bad)]).validate();
            assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
        }
        let fits = MAX_COMMIT_BYTES / MAX_PAYLOAD_BYTES;
        let large = |count| Commit::of(vec![message(&"x".repeat(MAX_PAYLOAD_BYTES)); count]);
        assert!(large(fits).validate().is_ok());
        assert!(large(fits + 1).validate().is_err());
        let headers = vec![
            BlockHeader {
                number: 1,
                hash: Default::default(),
                parent_hash: Default::default(),
                timestamp_s: 0
            };
            MAX_COMMIT_ROWS + 1
        ];
        let chain = ChainId::new(1).expect("an id");
        assert!(Commit::of(vec![Write::Blocks { chain, headers }]).validate().is_err());
    }
}
