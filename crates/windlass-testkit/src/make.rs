//! Short ways to say the values that cases are made of.

mod pay;
mod table;

use std::time::Duration;

use windlass_core::chain::{Address, B256, BlockHeader, BlockRef, Bytes, ChainId};
use windlass_core::cursor::Cursor;
use windlass_core::event::{LogEvent, Topics};
use windlass_core::job::{DeletedJobs, JobClaim, NewJob};
use windlass_core::name::{CursorName, LaneKey, LeaseName, Owner, Partition, Queue, Sink, StateKey};
use windlass_core::outbox::{MessageClaim, NewMessage};

pub use self::pay::{
    AUDIT_KEY, attempt, audit_entry, budget_key, inclusion, intent, intent_id, payout, vault,
};
pub use self::table::{
    EVERY_KIND, condition, contract, identifier, page, row, row_head, row_key, rows, sum, table, table_of,
};

macro_rules! named {
    ($($(#[$doc:meta])* $make:ident -> $name:ident;)*) => {$(
        $(#[$doc])*
        pub fn $make(text: &str) -> $name {
            $name::new(text).expect("cases use valid names")
        }
    )*};
}

named! {
    /// A queue.
    queue -> Queue;
    /// A lane's key.
    key -> LaneKey;
    /// A lease's name.
    lease_name -> LeaseName;
    /// An owner.
    owner -> Owner;
    /// A cursor's name.
    cursor_name -> CursorName;
    /// A partition.
    partition -> Partition;
    /// A sink.
    sink -> Sink;
    /// A state key.
    state_key -> StateKey;
}

/// So many milliseconds.
pub const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// A chain.
pub fn chain(id: u64) -> ChainId {
    ChainId::new(id).expect("cases use valid chains")
}

/// A position.
pub fn cursor(primary: i64, secondary: &str) -> Cursor {
    Cursor::new(primary, secondary).expect("cases use valid positions")
}

/// A job without conditions.
pub fn job(queue_name: &str, lane: &str, payload: &str) -> NewJob {
    NewJob::new(queue(queue_name), key(lane), payload)
}

/// How long claims made here last.
pub const TTL_MS: u64 = 1_000;

/// A claim of one job a lane, with room for attempts.
pub fn claim(queue_name: &str, claimant: &str, max_jobs: u32) -> JobClaim {
    JobClaim {
        queue: queue(queue_name),
        owner: owner(claimant),
        ttl: ms(TTL_MS),
        max_jobs,
        max_per_lane: 1,
        max_attempts: 10,
        deleted: DeletedJobs::Skip,
    }
}

/// A message.
pub fn message(partition_name: &str, idempotency_key: &str) -> NewMessage {
    NewMessage {
        partition: partition(partition_name),
        idempotency_key: idempotency_key.to_owned(),
        topic: "case.happened".to_owned(),
        payload: format!("{{\"of\":\"{idempotency_key}\"}}"),
    }
}

/// A claim of messages, as many of a partition as there is room for.
pub fn delivery(sink_name: &str, claimant: &str, max_messages: u32) -> MessageClaim {
    MessageClaim {
        sink: sink(sink_name),
        owner: owner(claimant),
        ttl: ms(TTL_MS),
        max_messages,
        max_per_partition: max_messages,
        max_attempts: 10,
    }
}

/// The hash of a block of a fork; forks are told apart by `fork`.
pub fn block_hash(number: u64, fork: u8) -> B256 {
    let mut bytes = [fork; 32];
    bytes[24..].copy_from_slice(&number.to_be_bytes());
    B256::from(bytes)
}

/// A log, with every field set to something of its own.
pub fn event(chain_id: u64, number: u64, log_index: u32, fork: u8) -> LogEvent {
    let topics = [B256::repeat_byte(0xa0), block_hash(number, 1), B256::with_last_byte(log_index as u8)];
    LogEvent {
        chain: chain(chain_id),
        block: BlockRef { number, hash: block_hash(number, fork) },
        log_index,
        timestamp_s: 1_600_000_000 + number,
        transaction_hash: block_hash(number, 0x77),
        address: Address::repeat_byte(0x42),
        topics: Topics::new(&topics[..log_index as usize % 4]).expect("at most three topics"),
        data: Bytes::from(vec![log_index as u8; log_index as usize % 5]),
    }
}

/// A header on top of its own fork's parent.
pub fn header(number: u64, fork: u8) -> BlockHeader {
    BlockHeader {
        number,
        hash: block_hash(number, fork),
        parent_hash: block_hash(number.saturating_sub(1), fork),
        timestamp_s: 1_600_000_000 + number,
    }
}
