//! Asking: the same call, put to the model or to a store.

use windlass_core::error::StoreResult;
use windlass_core::outbox::MAX_CLAIMED_MESSAGES;
use windlass_core::store::{MAX_EVENT_PAGE, Store};
use windlass_core::time::Timestamp;

use super::answer::Answer;
use super::call::Call;
use crate::model::Model;

/// The most dead messages that are listed.
const MAX_LISTED_MESSAGES: u32 = 1_000;

/// What the model answers.
pub(super) fn ask_model(model: &mut Model, call: &Call, now: Timestamp) -> Answer {
    model_answer(model, call, now).unwrap_or_else(Answer::refusal).sorted()
}

/// What a store answers.
pub(super) async fn ask_store(store: &dyn Store, call: &Call) -> Answer {
    store_answer(store, call).await.unwrap_or_else(Answer::refusal).sorted()
}

fn model_answer(model: &mut Model, call: &Call, now: Timestamp) -> StoreResult<Answer> {
    Ok(match call {
        Call::Commit(commit) => Answer::Written(model.commit(commit, now)?),
        Call::AcquireLease { name, owner, ttl } => Answer::Lease(model.acquire_lease(name, owner, *ttl, now)),
        Call::ExtendLease { lease, ttl } => Answer::Lease(Some(model.extend_lease(lease, *ttl, now)?)),
        Call::ReleaseLease(lease) => Answer::Flag(model.release_lease(lease, now)),
        Call::ListLeases => Answer::Leases(model.list_leases()),
        Call::ClaimJobs(claim) => Answer::Jobs(model.claim_jobs(claim, now)?),
        Call::ExtendJobs { tickets, ttl } => Answer::Tickets(model.extend_jobs(tickets, now.after(*ttl))),
        Call::CompleteJobs(tickets) => Answer::Tickets(model.complete_jobs(tickets, now)),
        Call::FailJob(failure) => done(model.fail_job(failure, now)?),
        Call::ReleaseJobs(tickets) => {
            model.release_jobs(tickets, now);
            Answer::Done
        }
        Call::RequeueDeadJobs(ids) => Answer::Ids(model.requeue_dead_jobs(ids, now)),
        Call::ListJobs(filter) => Answer::Rows(model.list_jobs(filter, now)),
        Call::ShowJob(id) => Answer::Rows(model.show_job(*id, now).into_iter().collect()),
        Call::CountJobs => Answer::Counts(model.count_jobs(now)),
        Call::ClaimRange(claim) => Answer::Range(model.claim_range(claim, now)?),
        Call::Cursor(name) => Answer::Cursor(model.cursor(name)),
        Call::RegisterSink { sink, start } => Answer::Flag(model.register_sink(sink, *start, now)),
        Call::ClaimMessages(claim) => Answer::Messages(model.claim_messages(claim, now)?),
        Call::MarkDelivered { hold, up_to } => done(model.mark_delivered(*hold, *up_to, now)?),
        Call::FailDelivery(failure) => done(model.fail_delivery(failure, now)?),
        Call::ListDeadMessages(sink) => {
            Answer::DeadMessages(model.list_dead_messages(sink.as_ref(), MAX_LISTED_MESSAGES))
        }
        Call::RequeueDeadMessages(ids) => Answer::Count(model.requeue_dead_messages(ids, now)),
        Call::PruneOutbox(limit) => Answer::Count(model.prune_outbox(*limit)),
        Call::OutboxDepth => Answer::Depth(model.outbox_depth()),
        Call::Events(chain) => Answer::Events(model.events(*chain, (0, 0), MAX_EVENT_PAGE)),
        Call::CountEvents(chain) => Answer::Count(model.count_events(*chain)),
        Call::Blocks(chain) => Answer::Blocks(model.blocks(*chain, 0, MAX_EVENT_PAGE)),
        Call::State(key) => Answer::Text(model.state(key)),
        Call::CreateTables(tables) => Answer::Names(model.create_tables(tables)?),
        Call::DropTable(name) => Answer::Flag(model.drop_table(name)),
        Call::ListTables => Answer::Tables(model.list_tables()),
        Call::Rows(query) => Answer::EventRows(model.rows(query)?),
        Call::CountRows(name, conditions) => Answer::Count(model.count_rows(name, conditions)?),
        Call::SumRows(query) => Answer::Totals(model.sum_rows(query)?),
        Call::Messages(partition) => Answer::Kept(model.messages(partition, 0, MAX_CLAIMED_MESSAGES)),
    })
}

async fn store_answer(store: &dyn Store, call: &Call) -> StoreResult<Answer> {
    Ok(match call {
        Call::Commit(commit) => Answer::Written(store.commit(commit.clone()).await?),
        Call::AcquireLease { name, owner, ttl } => {
            Answer::Lease(store.acquire_lease(name, owner, *ttl).await?)
        }
        Call::ExtendLease { lease, ttl } => Answer::Lease(Some(store.extend_lease(lease, *ttl).await?)),
        Call::ReleaseLease(lease) => Answer::Flag(store.release_lease(lease).await?),
        Call::ListLeases => Answer::Leases(store.list_leases().await?),
        Call::ClaimJobs(claim) => Answer::Jobs(store.claim_jobs(claim).await?),
        Call::ExtendJobs { tickets, ttl } => Answer::Tickets(store.extend_jobs(tickets, *ttl).await?),
        Call::CompleteJobs(tickets) => Answer::Tickets(store.complete_jobs(tickets).await?),
        Call::FailJob(failure) => done(store.fail_job(failure).await?),
        Call::ReleaseJobs(tickets) => done(store.release_jobs(tickets).await?),
        Call::RequeueDeadJobs(ids) => Answer::Ids(store.requeue_dead_jobs(ids).await?),
        Call::ListJobs(filter) => Answer::Rows(store.list_jobs(filter).await?),
        Call::ShowJob(id) => Answer::Rows(store.show_job(*id).await?.into_iter().collect()),
        Call::CountJobs => Answer::Counts(store.count_jobs().await?),
        Call::ClaimRange(claim) => Answer::Range(store.claim_range(claim).await?),
        Call::Cursor(name) => Answer::Cursor(store.cursor(name).await?),
        Call::RegisterSink { sink, start } => Answer::Flag(store.register_sink(sink, *start).await?),
        Call::ClaimMessages(claim) => Answer::Messages(store.claim_messages(claim).await?),
        Call::MarkDelivered { hold, up_to } => done(store.mark_delivered(*hold, *up_to).await?),
        Call::FailDelivery(failure) => done(store.fail_delivery(failure).await?),
        Call::ListDeadMessages(sink) => {
            Answer::DeadMessages(store.list_dead_messages(sink.as_ref(), MAX_LISTED_MESSAGES).await?)
        }
        Call::RequeueDeadMessages(ids) => Answer::Count(store.requeue_dead_messages(ids).await?),
        Call::PruneOutbox(limit) => Answer::Count(store.prune_outbox(*limit).await?),
        Call::OutboxDepth => Answer::Depth(store.outbox_depth().await?),
        Call::Events(chain) => Answer::Events(store.events(*chain, (0, 0), MAX_EVENT_PAGE).await?),
        Call::CountEvents(chain) => Answer::Count(store.count_events(*chain).await?),
        Call::Blocks(chain) => Answer::Blocks(store.blocks(*chain, 0, MAX_EVENT_PAGE).await?),
        Call::State(key) => Answer::Text(store.state(key).await?),
        Call::CreateTables(tables) => Answer::Names(store.create_tables(tables).await?),
        Call::DropTable(name) => Answer::Flag(store.drop_table(name).await?),
        Call::ListTables => Answer::Tables(store.list_tables().await?),
        Call::Rows(query) => Answer::EventRows(store.rows(query).await?),
        Call::CountRows(name, conditions) => Answer::Count(store.count_rows(name, conditions).await?),
        Call::SumRows(query) => Answer::Totals(store.sum_rows(query).await?),
        Call::Messages(partition) => Answer::Kept(store.messages(partition, 0, MAX_CLAIMED_MESSAGES).await?),
    })
}

fn done((): ()) -> Answer {
    Answer::Done
}
