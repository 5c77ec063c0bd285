//! A store beside the model: whether they give the same answers and hold the same.

use std::sync::Arc;

use windlass_core::commit::{Commit, Write};
use windlass_core::job::{DeletedJobs, JobClaim, JobFilter, MAX_CLAIMED_JOBS, MAX_LISTED_JOBS};
use windlass_core::outbox::{MAX_CLAIMED_MESSAGES, MessageClaim};
use windlass_core::row_query::{Comparison, Condition, MAX_ROW_PAGE, Place};
use windlass_core::store::Store;
use windlass_core::table::Value;
use windlass_core::time::Timestamp;

use super::answer::Answer;
use super::ask::{ask_model, ask_store};
use super::call::Call;
use super::lanes::Lanes;
use super::op::Op;
use super::tables::TABLES;
use super::world::World;
use crate::harness::Harness;
use crate::make;
use crate::model::Model;

/// After so many steps everything that can be listed is compared.
const STEPS_BETWEEN_LISTINGS: usize = 24;
/// Far enough ahead that every hold and delay is over.
const LONG_AFTER_MS: i64 = 1_000_000;

/// A store under test, the model beside it, and what has been asked so far.
pub(super) struct Pair<'a> {
    harness: &'a dyn Harness,
    store: Arc<dyn Store>,
    lanes: Lanes,
    pub(super) world: World,
    /// Every call and its answer, as text.
    pub(super) transcript: Vec<String>,
}

impl<'a> Pair<'a> {
    pub(super) async fn new(harness: &'a dyn Harness) -> Self {
        let store = harness.open().await;
        let (world, lanes) = (World::new(), Lanes::default());
        Self { harness, store, lanes, world, transcript: Vec::new() }
    }

    /// Runs a whole script; the first difference ends it.
    pub(super) async fn run(&mut self, ops: &[Op], mut seen: impl FnMut()) -> Result<(), String> {
        for (number, op) in ops.iter().enumerate() {
            seen();
            self.step(op).await.map_err(|difference| format!("step {number}, {op:?}: {difference}"))?;
            if number % STEPS_BETWEEN_LISTINGS == STEPS_BETWEEN_LISTINGS - 1 {
                let listed = self.same_listings(&mut self.world.model.clone()).await;
                listed.map_err(|difference| format!("after step {number}: {difference}"))?;
            }
        }
        self.same_listings(&mut self.world.model.clone())
            .await
            .map_err(|text| format!("at the end: {text}"))?;
        self.drain().await.map_err(|difference| format!("when everything is claimed: {difference}"))
    }

    async fn step(&mut self, op: &Op) -> Result<(), String> {
        let before = self.world.model.clone();
        let step = self.world.perform(op);
        self.harness.clock().set_ms(self.world.now_ms);
        if let Some((call, expected)) = step {
            let found = ask_store(&*self.store, &self.lanes.call(&call)).await;
            if found == Answer::Lost {
                self.reopen().await;
                return self.all_or_nothing(before).await;
            }
            self.same(&call, expected, found)?;
        }
        if op.ends_handle() {
            self.reopen().await;
        }
        Ok(())
    }

    async fn reopen(&mut self) {
        self.store = self.harness.crash(self.store.clone()).await;
    }

    /// A call whose answer was lost must have been carried out whole, or not at all.
    async fn all_or_nothing(&mut self, mut before: Model) -> Result<(), String> {
        let lanes = self.lanes.clone();
        let done = self.same_listings(&mut self.world.model.clone()).await;
        let lanes_if_done = std::mem::replace(&mut self.lanes, lanes);
        let undone = self.same_listings(&mut before.clone()).await;
        let was_done = match (done, undone) {
            (Ok(()), Ok(())) => self.was_published(&mut before).await?,
            (Ok(()), Err(_)) => true,
            (Err(_), Ok(())) => false,
            (Err(done), Err(undone)) => {
                return Err(format!("half a call was carried out: not whole, {done}; not nothing, {undone}"));
            }
        };
        if was_done {
            self.lanes = lanes_if_done;
            self.world.model.tally.hit("answer lost, call carried out");
        } else {
            self.world.model = before;
            self.world.model.tally.hit("answer lost, call not carried out");
        }
        Ok(())
    }

    /// Tells by the numbers of further messages whether a call that left no other
    /// trace was carried out: without a sink, nothing shows what was published.
    async fn was_published(&mut self, before: &mut Model) -> Result<bool, String> {
        let names: Vec<String> = self.world.model.partitions.keys().map(ToString::to_string).collect();
        let messages = names.iter().map(|name| make::message(name, "probe")).collect();
        let probe = Call::Commit(Commit::of(vec![Write::Publish(messages)]));
        let found = ask_store(&*self.store, &probe).await;
        let now = self.world.now();
        let done = ask_model(&mut self.world.model, &probe, now);
        if found == done {
            return Ok(true);
        }
        if found == ask_model(before, &probe, now) {
            return Ok(false);
        }
        Err(format!("half a call was carried out: further messages are numbered {found:?}, not {done:?}"))
    }

    fn same(&mut self, call: &Call, expected: Answer, found: Answer) -> Result<(), String> {
        let found = self.lanes.answer(found, &expected);
        self.transcript.push(format!("{call:?} => {expected:?}"));
        if found == expected {
            return Ok(());
        }
        Err(format!("to {call:?}\n  the model answers {expected:?}\n  the store answers {found:?}"))
    }

    /// Compares everything that can be looked at without changing it.
    async fn same_listings(&mut self, model: &mut Model) -> Result<(), String> {
        let now = Timestamp::from_ms(self.world.now_ms);
        for call in listings() {
            let expected = ask_model(model, &call, now);
            let found = ask_store(&*self.store, &call).await;
            self.same(&call, expected, found)?;
        }
        Ok(())
    }

    /// Claims all that is left, long after: the content of the outbox shows only there.
    async fn drain(&mut self) -> Result<(), String> {
        self.world.now_ms += LONG_AFTER_MS;
        self.harness.clock().set_ms(self.world.now_ms);
        for call in claims_of_everything() {
            let expected = self.world.ask(&call);
            let found = ask_store(&*self.store, &call).await;
            self.same(&call, expected, found)?;
        }
        Ok(())
    }
}

fn listings() -> Vec<Call> {
    let jobs = |dead| Call::ListJobs(JobFilter { dead, limit: MAX_LISTED_JOBS, ..JobFilter::default() });
    let mut calls = vec![
        Call::ListLeases,
        Call::CountJobs,
        jobs(false),
        jobs(true),
        Call::OutboxDepth,
        Call::ListDeadMessages(None),
    ];
    calls.extend((0..3).map(|number| Call::Cursor(make::cursor_name(&format!("c{number}")))));
    calls.extend((0..2).map(|number| Call::State(make::state_key(&format!("z{number}")))));
    for chain in [make::chain(1), make::chain(2)] {
        calls.extend([Call::Events(chain), Call::CountEvents(chain), Call::Blocks(chain)]);
    }
    calls.push(Call::ListTables);
    for number in 0..TABLES {
        let name = format!("t{number}");
        // A condition that every row meets has the rows counted, beside the count that is kept.
        let place = Place::Block;
        let any = Condition { place, comparison: Comparison::AtLeast, values: vec![Value::Integer(0)] };
        calls.push(Call::CountRows(make::identifier(&name), vec![any]));
        calls.push(Call::Rows(make::page(&name, MAX_ROW_PAGE)));
    }
    calls.extend((0..4).map(|number| Call::Messages(make::partition(&format!("p{number}")))));
    calls
}

fn claims_of_everything() -> Vec<Call> {
    let jobs = (0..2).map(|number| {
        Call::ClaimJobs(JobClaim {
            queue: make::queue(&format!("q{number}")),
            owner: make::owner("last"),
            ttl: make::ms(1),
            max_jobs: MAX_CLAIMED_JOBS,
            max_per_lane: MAX_CLAIMED_JOBS,
            max_attempts: u32::MAX,
            deleted: DeletedJobs::Skip,
        })
    });
    let messages = (0..3).map(|number| {
        Call::ClaimMessages(MessageClaim {
            sink: make::sink(&format!("s{number}")),
            owner: make::owner("last"),
            ttl: make::ms(1),
            max_messages: MAX_CLAIMED_MESSAGES,
            max_per_partition: MAX_CLAIMED_MESSAGES,
            max_attempts: u32::MAX,
        })
    });
    jobs.chain(messages).collect()
}
