//! The outbox: nothing leaves except from a row written with the fact it speaks of.
//!
//! Messages are numbered without gaps within their partition and kept once.
//! Every sink has a lane of its own over each partition: it claims the next
//! messages under an epoch, delivers them, and moves its position, so that a sink
//! that is down holds up no other. Order is kept per partition and sink.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::StoreResult;
use crate::job::{JobId, check_attempts};
use crate::lease::Epoch;
use crate::name::{Owner, Partition, Sink};
use crate::retry::Verdict;
use crate::time::Timestamp;

/// The most messages one claim hands out.
pub const MAX_CLAIMED_MESSAGES: u32 = 10_000;

/// A message to be written with the fact it speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// Its serial key.
    pub partition: Partition,
    /// What the receiver can tell a repetition by.
    pub idempotency_key: String,
    /// What kind of fact it is, such as `payout.confirmed`.
    pub topic: String,
    /// The fact, as JSON text.
    pub payload: String,
}

/// A message as it stands in the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its number in the partition, from 1, without gaps.
    pub seq: i64,
    /// What the receiver can tell a repetition by.
    pub idempotency_key: String,
    /// What kind of fact it is.
    pub topic: String,
    /// The fact, as JSON text.
    pub payload: String,
    /// When it was written.
    pub created_at: Timestamp,
}

/// Where a new sink begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SinkStart {
    /// With the oldest message that is still kept.
    Beginning,
    /// With what is written from now on.
    Now,
}

/// A wish for messages to deliver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageClaim {
    /// For which sink.
    pub sink: Sink,
    /// By whom.
    pub owner: Owner,
    /// For how long, unless extended.
    pub ttl: Duration,
    /// At most this many in all.
    pub max_messages: u32,
    /// At most this many of one partition.
    pub max_per_partition: u32,
    /// A partition whose first message was begun this often without an end gives it up.
    pub max_attempts: u32,
}

impl MessageClaim {
    /// Refuses a claim that would give up every message unseen.
    pub fn validate(&self) -> StoreResult<()> {
        check_attempts(self.max_attempts)
    }
}

/// A run of one partition's messages, held for delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedMessages {
    /// The right to move the sink's position.
    pub hold: DeliveryHold,
    /// Their serial key.
    pub partition: Partition,
    /// In order; never empty.
    pub messages: Vec<Message>,
    /// 1 for the first try of the first message.
    pub attempt: u32,
    /// When the partition is free for others again.
    pub lease_until: Timestamp,
}

/// The right to move a sink's position in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DeliveryHold {
    /// The sink's lane over the partition.
    pub lane: i64,
    /// Under which taking of it.
    pub epoch: Epoch,
}

/// A delivery that failed at its first undelivered message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryFailure {
    /// Which sink and partition.
    pub hold: DeliveryHold,
    /// What went wrong.
    pub error: String,
    /// Again later, or never: then this message is set aside and the next one is due.
    pub verdict: Verdict,
}

/// A message that a sink has given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadMessage {
    /// Names it, for a requeue: the sink's lane and the message's number.
    pub id: JobId,
    /// Which sink gave up.
    pub sink: Sink,
    /// Its serial key.
    pub partition: Partition,
    /// Tries made.
    pub attempts: u32,
    /// Why.
    pub reason: String,
    /// When.
    pub died_at: Timestamp,
    /// What it says.
    pub message: Message,
}

/// How far a sink is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkDepth {
    /// Which sink.
    pub sink: Sink,
    /// Messages written and not delivered.
    pub waiting: u64,
    /// Messages given up.
    pub dead: u64,
}
