//! What paying must survive: each line of the list is a case of its own. Kills at every
//! point, database errors and many workers at once are in `kills` and `schedules`.

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use async_trait::async_trait;
use futures_util::future::join_all;
use tokio::sync::Mutex;
use windlass_core::money::Token;
use windlass_core::name::Owner;
use windlass_core::payout::desk::DeskError;
use windlass_core::payout::ledger::IntentState;
use windlass_core::payout::request::PayoutRequest;
use windlass_core::payout::risk::RiskLimits;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::vault::answer::VaultStatus;
use windlass_core::reader::ChainError;
use windlass_core::store::Leases;
use windlass_devnet::chain::ReorgOptions;
use windlass_engine::pay::submit::Submitted;
use windlass_testkit::clock::ManualClock;

use super::direct::{Calm, ChainHook};
use super::world::{DevSigner, Process, World, mintCall};
use crate::database::Kind;

#[tokio::test]
async fn a_lease_that_is_stolen_in_mid_sign() {
    /// Somebody else takes the account over while it signs.
    struct Thief(Arc<dyn windlass_core::store::Store>, Arc<ManualClock>, String);
    #[async_trait]
    impl ChainHook for Thief {
        async fn before(&self, call: &'static str) -> Result<(), ChainError> {
            if call == "sign" {
                self.1.advance_ms(61_000);
                let name = windlass_core::name::LeaseName::new(self.2.clone()).expect("a name");
                let thief = Owner::new("thief").expect("a name");
                let ttl = std::time::Duration::from_secs(1);
                Leases::acquire_lease(&*self.0, &name, &thief, ttl).await.expect("asked").expect("taken");
            }
            Ok(())
        }
        async fn after(&self, _: &'static str) -> Result<(), ChainError> {
            Ok(())
        }
    }
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    let account = world.chain.accounts()[1].address();
    let lease = format!("pay/31337/signer/{account:#x}");
    let thief = Arc::new(Thief(world.store.clone(), world.clock.clone(), lease));
    let mut process = world.process_of("one", world.store.clone(), thief, 1);
    let refused = process.submitters[0].step().await.expect_err("fenced");
    assert!(refused.is_overtaken(), "{refused:?}");
    assert_eq!(world.payout(id).await.state, PayoutState::Approved);
    assert!(world.sent.lock().expect("whole").is_empty(), "what is not stored is not sent");
    world.clock.advance_ms(61_000);
    world.drive(&mut world.process("two"), 40).await;
    assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    world.agrees().await;
}

#[tokio::test]
async fn another_transaction_takes_the_nonce_for_good() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process_of("one", world.store.clone(), Arc::new(Calm), 2);
    process.submitters[0].step().await.expect("submitted");
    let intent = world.payout(id).await.intent.expect("submitted");
    let ours = world.store.attempts(intent).await.expect("read")[0].hash;
    // The key is used elsewhere: its transaction with the same nonce is mined instead.
    assert!(world.chain.drop_transaction(ours));
    world.act(1, world.token, &mintCall { to: world.token, amount: U256::ONE });
    for _ in 0..20 {
        world.round(&mut process).await;
        if world.store.intent(intent).await.expect("read").expect("there").state != IntentState::Open {
            break;
        }
    }
    let ended = world.store.intent(intent).await.expect("read").expect("there");
    assert_eq!(ended.state, IntentState::Displaced);
    let signers = world.store.list_signers().await.expect("read");
    let halted: Vec<_> = signers.iter().filter(|signer| signer.halted.is_some()).collect();
    assert_eq!((halted.len(), halted[0].address), (1, intent.signer));
    assert_eq!(world.told("signer.halted").await.len(), 1);
    // The other account pays it.
    world.drive(&mut process, 60).await;
    let payout = world.payout(id).await;
    assert_eq!(payout.state, PayoutState::Confirmed);
    assert_ne!(payout.intent.expect("paid").signer, intent.signer);
    world.agrees().await;
}

/// Nothing is given up while the other transaction could still go with its block.
#[tokio::test]
async fn another_transaction_has_the_nonce_in_a_block_that_goes() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("submitted");
    let intent = world.payout(id).await.intent.expect("submitted");
    let ours = world.store.attempts(intent).await.expect("read")[0].hash;
    assert!(world.chain.drop_transaction(ours));
    world.act(1, world.token, &mintCall { to: world.token, amount: U256::ONE });
    world.clock.advance_ms(5_000);
    process.tracker.step().await.expect("looked");
    assert_eq!(world.store.intent(intent).await.expect("read").expect("there").state, IntentState::Open);
    let reorg = ReorgOptions { return_to_pool: false, fill: false, ..ReorgOptions::default() };
    world.chain.reorg(1, &reorg).expect("a reorg");
    world.drive(&mut process, 40).await;
    let payout = world.payout(id).await;
    assert_eq!((payout.state, payout.intent), (PayoutState::Confirmed, Some(intent)));
    world.agrees().await;
}

#[tokio::test]
async fn a_bump_and_the_original_race() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("submitted");
    let intent = world.payout(id).await.intent.expect("submitted");
    let first = world.store.attempts(intent).await.expect("read")[0].clone();
    process.tracker.step().await.expect("sent once more, and taken");
    assert!(world.chain.drop_transaction(first.hash));
    world.chain.mine_many(4);
    world.clock.advance_ms(5_000);
    process.tracker.step().await.expect("bumped");
    let second = world.store.attempts(intent).await.expect("read")[1].clone();
    // The original is mined after all.
    assert!(world.chain.drop_transaction(second.hash));
    world.chain.send_raw(&first.raw).expect("taken");
    world.drive(&mut process, 40).await;
    let payout = world.payout(id).await;
    assert_eq!(payout.inclusion.expect("paid").transaction, first.hash);
    world.agrees().await;
}

#[tokio::test]
async fn midnight_moves_the_reservation_or_the_payout_waits() {
    let limits = RiskLimits { max_daily_total: Some(U256::from(100)), ..RiskLimits::default() };
    let world = World::new(Kind::Sqlite, |options| options.rules.limits = limits).await;
    let day = 86_400_000;
    let midnight = (world.clock.now_ms() / day + 1) * day;
    world.clock.set_ms(midnight - 1_000);
    let first = world.approved("invoice-1", 60).await;
    let second = world.approved("invoice-2", 40).await;
    let desk = world.desk();
    let third = desk.create(&[world.request("invoice-3", 1)], "asker").await;
    let third = third.expect("asked")[0].payout.id;
    let refused = desk.approve(third, "boss").await.expect("decided").payout;
    assert_eq!(refused.state, PayoutState::Rejected);
    assert!(refused.reason.is_some_and(|reason| reason.starts_with("maxDailyTotal exceeded: ")));
    // Nothing is signed before midnight; afterwards today's budget has to hold them.
    world.clock.set_ms(midnight + 1_000);
    let fourth = world.approved("invoice-4", 50).await;
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("stepped");
    let states = [first, second, fourth];
    let mut held = 0;
    for id in states {
        let payout = world.payout(id).await;
        if payout.state == PayoutState::Approved {
            assert_eq!(payout.hold.expect("a reason").until.expect("tomorrow").as_ms(), midnight + day);
            held += 1;
        } else {
            assert_eq!(payout.budget_day.expect("today").start().as_ms(), midnight);
        }
    }
    assert_eq!(held, 1, "60 does not fit beside 50 and 40");
    for _ in 0..20 {
        world.round(&mut process).await;
    }
    assert!(!world.is_settled().await, "one waits for tomorrow");
    world.clock.set_ms(midnight + day + 1_000);
    world.drive(&mut process, 40).await;
    world.agrees().await;
}

#[tokio::test]
async fn eight_approve_at_once_and_the_days_budget_holds() {
    eight_approve_at_once(Kind::Sqlite).await;
}

#[tokio::test]
async fn eight_approve_at_once_on_postgres_and_the_days_budget_holds() {
    eight_approve_at_once(Kind::Postgres).await;
}

async fn eight_approve_at_once(kind: Kind) {
    let limits = RiskLimits { max_daily_total: Some(U256::from(50)), ..RiskLimits::default() };
    let world = World::new(kind, |options| options.rules.limits = limits).await;
    let desk = world.desk();
    let mut ids = Vec::new();
    for number in 0..8 {
        let request = world.request(&format!("invoice-{number}"), 10);
        let created = desk.create(&[request], "asker").await.expect("asked");
        ids.push(created[0].payout.id);
    }
    let approvals = ids.iter().map(|id| {
        let (desk, id) = (desk.clone(), *id);
        tokio::spawn(async move { desk.approve(id, "boss").await.expect("decided").payout.state })
    });
    let mut approved = 0;
    for approval in approvals.collect::<Vec<_>>() {
        approved += usize::from(approval.await.expect("no panic") == PayoutState::Approved);
    }
    assert_eq!(approved, 5, "on {kind:?}");
}

#[tokio::test]
async fn eight_workers_at_once_pay_a_burst_once_each() {
    a_burst(Kind::Sqlite).await;
}

#[tokio::test]
async fn eight_workers_at_once_on_postgres_pay_a_burst_once_each() {
    a_burst(Kind::Postgres).await;
}

async fn a_burst(kind: Kind) {
    let world = World::new(kind, |options| options.batch = 4).await;
    for number in 0..40 {
        world.approved(&format!("invoice-{number}"), 10 + number).await;
    }
    let new =
        |number: usize| world.process_of(&format!("worker-{number}"), world.store.clone(), Arc::new(Calm), 3);
    let mut processes: Vec<Process> = (0..8).map(new).collect();
    for _ in 0..40 {
        join_all(processes.iter_mut().map(|process| world.steps(process))).await;
        world.pass_time();
        if world.is_settled().await {
            break;
        }
    }
    assert!(world.is_settled().await);
    assert_eq!(world.payments().await.len(), 40);
    world.agrees().await;
}

#[tokio::test]
async fn the_same_key_is_the_same_payout_and_another_amount_is_refused() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let desk = world.desk();
    let ask = |amount| world.request("invoice-1", amount);
    let first = desk.create(&[ask(25)], "asker").await.expect("asked").remove(0);
    let again = desk.create(&[ask(25)], "somebody else").await.expect("known").remove(0);
    assert_eq!((first.is_new, again.is_new, first.payout.id), (true, false, again.payout.id));
    let refused = desk.create(&[ask(26)], "asker").await.expect_err("other parameters");
    assert!(matches!(refused, DeskError::KeyReused { id, .. } if id == first.payout.id));
    let own = desk.approve(first.payout.id, "asker").await.expect_err("their own");
    assert!(matches!(own, DeskError::OwnPayout));
}

#[tokio::test]
async fn a_failed_payout_is_tried_again_as_another_one() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let desk = world.desk();
    let id = world.approved("invoice-1", 25).await;
    let key = |text: &str| windlass_core::payout::request::IdempotencyKey::new(text).expect("a key");
    let unknown = VaultStatus::Unknown;
    assert!(matches!(desk.retry(id, key("again"), unknown, "asker").await, Err(DeskError::NotEnded(_))));
    desk.reject(id, "boss", "wrong").await.expect("rejected");
    let paid = desk.retry(id, key("again"), VaultStatus::Paid, "asker").await;
    assert!(matches!(paid, Err(DeskError::MightBePaid(_))));
    let retried = desk.retry(id, key("again"), unknown, "asker").await.expect("asked").payout;
    let same = desk.retry(id, key("again"), unknown, "asker").await.expect("known").payout;
    assert_eq!(same.id, retried.id);
    let twice = desk.retry(id, key("once more"), unknown, "asker").await;
    assert!(matches!(twice, Err(DeskError::RetriedAlready(by)) if by == retried.id));
    assert_eq!(retried.retry_of, Some(id));
    assert_ne!(retried.request.request_id(), world.payout(id).await.request.request_id());
    desk.approve(retried.id, "boss").await.expect("approved");
    world.drive(&mut world.process("one"), 40).await;
    assert_eq!(world.payout(retried.id).await.state, PayoutState::Confirmed);
    world.agrees().await;
}

#[tokio::test]
async fn a_reservation_is_held_once_however_long_it_waits() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let day = 86_400_000;
    let midnight = (world.clock.now_ms() / day + 1) * day;
    world.clock.set_ms(midnight - 60_000);
    let id = world.approved("invoice-1", 25).await;
    world.act(0, world.vault.address, &super::world::pauseCall {});
    world.clock.set_ms(midnight + 60_000);
    let mut process = world.process("one");
    for _ in 0..5 {
        process.submitters[0].step().await.expect("held");
        world.clock.advance_ms(20_000);
        world.budgets_agree().await;
    }
    let held = world.payout(id).await;
    assert_eq!(held.version, 3, "a reason that stays is written once");
    world.act(0, world.vault.address, &super::world::unpauseCall {});
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(id).await.budget_day.expect("today").start().as_ms(), midnight);
    world.agrees().await;
}

#[tokio::test]
async fn a_vault_that_is_short_of_funds_holds_what_it_cannot_pay_besides_what_is_on_its_way() {
    for batch in [1, 10] {
        let world = World::new(Kind::Sqlite, |options| options.batch = batch).await;
        let mut ids = Vec::new();
        for number in 0..3 {
            ids.push(world.approved(&format!("invoice-{number}"), 400_000).await);
        }
        let mut process = world.process("one");
        // Twice before anything is mined: what is on its way counts.
        for _ in 0..2 {
            process.submitters[0].step().await.expect("submitted");
            world.clock.advance_ms(20_000);
        }
        let last = world.payout(ids[2]).await;
        assert_eq!(last.state, PayoutState::Approved);
        assert_eq!(
            last.hold.expect("a reason").reason,
            "the vault holds 1 DUSD, 0.8 DUSD are claimed by earlier payouts, and this one takes 0.4 DUSD: \
             send it 0.2 DUSD more"
        );
        for _ in 0..10 {
            world.round(&mut process).await;
        }
        world.add(500_000);
        world.drive(&mut process, 60).await;
        assert_eq!(world.payments().await.len(), 3);
        world.agrees().await;
    }
}

/// An address in `[pay.token]` may be wrong, or of another chain.
#[tokio::test]
async fn a_token_without_a_contract_holds_up_its_own_payouts_alone() {
    let nowhere = Address::repeat_byte(0x77);
    let world = World::new(Kind::Sqlite, |options| {
        let token = options.tokens.values().next().expect("a token").clone();
        options.tokens.insert(nowhere, Token { contract: Some(nowhere), symbol: "GONE".to_owned(), ..token });
    })
    .await;
    let desk = world.desk();
    let asked = PayoutRequest { token: nowhere, ..world.request("gone", 5) };
    let waiting = desk.create(&[asked], "asker").await.expect("asked")[0].payout.id;
    desk.approve(waiting, "boss").await.expect("approved");
    let paid = world.approved("invoice-1", 5).await;
    let mut process = world.process("one");
    for _ in 0..30 {
        world.round(&mut process).await;
    }
    assert_eq!(world.payout(paid).await.state, PayoutState::Confirmed);
    let waiting = world.payout(waiting).await;
    assert_eq!(waiting.state, PayoutState::Approved);
    let reason = waiting.hold.expect("a reason").reason;
    assert!(reason.contains("does not tell what the vault holds"), "{reason}");
}

/// Another account signs what is left of the vault's balance while this one signs.
struct OtherAccountSigns {
    world: Arc<World>,
    other: Mutex<Option<Process>>,
}

#[async_trait]
impl ChainHook for OtherAccountSigns {
    async fn before(&self, call: &'static str) -> Result<(), ChainError> {
        if call == "sign"
            && let Some(mut other) = self.other.lock().await.take()
        {
            self.world.approved("invoice-2", 600_000).await;
            let done = other.submitters[0].step().await.expect("submitted");
            assert!(matches!(done, Submitted::Worked { transactions: 1, .. }), "{done:?}");
        }
        Ok(())
    }

    async fn after(&self, _: &'static str) -> Result<(), ChainError> {
        Ok(())
    }
}

async fn two_accounts_at_once(kind: Kind) {
    let world = Arc::new(World::new(kind, |_| {}).await);
    let first = world.approved("invoice-1", 600_000).await;
    let key = DevSigner(world.chain.accounts().swap_remove(2), Arc::new(Calm));
    let other = world.process_signing("two", world.store.clone(), Arc::new(Calm), vec![Arc::new(key)]);
    let hook = Arc::new(OtherAccountSigns { world: world.clone(), other: Mutex::new(Some(other)) });
    let mut process = world.process_of("one", world.store.clone(), hook.clone(), 1);
    process.submitters[0].step().await.expect_err("the other account was quicker");
    assert!(hook.other.lock().await.is_none(), "the other account was at work");
    for _ in 0..10 {
        world.round(&mut process).await;
    }
    assert_eq!(world.payments().await.len(), 1, "the vault holds enough for one of them");
    let waiting = world.payout(first).await;
    assert_eq!(waiting.state, PayoutState::Approved);
    assert!(waiting.hold.expect("a reason").reason.contains("send it 0.2 DUSD more"));
    world.add(500_000);
    world.drive(&mut process, 60).await;
    assert_eq!(world.payout(first).await.state, PayoutState::Confirmed);
}

#[tokio::test]
async fn two_accounts_do_not_both_claim_the_last_of_a_balance() {
    two_accounts_at_once(Kind::Sqlite).await;
}

#[tokio::test]
async fn two_accounts_on_postgres_do_not_both_claim_the_last_of_a_balance() {
    two_accounts_at_once(Kind::Postgres).await;
}

/// A nonce that was used elsewhere in a block that goes is free again: behind it nothing of
/// ours would ever be mined.
#[tokio::test]
async fn an_account_does_not_begin_behind_what_may_go() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    world.act(1, world.token, &mintCall { to: world.token, amount: U256::ONE });
    let mut process = world.process("one");
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::NotYet);
    let reorg = ReorgOptions { return_to_pool: false, fill: false, ..ReorgOptions::default() };
    world.chain.reorg(1, &reorg).expect("a reorg");
    world.drive(&mut process, 40).await;
    let payout = world.payout(id).await;
    assert_eq!(payout.state, PayoutState::Confirmed);
    assert_eq!(payout.intent.expect("paid").nonce, 0, "the first that nobody used");
    world.agrees().await;
}

#[tokio::test]
async fn an_account_whose_transactions_are_on_their_way_elsewhere_does_not_begin() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    world.send_as(1, world.token, &mintCall { to: world.token, amount: U256::ONE });
    let mut process = world.process("one");
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::NotYet);
    assert!(world.store.list_signers().await.expect("read").is_empty());
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(id).await.state, PayoutState::Confirmed);
    world.agrees().await;
}
