//! A call of a port as data, so that a store and the model can be asked the same.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::chain::ChainId;
use windlass_core::commit::{Commit, Fence, Write};
use windlass_core::job::{JobClaim, JobFailure, JobFilter, JobId, JobTicket};
use windlass_core::lease::Lease;
use windlass_core::name::{CursorName, LeaseName, Owner, Partition, Sink, StateKey};
use windlass_core::outbox::{DeliveryFailure, DeliveryHold, MessageClaim, SinkStart};
use windlass_core::range::RangeClaim;
use windlass_core::row_query::{Condition, RowQuery, SumQuery};
use windlass_core::table::{Identifier, TableSpec};

/// One call of one port.
#[derive(Debug, Clone)]
pub(super) enum Call {
    Commit(Commit),
    AcquireLease { name: LeaseName, owner: Owner, ttl: Duration },
    ExtendLease { lease: Lease, ttl: Duration },
    ReleaseLease(Lease),
    ListLeases,
    ClaimJobs(JobClaim),
    ExtendJobs { tickets: Vec<JobTicket>, ttl: Duration },
    CompleteJobs(Vec<JobTicket>),
    FailJob(JobFailure),
    ReleaseJobs(Vec<JobTicket>),
    RequeueDeadJobs(Vec<JobId>),
    ListJobs(JobFilter),
    ShowJob(JobId),
    CountJobs,
    ClaimRange(RangeClaim),
    Cursor(CursorName),
    RegisterSink { sink: Sink, start: SinkStart },
    ClaimMessages(MessageClaim),
    MarkDelivered { hold: DeliveryHold, up_to: i64 },
    FailDelivery(DeliveryFailure),
    ListDeadMessages(Option<Sink>),
    RequeueDeadMessages(Vec<JobId>),
    PruneOutbox(u32),
    OutboxDepth,
    Events(ChainId),
    CountEvents(ChainId),
    Blocks(ChainId),
    State(StateKey),
    CreateTables(Vec<Arc<TableSpec>>),
    DropTable(Identifier),
    ListTables,
    Rows(RowQuery),
    CountRows(Identifier, Vec<Condition>),
    SumRows(SumQuery),
    Messages(Partition),
}

impl Call {
    /// Every lane number that the call names.
    pub(super) fn lanes_mut(&mut self) -> Vec<&mut i64> {
        match self {
            Self::Commit(commit) => commit_lanes(commit),
            Self::ExtendJobs { tickets, .. } | Self::CompleteJobs(tickets) | Self::ReleaseJobs(tickets) => {
                tickets.iter_mut().map(|ticket| &mut ticket.job.lane).collect()
            }
            Self::FailJob(failure) => vec![&mut failure.ticket.job.lane],
            Self::RequeueDeadJobs(ids) | Self::RequeueDeadMessages(ids) => {
                ids.iter_mut().map(|id| &mut id.lane).collect()
            }
            Self::ListJobs(filter) => filter.after.iter_mut().map(|id| &mut id.lane).collect(),
            Self::ShowJob(id) => vec![&mut id.lane],
            Self::MarkDelivered { hold, .. } => vec![&mut hold.lane],
            Self::FailDelivery(failure) => vec![&mut failure.hold.lane],
            _ => Vec::new(),
        }
    }
}

fn commit_lanes(commit: &mut Commit) -> Vec<&mut i64> {
    let fences = commit.fences.iter_mut().filter_map(|fence| match fence {
        Fence::Job(ticket) => Some(&mut ticket.job.lane),
        Fence::Lease { .. } => None,
    });
    let writes = commit.writes.iter_mut().filter_map(|write| match write {
        Write::CompleteJob(ticket) => Some(&mut ticket.job.lane),
        _ => None,
    });
    fences.chain(writes).collect()
}
