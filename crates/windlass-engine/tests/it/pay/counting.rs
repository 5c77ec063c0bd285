//! What is asked of the store: how often, whatever the number of payouts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::error::StoreResult;
use windlass_core::payout::desk::{Created, NewPayout};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::risk::RiskVerdict;
use windlass_core::payout::state::PayoutState;
use windlass_core::store::Store;
use windlass_engine::pay::counts::PayoutCounts;
use windlass_engine::pay::options::PayOptions;
use windlass_engine::pay::submit::Submitted;
use windlass_testkit::hooked::{HookedStore, StoreHook};

use super::direct::Calm;
use super::world::World;
use crate::database::Kind;

/// Counts the calls of a store, by name.
#[derive(Default)]
struct Calls(Mutex<BTreeMap<&'static str, usize>>);

impl Calls {
    fn count(&self, call: &'static str) {
        *self.0.lock().expect("whole").entry(call).or_default() += 1;
    }

    /// The calls since this was asked last.
    fn take(&self) -> BTreeMap<&'static str, usize> {
        std::mem::take(&mut *self.0.lock().expect("whole"))
    }
}

#[async_trait]
impl StoreHook for Calls {
    async fn before(&self, call: &'static str) -> StoreResult<()> {
        self.count(call);
        Ok(())
    }

    async fn after(&self, _: &'static str) -> StoreResult<()> {
        Ok(())
    }

    async fn reading(&self, call: &'static str) -> StoreResult<()> {
        self.count(call);
        Ok(())
    }
}

fn hooked(store: &Arc<dyn Store>) -> (Arc<Calls>, Arc<dyn Store>) {
    let calls = Arc::new(Calls::default());
    (calls.clone(), Arc::new(HookedStore::new(store.clone(), calls)))
}

fn of(calls: &BTreeMap<&'static str, usize>, call: &str) -> usize {
    calls.get(call).copied().unwrap_or(0)
}

fn new_recipients_wait(options: &mut PayOptions) {
    options.rules.new_recipient_hold = Duration::from_secs(60);
}

fn many(world: &World, count: usize) -> Vec<NewPayout> {
    (0..count).map(|number| world.request(&format!("invoice-{number}"), 1).into()).collect()
}

/// The rules are asked by what is read once for all of them, as for one.
async fn a_thousand_payouts_are_asked_for_in_a_few_questions(kind: Kind) {
    let world = World::new(kind, new_recipients_wait).await;
    let (calls, store) = hooked(&world.store);
    let desk = world.desk_of(store);
    desk.create(&[world.request("first", 1)], "asker").await.expect("asked");
    let of_one: usize = calls.take().values().sum();
    let asked = many(&world, 1_000);
    let preview = desk.preview_all(&asked, "asker").await.expect("previewed");
    let of_preview: usize = calls.take().values().sum();
    let created = desk.create(&asked, "asker").await.expect("asked");
    let found = calls.take();
    let of_many: usize = found.values().sum();
    assert_eq!((of(&found, "commit"), of(&found, "paid_to"), of(&found, "budgets")), (1, 1, 2), "{found:?}");
    assert!(of(&found, "now") <= 2, "{found:?}");
    assert!(of_many <= of_one + 10 && of_preview <= of_many, "{of_one}, {of_preview}, {of_many}: {found:?}");
    // In the order of the request, by their ids as well.
    let keys = |created: &[Created]| -> Vec<String> {
        created.iter().map(|one| one.payout.request.key.to_string()).collect()
    };
    assert_eq!(
        (keys(&preview), keys(&created)),
        (keys(&created), many(&world, 1_000).iter().map(|one| one.request.key.to_string()).collect())
    );
    let ids: Vec<PayoutId> = created.iter().map(|one| one.payout.id).collect();
    assert!(ids.is_sorted(), "they are listed as they were asked for");
    assert!(created.iter().all(|one| one.is_new && matches!(one.advice, RiskVerdict::Waits { .. })));
}

#[tokio::test]
async fn a_thousand_payouts_are_asked_for_in_a_few_questions_on_sqlite() {
    a_thousand_payouts_are_asked_for_in_a_few_questions(Kind::Sqlite).await;
}

#[tokio::test]
async fn a_thousand_payouts_on_postgres_are_asked_for_in_a_few_questions() {
    a_thousand_payouts_are_asked_for_in_a_few_questions(Kind::Postgres).await;
}

/// What is checked before the signature is read for all payouts of a step at once.
#[tokio::test]
async fn fifty_payouts_are_checked_in_as_many_questions_as_two() {
    let world = World::new(Kind::Sqlite, |options| {
        new_recipients_wait(options);
        options.batch = 50;
    })
    .await;
    let (calls, store) = hooked(&world.store);
    let mut process = world.process_of("one", store, Arc::new(Calm), 1);
    let mut asked = Vec::new();
    for (round, count) in [2_usize, 50].into_iter().enumerate() {
        for number in 0..count {
            world.approved(&format!("{round}-{number}"), 1).await;
        }
        // New recipients wait no longer; that they are new is known in one question.
        world.clock.advance_ms(61_000);
        calls.take();
        let done = process.submitters[0].step().await.expect("stepped");
        assert!(matches!(done, Submitted::Worked { payouts, .. } if payouts == count), "{done:?}");
        let found = calls.take();
        assert_eq!((of(&found, "paid_to"), of(&found, "approvals")), (1, 1), "{found:?}");
        asked.push(found.values().sum::<usize>());
        for _ in 0..12 {
            world.round(&mut process).await;
        }
    }
    assert!(asked[1] <= asked[0] + 2, "{asked:?}");
}

/// The table is counted once; what has changed since is read from the log.
async fn payouts_are_counted_once_and_followed(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let desk = world.desk();
    desk.create(&many(&world, 300), "asker").await.expect("asked");
    let (calls, store) = hooked(&world.store);
    let mut counts = PayoutCounts::new(store);
    assert_eq!(counts.look().await.expect("counted"), [(PayoutState::PendingRisk, 300)]);
    assert_eq!(of(&calls.take(), "count_payouts"), 1);
    let mut process = world.process("one");
    let paid = world.approved("paid", 5).await;
    let rejected = world.approved("rejected", 5).await;
    desk.reject(rejected, "boss", "no").await.expect("rejected");
    for _ in 0..20 {
        world.round(&mut process).await;
        let told = counts.look().await.expect("looked");
        assert_eq!(told, world.store.count_payouts().await.expect("counted"));
        let found = calls.take();
        assert_eq!((of(&found, "count_payouts"), of(&found, "audit_rows")), (0, 1), "{found:?}");
    }
    assert_eq!(world.payout(paid).await.state, PayoutState::Confirmed);
    // A reorg and whatever leads back is followed too, and everything is counted anew at last.
    world.clock.advance_ms(3_600_000);
    counts.look().await.expect("looked");
    assert_eq!(of(&calls.take(), "count_payouts"), 1);
}

#[tokio::test]
async fn payouts_are_counted_once_and_followed_on_sqlite() {
    payouts_are_counted_once_and_followed(Kind::Sqlite).await;
}

#[tokio::test]
async fn payouts_on_postgres_are_counted_once_and_followed() {
    payouts_are_counted_once_and_followed(Kind::Postgres).await;
}
