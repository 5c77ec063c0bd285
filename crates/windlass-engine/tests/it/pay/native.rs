//! The chain's own coin out of the vault: recipients that refuse it, a vault that is short of it, rules,
//! approvals, reorgs, and a vault that was deployed before it could pay the coin.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256, hex};
use alloy_sol_types::{SolCall, sol};
use windlass_core::money::{NATIVE_COIN, Token};
use windlass_core::payout::request::{PayoutId, PayoutRequest};
use windlass_core::payout::risk::RiskLimits;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::transaction::ReadTransaction;
use windlass_core::payout::vault::calldata::{self, VaultPayout};
use windlass_engine::pay::reconcile::recheck::{Recheck, Rechecked};
use windlass_engine::pay::submit::Submitted;

use super::world::{FUNDS, Process, World, pauseCall, setTokenCall, unpauseCall};
use crate::database::Kind;

sol! {
    function accept();
}

/// The vault as it was before it could pay the coin.
const PREVIOUS_VAULT: &str = include_str!("../../../../../contracts/test/previous/SettlementVault.json");
/// Decimals with which the sums of these tests read well.
const DECIMALS: u8 = 6;

/// A contract that refuses the coin until it was called once with data.
const RECIPIENT: [u8; 35] = hex!("6017600c60003960176000f336600f5760005460155760006000fd5b60016000555b00");

impl World {
    /// The same world with the chain's own coin in the place of the token.
    pub(crate) fn of_coin(mut self) -> Self {
        let (chain, symbol) = (self.vault.chain, "POL".to_owned());
        let coin = Token { chain, contract: None, symbol, decimals: DECIMALS };
        let options = Arc::make_mut(&mut self.options);
        options.tokens = BTreeMap::from([(NATIVE_COIN, coin)]);
        self.token = NATIVE_COIN;
        self.set_coin(true, 0, 0);
        self.send_coin(0, self.vault.address, U256::from(FUNDS));
        self.chain.mine_many(super::world::FINALITY + 2);
        self
    }

    pub(super) fn set_coin(&self, enabled: bool, payout_limit: u64, day_limit: u64) {
        let (payout_limit, day_limit) = (U256::from(payout_limit), U256::from(day_limit));
        let rules =
            setTokenCall { token: NATIVE_COIN, enabled, payoutLimit: payout_limit, dayLimit: day_limit };
        self.act(0, self.vault.address, &rules);
    }

    /// A contract that does not take the coin yet.
    fn refusing_recipient(&self) -> Address {
        let recipient =
            self.chain.deploy(&self.chain.accounts()[5], Bytes::from(RECIPIENT)).expect("deployed");
        self.chain.mine();
        assert_eq!(self.chain.code(recipient).len(), 23);
        recipient
    }

    async fn approved_to(&self, key: &str, to: Address, amount: u64) -> PayoutId {
        let asked = PayoutRequest { to, ..self.request(key, amount) };
        let id = self.desk().create(&[asked], "asker").await.expect("asked")[0].payout.id;
        self.desk().approve(id, "boss").await.expect("approved");
        id
    }

    async fn hold_of(&self, id: PayoutId) -> String {
        let payout = self.payout(id).await;
        assert_eq!(payout.state, PayoutState::Approved, "{payout:#?}");
        payout.hold.expect("a reason").reason
    }
}

async fn coin(kind: Kind) -> (World, Process) {
    let world = World::new(kind, |_| {}).await.of_coin();
    let process = world.process("one");
    (world, process)
}

#[tokio::test]
async fn the_transaction_calls_the_coins_own_function() {
    let (world, mut process) = coin(Kind::Sqlite).await;
    let id = world.approved("invoice-1", 25).await;
    process.submitters[0].step().await.expect("submitted");
    let request = world.payout(id).await.request;
    let sent = ReadTransaction::read(&world.sent.lock().expect("whole")[0]).expect("a transaction");
    let wanted = VaultPayout::from(&request);
    assert_eq!(wanted.token, NATIVE_COIN);
    assert_eq!(sent.transaction.data, calldata::payout(&wanted));
    world.drive(&mut process, 40).await;
    assert_eq!(world.chain.balance(request.to), U256::from(25));
    world.agrees().await;
}

async fn a_recipient_that_refuses_the_coin_is_paid_once_it_takes_it(kind: Kind) {
    let (world, mut process) = coin(kind).await;
    let recipient = world.refusing_recipient();
    let id = world.approved_to("invoice-1", recipient, 25).await;
    process.submitters[0].step().await.expect("held");
    let reason = world.hold_of(id).await;
    for words in ["CoinTransferFailed", &recipient.to_string(), "refuses the chain's coin"] {
        assert!(reason.contains(words), "{reason}");
    }
    assert!(world.sent.lock().expect("whole").is_empty(), "nothing was signed");
    world.act(0, recipient, &acceptCall {});
    world.clock.advance_ms(20_000);
    world.drive(&mut process, 40).await;
    assert_eq!(world.chain.balance(recipient), U256::from(25));
    world.agrees().await;
}

#[tokio::test]
async fn a_recipient_that_refuses_the_coin_holds_its_payout_on_sqlite() {
    a_recipient_that_refuses_the_coin_is_paid_once_it_takes_it(Kind::Sqlite).await;
}

#[tokio::test]
async fn a_recipient_that_refuses_the_coin_on_postgres_holds_its_payout() {
    a_recipient_that_refuses_the_coin_is_paid_once_it_takes_it(Kind::Postgres).await;
}

#[tokio::test]
async fn a_recipient_that_refuses_the_coin_is_left_out_of_its_batch() {
    let world = World::new(Kind::Sqlite, |options| options.batch = 10).await.of_coin();
    let mut process = world.process("one");
    let recipient = world.refusing_recipient();
    let mut good = Vec::new();
    for number in 0..2 {
        good.push(world.approved(&format!("before-{number}"), 10 + number).await);
    }
    let bad = world.approved_to("refused", recipient, 25).await;
    for number in 0..2 {
        good.push(world.approved(&format!("behind-{number}"), 20 + number).await);
    }
    let done = process.submitters[0].step().await.expect("submitted");
    assert_eq!(done, Submitted::Worked { transactions: 1, payouts: 4, held: 1, ended: 0 });
    assert!(world.hold_of(bad).await.contains("CoinTransferFailed"));
    for _ in 0..12 {
        world.round(&mut process).await;
    }
    for id in good {
        assert!(world.payout(id).await.finalized_at.is_some());
    }
    assert_eq!(world.payments().await.len(), 4);
    world.hold_of(bad).await;
    world.agrees().await;
}

/// Tried out it takes the coin, and when its transaction is mined it no longer does.
#[tokio::test]
async fn a_recipient_that_refuses_after_the_trial_fails_alone() {
    let world = World::new(Kind::Sqlite, |options| options.batch = 10).await.of_coin();
    let mut process = world.process("one");
    let recipient = world.refusing_recipient();
    world.act(0, recipient, &acceptCall {});
    let good = world.approved("invoice-1", 10).await;
    let bad = world.approved_to("refused", recipient, 25).await;
    process.submitters[0].step().await.expect("submitted");
    assert_eq!(world.payout(bad).await.intent, world.payout(good).await.intent, "in one batch");
    // The block of its consent goes, and the batch is mined without it.
    let reorg = windlass_devnet::chain::ReorgOptions {
        return_to_pool: false,
        fill: false,
        ..windlass_devnet::chain::ReorgOptions::default()
    };
    world.chain.reorg(1, &reorg).expect("a reorg");
    for _ in 0..40 {
        world.round(&mut process).await;
    }
    assert_eq!(world.payout(good).await.state, PayoutState::Confirmed, "{:#?}", world.payout(good).await);
    let bad = world.payout(bad).await;
    assert_ne!(bad.state, PayoutState::Confirmed);
    let why = bad.hold.map(|hold| hold.reason).or(bad.reason).expect("a reason");
    assert!(why.contains("CoinTransferFailed"), "{why}");
    assert_eq!(world.payments().await.len(), 1);
}

async fn a_vault_that_is_short_of_the_coin_says_so_and_goes_on_once_it_is_funded(kind: Kind) {
    let (world, mut process) = coin(kind).await;
    let first = world.approved("invoice-1", 250_000).await;
    let second = world.approved("invoice-2", 2_000_000).await;
    process.submitters[0].step().await.expect("submitted");
    assert_eq!(world.payout(first).await.state, PayoutState::Submitted);
    assert_eq!(
        world.hold_of(second).await,
        "the vault holds 1 POL, 0.25 POL are claimed by earlier payouts, and this one takes 2 POL: \
         send it 1.25 POL more"
    );
    for _ in 0..12 {
        world.round(&mut process).await;
    }
    // Figures alone are written again after ten minutes.
    world.clock.advance_ms(601_000);
    process.submitters[0].step().await.expect("held");
    assert!(world.hold_of(second).await.starts_with("the vault holds 0.75 POL"));
    world.add(1_250_000);
    world.clock.advance_ms(20_000);
    world.drive(&mut process, 40).await;
    assert_eq!(world.payout(second).await.state, PayoutState::Confirmed);
    assert_eq!(world.chain.balance(world.vault.address), U256::ZERO);
    world.agrees().await;
}

#[tokio::test]
async fn a_vault_that_is_short_of_the_coin_goes_on_once_funded_on_sqlite() {
    a_vault_that_is_short_of_the_coin_says_so_and_goes_on_once_it_is_funded(Kind::Sqlite).await;
}

#[tokio::test]
async fn a_vault_on_postgres_that_is_short_of_the_coin_goes_on_once_funded() {
    a_vault_that_is_short_of_the_coin_says_so_and_goes_on_once_it_is_funded(Kind::Postgres).await;
}

#[tokio::test]
async fn the_vaults_rules_hold_payouts_of_the_coin() {
    let (world, mut process) = coin(Kind::Sqlite).await;
    world.set_coin(true, 0, 30);
    world.clock.set_ms(world.chain_now_ms());
    let fits = world.approved("invoice-1", 25).await;
    let over = world.approved("invoice-2", 10).await;
    process.submitters[0].step().await.expect("submitted");
    assert_eq!(world.payout(fits).await.state, PayoutState::Submitted);
    let reason = world.hold_of(over).await;
    assert!(reason.starts_with("the vault's day limit leaves 0.00003 POL today"), "{reason}");
    world.drop_all();
    world.set_coin(false, 0, 0);
    world.clock.advance_ms(20_000);
    process.submitters[0].step().await.expect("held");
    let reason = world.hold_of(over).await;
    assert!(reason.contains("TokenNotPayable: the chain's coin is not enabled in the vault"), "{reason}");
    world.set_coin(true, 0, 0);
    world.act(0, world.vault.address, &pauseCall {});
    world.clock.advance_ms(20_000);
    process.submitters[0].step().await.expect("held");
    assert!(world.hold_of(over).await.contains("EnforcedPause"));
    world.act(0, world.vault.address, &unpauseCall {});
    world.clock.advance_ms(20_000);
    world.drive(&mut process, 60).await;
    assert_eq!(world.payments().await.len(), 2);
    world.agrees().await;
}

#[tokio::test]
async fn the_rules_of_the_coin_are_its_own() {
    let world = World::new(Kind::Sqlite, |options| {
        let most = RiskLimits { max_daily_total: Some(U256::from(30)), ..RiskLimits::default() };
        options.rules.tokens.insert(NATIVE_COIN, most);
    });
    let world = world.await.of_coin();
    world.approved("invoice-1", 25).await;
    let created = world.desk().create(&[world.request("invoice-2", 10)], "asker").await.expect("asked");
    let decided = world.desk().approve(created[0].payout.id, "boss").await.expect("decided").payout;
    let reason = decided.reason.unwrap_or_default();
    assert!(reason.starts_with("maxDailyTotal exceeded: 0.000025 POL of 0.00003 POL are paid"), "{reason}");
    world.drive(&mut world.process("one"), 40).await;
    assert_eq!(world.payments().await.len(), 1);
    world.agrees().await;
}

/// The risk signer's approvals are of the coin.
#[tokio::test]
async fn a_vault_that_wants_approvals_pays_the_coin_with_them() {
    for batch in [1, 10] {
        let world = World::with_risk_signer(8, |options| options.batch = batch).await.of_coin();
        world.clock.set_ms(world.chain_now_ms());
        for number in 0..3 {
            world.approved(&format!("invoice-{number}"), 10 + number).await;
        }
        world.drive(&mut world.process("one"), 40).await;
        assert_eq!(world.payments().await.len(), 3);
        let sent = ReadTransaction::read(&world.sent.lock().expect("whole")[0]).expect("a transaction");
        assert_eq!(sent.transaction.data[..4], with_approvals_selector(), "with approvals");
        world.agrees().await;
    }
}

fn with_approvals_selector() -> [u8; 4] {
    sol! {
        struct Payout { bytes32 requestId; address to; uint256 amount; }
        struct Approval { uint256 nonce; uint256 deadline; bytes signature; }
        function payoutCoinBatchWithApprovals(Payout[] payouts, Approval[] approvals);
    }
    payoutCoinBatchWithApprovalsCall::SELECTOR
}

/// The vault's events tell of the coin as of a token: a database that was restored pays nothing twice.
#[tokio::test]
async fn payments_of_the_coin_are_reconciled_from_events() {
    let (world, mut process) = coin(Kind::Sqlite).await;
    let id = world.approved("invoice-1", 25).await;
    world.drive(&mut process, 40).await;
    let request = world.payout(id).await.request;
    let empty = world.restored().await;
    let done = empty.process("two").payer.reconcile(true).await.expect("compared");
    assert_eq!((done.unknown, done.contradictions), (1, 0));
    let payment = &done.unknown_payments[0];
    assert_eq!((payment.token, payment.to, &*payment.amount), (NATIVE_COIN, request.to, "25"));
    // Asked for again, it is found paid, and not paid again.
    let again = empty.approved("invoice-1", 25).await;
    empty.drive(&mut empty.process("three"), 40).await;
    assert_eq!(empty.payout(again).await.state, PayoutState::Confirmed);
    assert_eq!(world.payments().await.len(), 1);
    let mut recheck = Recheck::new(process.payer.clone());
    assert_eq!(recheck.step().await.expect("looked"), Rechecked { payments: 1, ..Rechecked::default() });
}

/// A vault without these functions: the payout says so and waits, and tokens are paid as before.
#[tokio::test]
async fn a_vault_that_cannot_pay_the_coin_is_named() {
    let mut world = World::with_vault(PREVIOUS_VAULT).await;
    Arc::make_mut(&mut world.options).tokens.clear();
    let token = world.token;
    let paid = world.approved("in-dollars", 5).await;
    world.token = NATIVE_COIN;
    let waits = world.approved("in-coins", 25).await;
    world.token = token;
    let mut process = world.process("one");
    for _ in 0..12 {
        world.round(&mut process).await;
    }
    assert!(world.payout(paid).await.finalized_at.is_some());
    let reason = world.hold_of(waits).await;
    assert!(reason.contains("cannot pay the chain's own coin: it was deployed before"), "{reason}");
    assert!(reason.contains("windlass vault deploy"), "{reason}");
}
