//! The outbox, from the side of writing.

use windlass_core::commit::Written;
use windlass_core::job::JobId;
use windlass_core::name::{Partition, Sink};
use windlass_core::outbox::{MAX_CLAIMED_MESSAGES, Message, NewMessage, SinkDepth, SinkStart};
use windlass_core::store::sink_queue;
use windlass_core::time::Timestamp;

use super::{Kept, Model};

impl Model {
    pub(super) fn publish(&mut self, messages: &[NewMessage], now: Timestamp) -> Written {
        // New partitions come into being in the order of their names, so that
        // lanes are numbered alike whatever order a store locks them in.
        let mut names: Vec<&Partition> = messages.iter().map(|message| &message.partition).collect();
        names.sort_unstable();
        for name in names {
            self.partitions.entry(name.clone()).or_default();
            for sink in self.sinks.clone() {
                self.lane_id(&sink_queue(&sink), name.as_str(), now);
            }
        }
        let numbers = messages.iter().map(|new| {
            let message = Message {
                seq: 0,
                idempotency_key: new.idempotency_key.clone(),
                topic: new.topic.clone(),
                payload: new.payload.clone(),
                created_at: now,
            };
            self.append_message(&new.partition, message, None, now)
        });
        Written::Messages(numbers.collect())
    }

    /// Puts a message at the end of its partition and shows it to every sink.
    fn append_message(
        &mut self,
        name: &Partition,
        message: Message,
        only_sink: Option<Sink>,
        now: Timestamp,
    ) -> i64 {
        let partition = self.partitions.entry(name.clone()).or_default();
        partition.tail += 1;
        let seq = partition.tail;
        partition.kept.insert(seq, Kept { message: Message { seq, ..message }, only_sink });
        for sink in self.sinks.clone() {
            let lane = self.lane_id(&sink_queue(&sink), name.as_str(), now);
            self.lane(lane).grow(seq, now);
        }
        seq
    }

    pub(crate) fn register_sink(&mut self, sink: &Sink, start: SinkStart, now: Timestamp) -> bool {
        if !self.sinks.insert(sink.clone()) {
            self.tally.hit("known sink registered again");
            return false;
        }
        let partitions: Vec<(Partition, i64, i64)> =
            self.partitions.iter().map(|(name, p)| (name.clone(), p.floor, p.tail)).collect();
        for (name, floor, tail) in partitions {
            let id = self.lane_id(&sink_queue(sink), name.as_str(), now);
            let lane = self.lane(id);
            lane.tail = tail;
            lane.done = if start == SinkStart::Beginning { floor } else { tail };
            self.tally.hit(if start == SinkStart::Beginning {
                "sink from the beginning"
            } else {
                "sink from now"
            });
        }
        true
    }

    pub(crate) fn requeue_dead_messages(&mut self, ids: &[JobId], now: Timestamp) -> u64 {
        let mut requeued = 0;
        for id in ids {
            let Some((sink, name)) = self.delivery_lane(id.lane) else { continue };
            let Some(dead) = self.dead.remove(id) else { continue };
            let (idempotency_key, topic) = dead.letter.expect("a dead message has a key and a topic");
            let message = Message { seq: 0, idempotency_key, topic, payload: dead.payload, created_at: now };
            self.append_message(&name, message, Some(sink), now);
            self.tally.hit("dead message requeued for its sink");
            requeued += 1;
        }
        requeued
    }

    pub(crate) fn prune_outbox(&mut self, limit: u32) -> u64 {
        let mut left = limit as usize;
        let names: Vec<Partition> = self.partitions.keys().cloned().collect();
        for name in names {
            let positions = self.sinks.iter().filter_map(|sink| {
                self.lane_ids.get(&(sink_queue(sink), name.to_string())).map(|id| self.lanes[id].done)
            });
            let Some(passed) = positions.min() else { continue };
            let partition = self.partitions.get_mut(&name).expect("it was just listed");
            let gone: Vec<i64> = partition.kept.range(..=passed).map(|(seq, _)| *seq).take(left).collect();
            for seq in &gone {
                partition.kept.remove(seq);
                partition.floor = *seq;
            }
            left -= gone.len();
        }
        let pruned = u64::from(limit) - left as u64;
        if pruned > 0 {
            self.tally.hit("outbox pruned");
        }
        pruned
    }

    pub(crate) fn messages(&self, partition: &Partition, after: i64, limit: u32) -> Vec<Message> {
        let kept = self.partitions.get(partition).into_iter().flat_map(|partition| partition.kept.values());
        let behind = kept.filter(|kept| kept.only_sink.is_none() && kept.message.seq > after);
        behind.map(|kept| kept.message.clone()).take(limit.min(MAX_CLAIMED_MESSAGES) as usize).collect()
    }

    pub(crate) fn outbox_depth(&self) -> Vec<SinkDepth> {
        let depth = |sink: &Sink| {
            let queue = sink_queue(sink);
            let lanes: Vec<_> = self.lanes.values().filter(|lane| lane.queue == queue).collect();
            SinkDepth {
                sink: sink.clone(),
                waiting: lanes.iter().map(|lane| (lane.tail - lane.done) as u64).sum(),
                dead: self.dead.keys().filter(|id| lanes.iter().any(|lane| lane.id == id.lane)).count()
                    as u64,
            }
        };
        self.sinks.iter().map(depth).collect()
    }
}
