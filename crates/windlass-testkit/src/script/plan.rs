//! From a step in small numbers to a call in full.

use std::time::Duration;

use windlass_core::commit::{Commit, Fence, Write};
use windlass_core::cursor::CursorRule;
use windlass_core::job::{DeletedJobs, JobClaim, JobFailure, JobFilter, JobId, JobTicket, NewJob};
use windlass_core::outbox::{DeliveryFailure, MessageClaim, SinkStart};
use windlass_core::range::RangeClaim;
use windlass_core::retry::Verdict;

use super::call::Call;
use super::op::{FenceOp, JobOp, Op, Pick, RANGE_CURSOR, WriteOp};
use super::tables;
use super::world::{World, pick};
use crate::make;

/// The queue that gets the jobs of ranges.
const RANGE_QUEUE: &str = "q1";
/// Longer than any run that scripts claim.
const MAX_RUN: usize = 5;
/// Where that cursor begins.
const RANGE_START: i64 = 100;

/// The call a step stands for; `None` when there is nothing it could be about.
pub(super) fn call(world: &World, op: &Op) -> Option<Call> {
    Some(match op {
        Op::Forward { .. } | Op::Back { .. } | Op::Reopen => return None,
        Op::Crash(op) => return call(world, op),
        Op::Acquire { lease, owner, ttl_ms } => Call::AcquireLease {
            name: make::lease_name(&format!("l{lease}")),
            owner: make::owner(&format!("w{owner}")),
            ttl: millis(*ttl_ms),
        },
        Op::ExtendLease { lease, ttl_ms } => {
            Call::ExtendLease { lease: pick(&world.leases, *lease)?.clone(), ttl: millis(*ttl_ms) }
        }
        Op::ReleaseLease { lease } => Call::ReleaseLease(pick(&world.leases, *lease)?.clone()),
        Op::Commit { fence, writes } => commit(world, fence, writes)?,
        Op::Table(op) => tables::call(op),
        Op::RegisterSink { .. }
        | Op::ClaimMessages { .. }
        | Op::Deliver { .. }
        | Op::FailDelivery { .. }
        | Op::RequeueMessages { .. }
        | Op::Prune { .. } => return outbox_call(world, op),
        _ => return job_call(world, op),
    })
}

fn job_call(world: &World, op: &Op) -> Option<Call> {
    Some(match op {
        Op::Claim { queue, owner, ttl_ms, max_jobs, max_per_lane, max_attempts } => {
            Call::ClaimJobs(JobClaim {
                queue: make::queue(&format!("q{queue}")),
                owner: make::owner(&format!("w{owner}")),
                ttl: millis(*ttl_ms),
                max_jobs: u32::from(*max_jobs),
                max_per_lane: u32::from(*max_per_lane),
                max_attempts: u32::from(*max_attempts),
                deleted: DeletedJobs::Skip,
            })
        }
        Op::ClaimRange { owner, size, max_block } => Call::ClaimRange(RangeClaim {
            cursor: make::cursor_name(&format!("c{RANGE_CURSOR}")),
            queue: make::queue(RANGE_QUEUE),
            size: u64::from(*size),
            max_block: u64::from(*max_block),
            owner: make::owner(&format!("w{owner}")),
            ttl: make::ms(60),
        }),
        Op::Complete { run, from, count } => {
            let run = pick(&world.runs, *run)?;
            let from = usize::from(*from).min(run.len() - 1);
            let to = (from + usize::from(*count)).min(run.len());
            Call::CompleteJobs(run[from..to].to_vec())
        }
        Op::CompleteMany { runs } => {
            let mut tickets: Vec<JobTicket> =
                runs.iter().filter_map(|run| pick(&world.runs, *run)).flatten().copied().collect();
            tickets.sort_unstable();
            tickets.dedup();
            Call::CompleteJobs(tickets)
        }
        Op::ExtendJobs { run, ttl_ms } => {
            Call::ExtendJobs { tickets: pick(&world.runs, *run)?.clone(), ttl: millis(*ttl_ms) }
        }
        Op::Fail { run, nth, retry_ms } => Call::FailJob(JobFailure {
            ticket: nth_of(pick(&world.runs, *run)?, *nth),
            error: format!("broke at {}", world.now_ms),
            verdict: verdict(*retry_ms),
        }),
        Op::GiveBack { run } => Call::ReleaseJobs(pick(&world.runs, *run)?.clone()),
        Op::RequeueJobs { dead } => Call::RequeueDeadJobs(dead_ids(world, dead)),
        Op::Show { run, nth } => Call::ShowJob(nth_of(pick(&world.runs, *run)?, *nth).job),
        Op::Page { queue, dead, after, limit } => Call::ListJobs(JobFilter {
            queue: queue.map(|queue| make::queue(&format!("q{queue}"))),
            dead: *dead,
            after: pick(&world.runs, *after).map(|run| run[0].job).filter(|_| !after.is_multiple_of(3)),
            limit: u32::from(*limit),
        }),
        _ => return None,
    })
}

fn outbox_call(world: &World, op: &Op) -> Option<Call> {
    Some(match op {
        Op::RegisterSink { sink, beginning } => Call::RegisterSink {
            sink: make::sink(&format!("s{sink}")),
            start: if *beginning { SinkStart::Beginning } else { SinkStart::Now },
        },
        Op::ClaimMessages { sink, owner, ttl_ms, max_messages, max_per_partition, max_attempts } => {
            Call::ClaimMessages(MessageClaim {
                sink: make::sink(&format!("s{sink}")),
                owner: make::owner(&format!("w{owner}")),
                ttl: millis(*ttl_ms),
                max_messages: u32::from(*max_messages),
                max_per_partition: u32::from(*max_per_partition),
                max_attempts: u32::from(*max_attempts),
            })
        }
        Op::Deliver { run, count } => {
            let (hold, seqs) = pick(&world.holds, *run)?;
            Call::MarkDelivered { hold: *hold, up_to: position(seqs, *count) }
        }
        Op::FailDelivery { run, retry_ms } => Call::FailDelivery(DeliveryFailure {
            hold: pick(&world.holds, *run)?.0,
            error: format!("refused at {}", world.now_ms),
            verdict: verdict(*retry_ms),
        }),
        Op::RequeueMessages { dead } => Call::RequeueDeadMessages(dead_ids(world, dead)),
        Op::Prune { limit } => Call::PruneOutbox(u32::from(*limit)),
        _ => return None,
    })
}

/// Where a sink stands after so many messages of a run.
fn position(seqs: &[i64], count: u8) -> i64 {
    match usize::from(count) {
        0 => seqs[0] - 1,
        MAX_RUN => seqs[seqs.len() - 1] + 1,
        count => seqs[(count - 1).min(seqs.len() - 1)],
    }
}

fn commit(world: &World, fence: &FenceOp, writes: &[WriteOp]) -> Option<Call> {
    let fences = match fence {
        FenceOp::Nothing => Vec::new(),
        FenceOp::Lease(lease) => {
            let lease = pick(&world.leases, *lease)?;
            vec![Fence::Lease { name: lease.name.clone(), epoch: lease.epoch }]
        }
        FenceOp::Job { run, nth } => vec![Fence::Job(nth_of(pick(&world.runs, *run)?, *nth))],
    };
    let writes: Vec<Write> = writes.iter().filter_map(|op| write(world, op)).collect();
    Some(Call::Commit(Commit { fences, writes, ..Commit::default() }))
}

fn write(world: &World, op: &WriteOp) -> Option<Write> {
    let cursor_name = |number: u8| make::cursor_name(&format!("c{number}"));
    Some(match op {
        WriteOp::Put { key, value } => Write::PutState {
            key: make::state_key(&format!("z{key}")),
            value: value.map(|value| format!("{{\"n\":{value}}}")),
        },
        WriteOp::Seed { cursor, at } => Write::SeedCursor {
            name: cursor_name(*cursor),
            start: make::cursor(start_of(*cursor) + i64::from(*at), "seed"),
        },
        WriteOp::Advance { cursor, to, tag, shared } => Write::AdvanceCursor {
            name: cursor_name(*cursor),
            to: make::cursor(start_of(*cursor) + i64::from(*to), &format!("h{tag}")),
            rule: if *shared { CursorRule::Shared } else { CursorRule::Identified },
        },
        WriteOp::Reset { cursor, is_right, to } => {
            let name = cursor_name(*cursor);
            let stored = world.model.cursors.get(&name).filter(|_| *is_right).cloned();
            Write::ResetCursor {
                name,
                expected: stored.unwrap_or_else(|| make::cursor(-1, "nowhere")),
                to: make::cursor(start_of(*cursor) + i64::from(*to), "reset"),
            }
        }
        WriteOp::Enqueue(jobs) => Write::Enqueue(new_jobs(world, jobs)),
        WriteOp::Complete { run, nth } => Write::CompleteJob(nth_of(pick(&world.runs, *run)?, *nth)),
        WriteOp::DropQueue { queue } => Write::DropQueue(make::queue(&format!("q{queue}"))),
        WriteOp::Publish { partitions } => Write::Publish(messages(world, partitions)),
        WriteOp::Events { chain, block, fork, count } => {
            let (chain, block) = (u64::from(*chain) + 1, u64::from(*block));
            Write::Events(
                (0..u32::from(*count)).map(|index| make::event(chain, block, index, *fork)).collect(),
            )
        }
        WriteOp::Blocks { chain, block, fork, count } => {
            let numbers = u64::from(*block)..u64::from(*block + *count);
            Write::Blocks {
                chain: make::chain(u64::from(*chain) + 1),
                headers: numbers.map(|number| make::header(number, *fork)).collect(),
            }
        }
        WriteOp::Retract { chain, from_block } => {
            Write::Retract { chain: make::chain(u64::from(*chain) + 1), from_block: u64::from(*from_block) }
        }
        WriteOp::Table(op) => tables::write(op),
    })
}

fn start_of(cursor: u8) -> i64 {
    if cursor == RANGE_CURSOR { RANGE_START } else { 0 }
}

/// Jobs sorted by lane, so that new lanes are numbered alike whatever order a
/// store creates them in.
fn new_jobs(world: &World, jobs: &[JobOp]) -> Vec<NewJob> {
    let mut jobs = jobs.to_vec();
    jobs.sort_by_key(|job| (job.queue, job.key));
    let new = |(place, job): (usize, &JobOp)| NewJob {
        not_before: job.delay_ms.map(|delay_ms| world.now().after(millis(delay_ms))),
        unique: job.is_unique,
        ..make::job(
            &format!("q{}", job.queue),
            &format!("k{}", job.key),
            &format!("{{\"at\":{},\"place\":{place}}}", world.now_ms),
        )
    };
    jobs.iter().enumerate().map(new).collect()
}

/// Messages sorted by partition, and a new partition only after those before it,
/// for the same reason.
fn messages(world: &World, partitions: &[u8]) -> Vec<windlass_core::outbox::NewMessage> {
    let mut known = world.model.partitions.len();
    let mut numbers = partitions.to_vec();
    numbers.sort_unstable();
    let mut messages = Vec::new();
    for (place, number) in numbers.into_iter().enumerate() {
        let number = usize::from(number).min(known);
        known = known.max(number + 1);
        messages.push(make::message(&format!("p{number}"), &format!("m{}-{place}", world.now_ms)));
    }
    messages
}

fn nth_of(run: &[JobTicket], nth: u8) -> JobTicket {
    run[usize::from(nth).min(run.len() - 1)]
}

fn dead_ids(world: &World, picks: &[Pick]) -> Vec<JobId> {
    let dead: Vec<JobId> = world.model.dead.keys().copied().collect();
    let mut ids: Vec<JobId> = picks.iter().filter_map(|at| pick(&dead, *at)).copied().collect();
    ids.push(JobId { lane: 1, seq: 999_999 });
    ids.dedup();
    ids
}

fn verdict(retry_ms: Option<u16>) -> Verdict {
    retry_ms.map_or(Verdict::Dead, |delay_ms| Verdict::RetryAfter(millis(delay_ms)))
}

fn millis(count: u16) -> Duration {
    make::ms(u64::from(count))
}
