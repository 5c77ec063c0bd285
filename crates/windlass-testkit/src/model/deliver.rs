//! The outbox, from the side of delivery.

use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::{JobId, bounded_error};
use windlass_core::name::{Partition, Sink};
use windlass_core::outbox::{
    ClaimedMessages, DeadMessage, DeliveryFailure, DeliveryHold, MAX_CLAIMED_MESSAGES, Message, MessageClaim,
};
use windlass_core::retry::Verdict;
use windlass_core::store::{SINK_QUEUE_PREFIX, sink_queue};
use windlass_core::time::Timestamp;

use super::{Lane, Model, OpenJob};

/// The most rows a listing of dead messages returns.
const MAX_LISTED_MESSAGES: u32 = 1_000;

impl Model {
    /// The sink and partition of a lane, if it is one of the outbox.
    pub(super) fn delivery_lane(&self, id: i64) -> Option<(Sink, Partition)> {
        let lane = self.lanes.get(&id)?;
        let sink = lane.queue.strip_prefix(SINK_QUEUE_PREFIX)?;
        Some((Sink::new(sink).ok()?, Partition::new(lane.key.clone()).ok()?))
    }

    /// The kept messages of a lane's partition in a run of numbers that are for its sink.
    fn letters(&self, id: i64, run: std::ops::RangeInclusive<i64>) -> Vec<Message> {
        let Some((sink, name)) = self.delivery_lane(id) else { return Vec::new() };
        if run.is_empty() {
            return Vec::new();
        }
        let for_sink = |kept: &&super::Kept| kept.only_sink.as_ref().is_none_or(|only| *only == sink);
        let kept = self.partitions[&name].kept.range(run).map(|(_, kept)| kept);
        kept.filter(for_sink).map(|kept| kept.message.clone()).collect()
    }

    pub(crate) fn claim_messages(
        &mut self,
        claim: &MessageClaim,
        now: Timestamp,
    ) -> StoreResult<Vec<ClaimedMessages>> {
        claim.validate()?;
        if !self.sinks.contains(&claim.sink) {
            return Err(StoreError::Invalid(format!("sink {} is not registered", claim.sink)));
        }
        let mut left = claim.max_messages.min(MAX_CLAIMED_MESSAGES) as usize;
        let mut runs = Vec::new();
        for lane in self.runnable(&sink_queue(&claim.sink), now, left) {
            if left == 0 {
                break;
            }
            if self.lane(lane).attempts >= claim.max_attempts {
                self.bury_first(lane, None, now);
                self.tally.hit("dead by attempts");
                continue;
            }
            let run = self.deliver_run(lane, left.min(claim.max_per_partition as usize), claim, now);
            left -= run.as_ref().map_or(0, |run| run.messages.len());
            runs.extend(run);
        }
        Ok(runs)
    }

    fn deliver_run(
        &mut self,
        id: i64,
        most: usize,
        claim: &MessageClaim,
        now: Timestamp,
    ) -> Option<ClaimedMessages> {
        let (head, tail) = (self.lane(id).head(), self.lane(id).tail);
        let last = (head + most as i64 - 1).min(tail);
        let messages = self.letters(id, head..=last);
        if (messages.len() as i64) < last - head + 1 {
            self.tally.hit("message for another sink skipped");
        }
        let lane = self.lane(id);
        if messages.is_empty() {
            lane.pass(last);
            lane.free(now);
            return None;
        }
        let stolen = lane.owner.is_some();
        lane.take(&claim.owner, last, now.after(claim.ttl));
        let lane = lane.clone();
        self.tally.hit(if stolen { "expired lane stolen" } else { "lane claimed" });
        Some(ClaimedMessages {
            hold: DeliveryHold { lane: id, epoch: lane.epoch },
            partition: Partition::new(lane.key).expect("it came from a partition"),
            messages,
            attempt: lane.attempts,
            lease_until: lane.available_at,
        })
    }

    fn held(&mut self, hold: DeliveryHold) -> StoreResult<Lane> {
        let stands = |lane: &&Lane| lane.stands(hold.epoch) && lane.queue.starts_with(SINK_QUEUE_PREFIX);
        match self.lanes.get(&hold.lane).filter(stands) {
            Some(lane) => Ok(lane.clone()),
            None => {
                self.tally.hit("zombie delivery refused");
                Err(StoreError::Fenced { what: format!("delivery {}", hold.lane), epoch: hold.epoch.0 })
            }
        }
    }

    pub(crate) fn mark_delivered(
        &mut self,
        hold: DeliveryHold,
        up_to: i64,
        now: Timestamp,
    ) -> StoreResult<()> {
        let lane = self.held(hold)?;
        if !(lane.done..=lane.held).contains(&up_to) {
            self.tally.hit("position outside the claim refused");
            return Err(StoreError::Invalid(format!("{up_to} was not claimed")));
        }
        let rest = self.letters(hold.lane, up_to + 1..=lane.held);
        let up_to = if rest.is_empty() { lane.held } else { up_to };
        self.tally.hit(if rest.is_empty() { "run delivered" } else { "part of a run delivered" });
        self.lane(hold.lane).finish(up_to, now);
        Ok(())
    }

    pub(crate) fn fail_delivery(&mut self, failure: &DeliveryFailure, now: Timestamp) -> StoreResult<()> {
        self.held(failure.hold)?;
        match failure.verdict {
            Verdict::RetryAfter(delay) => {
                let lane = self.lane(failure.hold.lane);
                lane.last_error = Some(bounded_error(&failure.error));
                lane.free(now.after(delay));
                self.tally.hit("retry put off");
            }
            Verdict::Dead => {
                self.bury_first(failure.hold.lane, Some(&failure.error), now);
                self.tally.hit("dead by verdict");
            }
        }
        Ok(())
    }

    /// The first undelivered message of a lane is set aside.
    fn bury_first(&mut self, id: i64, reason: Option<&str>, now: Timestamp) {
        let (head, tail) = (self.lane(id).head(), self.lane(id).tail);
        let first = self.letters(id, head..=tail).into_iter().next().expect("a tried run has a message");
        let entry = OpenJob { payload: first.payload, enqueued_at: first.created_at, not_before: None };
        let letter = Some((first.idempotency_key, first.topic));
        self.bury_letter(JobId { lane: id, seq: first.seq }, reason, entry, letter, now);
    }

    pub(crate) fn list_dead_messages(&self, sink: Option<&Sink>, limit: u32) -> Vec<DeadMessage> {
        let row = |(id, dead): (&JobId, &super::Dead)| {
            let (of, partition) = self.delivery_lane(id.lane)?;
            let (idempotency_key, topic) = dead.letter.clone()?;
            let message = Message {
                seq: id.seq,
                idempotency_key,
                topic,
                payload: dead.payload.clone(),
                created_at: dead.enqueued_at,
            };
            sink.is_none_or(|sink| *sink == of).then(|| DeadMessage {
                id: *id,
                sink: of,
                partition,
                attempts: dead.attempts,
                reason: dead.reason.clone(),
                died_at: dead.died_at,
                message,
            })
        };
        self.dead.iter().filter_map(row).take(limit.clamp(1, MAX_LISTED_MESSAGES) as usize).collect()
    }
}
