//! What a port answered, in a form that can be compared.

use windlass_core::chain::BlockHeader;
use windlass_core::commit::Written;
use windlass_core::cursor::Cursor;
use windlass_core::error::StoreError;
use windlass_core::event::LogEvent;
use windlass_core::job::{ClaimedJob, JobId, JobRow, JobTicket, QueueCounts};
use windlass_core::lease::Lease;
use windlass_core::outbox::{ClaimedMessages, DeadMessage, Message, SinkDepth};
use windlass_core::range::BlockRange;
use windlass_core::row_query::SumGroup;
use windlass_core::store::TableInfo;
use windlass_core::table::{EventRow, Identifier};

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Done,
    Flag(bool),
    Count(u64),
    Written(Vec<Written>),
    Lease(Option<Lease>),
    Leases(Vec<Lease>),
    Jobs(Vec<ClaimedJob>),
    Tickets(Vec<JobTicket>),
    Ids(Vec<JobId>),
    Rows(Vec<JobRow>),
    Counts(Vec<QueueCounts>),
    Range(Option<(BlockRange, ClaimedJob)>),
    Cursor(Option<Cursor>),
    Messages(Vec<ClaimedMessages>),
    DeadMessages(Vec<DeadMessage>),
    Depth(Vec<SinkDepth>),
    Events(Vec<LogEvent>),
    Blocks(Vec<BlockHeader>),
    Text(Option<String>),
    Names(Vec<Identifier>),
    Tables(Vec<TableInfo>),
    EventRows(Vec<EventRow>),
    Totals(Vec<SumGroup>),
    Kept(Vec<Message>),
    Refused(String),
    /// The store went away before it answered: the call was carried out, or it was not.
    Lost,
}

impl Answer {
    /// A refusal, without the words that stores choose for themselves.
    pub(super) fn refusal(error: StoreError) -> Self {
        match error {
            StoreError::Unreachable { .. } => Self::Lost,
            StoreError::Invalid(_) => Self::Refused("invalid".to_owned()),
            StoreError::Fenced { epoch, .. } => Self::Refused(format!("fenced, epoch {epoch}")),
            other => Self::Refused(other.to_string()),
        }
    }

    /// Puts what has no order of its own into one.
    pub(super) fn sorted(mut self) -> Self {
        match &mut self {
            Self::Tickets(tickets) => tickets.sort_unstable(),
            Self::DeadMessages(dead) => {
                dead.sort_by(|a, b| {
                    (&a.sink, &a.partition, a.id.seq).cmp(&(&b.sink, &b.partition, b.id.seq))
                });
            }
            _ => {}
        }
        self
    }

    /// Every lane number in it, in order.
    pub(super) fn lanes_mut(&mut self) -> Vec<&mut i64> {
        match self {
            Self::Written(written) => written.iter_mut().flat_map(written_lanes).collect(),
            Self::Jobs(jobs) => jobs.iter_mut().map(|job| &mut job.ticket.job.lane).collect(),
            Self::Tickets(tickets) => tickets.iter_mut().map(|ticket| &mut ticket.job.lane).collect(),
            Self::Ids(ids) => ids.iter_mut().map(|id| &mut id.lane).collect(),
            Self::Rows(rows) => rows.iter_mut().map(|row| &mut row.id.lane).collect(),
            Self::Range(range) => range.iter_mut().map(|(_, job)| &mut job.ticket.job.lane).collect(),
            Self::Messages(runs) => runs.iter_mut().map(|run| &mut run.hold.lane).collect(),
            Self::DeadMessages(dead) => dead.iter_mut().map(|dead| &mut dead.id.lane).collect(),
            _ => Vec::new(),
        }
    }
}

fn written_lanes(written: &mut Written) -> Vec<&mut i64> {
    match written {
        Written::Jobs(ids) => ids.iter_mut().map(|id| &mut id.lane).collect(),
        _ => Vec::new(),
    }
}
