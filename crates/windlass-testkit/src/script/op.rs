//! What a random script is made of: steps in small numbers.
//!
//! A step names things by small indexes, and tickets by how long ago they were
//! handed out. So it makes sense in any state, shrinks well, and reaches for old
//! tickets as readily as for new ones: zombies come for free.

use proptest::prelude::*;

use super::tables::{TableOp, TableWrite};

/// How far back in what was handed out; wraps around.
pub(super) type Pick = u8;

/// The cursor behind which ranges are claimed.
pub(super) const RANGE_CURSOR: u8 = 2;

/// One step of a script.
#[derive(Debug, Clone)]
pub(super) enum Op {
    Forward {
        by_ms: u16,
    },
    Back {
        by_ms: u16,
    },
    Reopen,
    /// The step is carried out, but who asked dies before it hears the answer.
    Crash(Box<Op>),
    Acquire {
        lease: u8,
        owner: u8,
        ttl_ms: u16,
    },
    ExtendLease {
        lease: Pick,
        ttl_ms: u16,
    },
    ReleaseLease {
        lease: Pick,
    },
    Claim {
        queue: u8,
        owner: u8,
        ttl_ms: u16,
        max_jobs: u8,
        max_per_lane: u8,
        max_attempts: u8,
    },
    ClaimRange {
        owner: u8,
        size: u8,
        max_block: u8,
    },
    Complete {
        run: Pick,
        from: u8,
        count: u8,
    },
    CompleteMany {
        runs: Vec<Pick>,
    },
    ExtendJobs {
        run: Pick,
        ttl_ms: u16,
    },
    Fail {
        run: Pick,
        nth: u8,
        retry_ms: Option<u16>,
    },
    GiveBack {
        run: Pick,
    },
    RequeueJobs {
        dead: Vec<Pick>,
    },
    Page {
        queue: Option<u8>,
        dead: bool,
        after: Pick,
        limit: u8,
    },
    Show {
        run: Pick,
        nth: u8,
    },
    RegisterSink {
        sink: u8,
        beginning: bool,
    },
    ClaimMessages {
        sink: u8,
        owner: u8,
        ttl_ms: u16,
        max_messages: u8,
        max_per_partition: u8,
        max_attempts: u8,
    },
    /// Up to the so-manieth message; none, and one too many, are possible.
    Deliver {
        run: Pick,
        count: u8,
    },
    FailDelivery {
        run: Pick,
        retry_ms: Option<u16>,
    },
    RequeueMessages {
        dead: Vec<Pick>,
    },
    Prune {
        limit: u8,
    },
    Commit {
        fence: FenceOp,
        writes: Vec<WriteOp>,
    },
    Table(TableOp),
}

/// What a commit stands on.
#[derive(Debug, Clone)]
pub(super) enum FenceOp {
    Nothing,
    Lease(Pick),
    Job { run: Pick, nth: u8 },
}

/// One write of a commit.
#[derive(Debug, Clone)]
pub(super) enum WriteOp {
    Put { key: u8, value: Option<u8> },
    Seed { cursor: u8, at: u8 },
    Advance { cursor: u8, to: u8, tag: u8, shared: bool },
    Reset { cursor: u8, is_right: bool, to: u8 },
    Enqueue(Vec<JobOp>),
    Complete { run: Pick, nth: u8 },
    DropQueue { queue: u8 },
    Publish { partitions: Vec<u8> },
    Events { chain: u8, block: u8, fork: u8, count: u8 },
    Blocks { chain: u8, block: u8, fork: u8, count: u8 },
    Retract { chain: u8, from_block: u8 },
    Table(TableWrite),
}

/// A job to put in.
#[derive(Debug, Clone)]
pub(super) struct JobOp {
    pub(super) queue: u8,
    pub(super) key: u8,
    pub(super) delay_ms: Option<u16>,
    pub(super) is_unique: bool,
}

impl Op {
    /// Whether the handle is gone after this step.
    pub(super) fn ends_handle(&self) -> bool {
        matches!(self, Self::Reopen | Self::Crash(_))
    }
}

fn ttl() -> impl Strategy<Value = u16> {
    20u16..200
}

fn retry() -> impl Strategy<Value = Option<u16>> {
    prop_oneof![2 => (0u16..120).prop_map(Some), 1 => Just(None)]
}

/// Time passes, goes back, and handles are lost.
pub(super) fn weather() -> BoxedStrategy<Op> {
    prop_oneof![
        6 => (1u16..150).prop_map(|by_ms| Op::Forward { by_ms }),
        2 => (1u16..80).prop_map(|by_ms| Op::Back { by_ms }),
        1 => Just(Op::Reopen),
    ]
    .boxed()
}

/// Leases come and go.
pub(super) fn lease_op() -> BoxedStrategy<Op> {
    prop_oneof![
        5 => (0u8..3, 0u8..3, ttl()).prop_map(|(lease, owner, ttl_ms)| Op::Acquire { lease, owner, ttl_ms }),
        2 => (any::<Pick>(), ttl()).prop_map(|(lease, ttl_ms)| Op::ExtendLease { lease, ttl_ms }),
        1 => any::<Pick>().prop_map(|lease| Op::ReleaseLease { lease }),
    ]
    .boxed()
}

fn claim_op() -> BoxedStrategy<Op> {
    (0u8..2, 0u8..3, ttl(), 1u8..8, 1u8..4, 1u8..5)
        .prop_map(|(queue, owner, ttl_ms, max_jobs, max_per_lane, max_attempts)| Op::Claim {
            queue,
            owner,
            ttl_ms,
            max_jobs,
            max_per_lane,
            max_attempts,
        })
        .boxed()
}

/// Jobs are claimed, finished, failed, given back and requeued.
pub(super) fn job_op() -> BoxedStrategy<Op> {
    let range = (0u8..3, 1u8..4, 98u8..112);
    let page = (prop::option::of(0u8..2), any::<bool>(), any::<Pick>(), 1u8..6);
    prop_oneof![
        8 => claim_op(),
        3 => range.prop_map(|(owner, size, max_block)| Op::ClaimRange { owner, size, max_block }),
        4 => (any::<Pick>(), 0u8..2, 1u8..3).prop_map(|(run, from, count)| Op::Complete { run, from, count }),
        2 => prop::collection::vec(any::<Pick>(), 1..4).prop_map(|runs| Op::CompleteMany { runs }),
        2 => (any::<Pick>(), ttl()).prop_map(|(run, ttl_ms)| Op::ExtendJobs { run, ttl_ms }),
        4 => (any::<Pick>(), 0u8..2, retry()).prop_map(|(run, nth, retry_ms)| Op::Fail { run, nth, retry_ms }),
        1 => any::<Pick>().prop_map(|run| Op::GiveBack { run }),
        2 => prop::collection::vec(any::<Pick>(), 1..4).prop_map(|dead| Op::RequeueJobs { dead }),
        1 => (any::<Pick>(), 0u8..3).prop_map(|(run, nth)| Op::Show { run, nth }),
        1 => page.prop_map(|(queue, dead, after, limit)| Op::Page { queue, dead, after, limit }),
    ]
    .boxed()
}

/// Messages are claimed, delivered, failed, requeued and pruned.
pub(super) fn outbox_op() -> BoxedStrategy<Op> {
    let claim = (0u8..3, 0u8..3, ttl(), 1u8..9, 1u8..5, 1u8..4);
    prop_oneof![
        1 => (0u8..3, any::<bool>()).prop_map(|(sink, beginning)| Op::RegisterSink { sink, beginning }),
        6 => claim.prop_map(|(sink, owner, ttl_ms, max_messages, max_per_partition, max_attempts)| {
            Op::ClaimMessages { sink, owner, ttl_ms, max_messages, max_per_partition, max_attempts }
        }),
        6 => (any::<Pick>(), 0u8..6).prop_map(|(run, count)| Op::Deliver { run, count }),
        2 => (any::<Pick>(), retry()).prop_map(|(run, retry_ms)| Op::FailDelivery { run, retry_ms }),
        2 => prop::collection::vec(any::<Pick>(), 1..3).prop_map(|dead| Op::RequeueMessages { dead }),
        1 => (1u8..20).prop_map(|limit| Op::Prune { limit }),
    ]
    .boxed()
}

/// A commit of several writes, on a fence or on nothing.
pub(super) fn commit_op(write: BoxedStrategy<WriteOp>) -> BoxedStrategy<Op> {
    let fence = prop_oneof![
        3 => Just(FenceOp::Nothing),
        1 => any::<Pick>().prop_map(FenceOp::Lease),
        1 => (any::<Pick>(), 0u8..2).prop_map(|(run, nth)| FenceOp::Job { run, nth }),
    ];
    (fence, prop::collection::vec(write, 1..4))
        .prop_map(|(fence, writes)| Op::Commit { fence, writes })
        .boxed()
}

/// Facts: state, cursors, logs and headers.
pub(super) fn fact_write() -> BoxedStrategy<WriteOp> {
    let advance = (0u8..2, 0u8..40, 0u8..2, any::<bool>());
    let logs = (0u8..2, 0u8..5, 0u8..8, 1u8..4)
        .prop_map(|(chain, block, fork, count)| (chain, block, fork / 5, count));
    prop_oneof![
        3 => (0u8..2, prop::option::of(0u8..9)).prop_map(|(key, value)| WriteOp::Put { key, value }),
        2 => (0u8..3, 0u8..4).prop_map(|(cursor, at)| WriteOp::Seed { cursor, at }),
        2 => advance.prop_map(|(cursor, to, tag, shared)| WriteOp::Advance { cursor, to, tag, shared }),
        1 => (0u8..3, any::<bool>(), 0u8..6)
            .prop_map(|(cursor, is_right, to)| WriteOp::Reset { cursor, is_right, to }),
        1 => logs.clone().prop_map(|(chain, block, fork, count)| WriteOp::Events { chain, block, fork, count }),
        1 => logs.prop_map(|(chain, block, fork, count)| WriteOp::Blocks { chain, block, fork, count }),
        1 => (0u8..2, 1u8..7).prop_map(|(chain, from_block)| WriteOp::Retract { chain, from_block }),
    ]
    .boxed()
}

/// The cursor of ranges begins, and goes back to what was claimed before.
pub(super) fn range_write() -> BoxedStrategy<WriteOp> {
    prop_oneof![
        (0u8..4).prop_map(|at| WriteOp::Seed { cursor: RANGE_CURSOR, at }),
        (0u8..3).prop_map(|to| WriteOp::Reset { cursor: RANGE_CURSOR, is_right: true, to }),
    ]
    .boxed()
}

/// Jobs in, and jobs done.
pub(super) fn job_write() -> BoxedStrategy<WriteOp> {
    let delay = prop_oneof![3 => Just(None), 1 => (0u16..400).prop_map(Some)];
    let job = (0u8..2, 0u8..4, delay, 0u8..8).prop_map(|(queue, key, delay_ms, unique)| JobOp {
        queue,
        key,
        delay_ms,
        is_unique: unique == 0,
    });
    prop_oneof![
        12 => prop::collection::vec(job, 1..5).prop_map(WriteOp::Enqueue),
        1 => (0u8..2).prop_map(|queue| WriteOp::DropQueue { queue }),
        4 => (any::<Pick>(), 0u8..2).prop_map(|(run, nth)| WriteOp::Complete { run, nth }),
    ]
    .boxed()
}

/// Messages out.
pub(super) fn message_write() -> BoxedStrategy<WriteOp> {
    prop::collection::vec(0u8..4, 1..5).prop_map(|partitions| WriteOp::Publish { partitions }).boxed()
}
