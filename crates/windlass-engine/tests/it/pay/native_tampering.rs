//! Payouts and transactions that are altered from a token to the chain's own coin, out of a vault that
//! holds and pays both: nothing is paid, and it is reported.

use alloy_primitives::{Address, U256};
use windlass_core::money::NATIVE_COIN;
use windlass_core::payout::ledger::ForgeryKind;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::vault::calldata::{self, VaultPayout};

use super::tampering::Break;
use super::world::FUNDS;
use crate::database::Kind;

/// A break into a world whose vault pays its token, and would pay the coin.
async fn with_both(kind: Kind) -> Break {
    let case = Break::new(kind, |options| {
        options.tokens.clear();
        options.bump_after_blocks = 1;
    });
    let case = case.await;
    case.world.set_coin(true, 0, 0);
    case.world.send_coin(0, case.world.vault.address, U256::from(FUNDS));
    case
}

async fn a_payout_that_was_altered_from_a_token_to_the_coin_is_not_paid(kind: Kind) {
    let mut case = with_both(kind).await;
    let id = case.world.approved("invoice-1", 5).await;
    let coin = case.intruder.bytes(Address::ZERO.as_slice());
    let kept = "CREATE TABLE kept AS SELECT * FROM payout";
    case.sql(&[kept, &format!("UPDATE payout SET token = {coin} WHERE id = '{id}'")]).await;
    case.rounds(5).await;
    assert_eq!(case.paid().await, 0);
    assert!(case.refused().contains(&("payout", ForgeryKind::Altered)), "{:?}", case.refused());
    assert!(case.world.sent.lock().expect("whole").is_empty(), "nothing was signed");
    case.sql(&["DELETE FROM payout", "INSERT INTO payout SELECT * FROM kept"]).await;
    case.enqueue(id).await;
    case.world.clock.advance_ms(60_000);
    case.rounds(20).await;
    assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    assert_eq!(case.world.chain.balance(case.world.vault.address), U256::from(FUNDS), "no coin left");
}

/// The call of a stored transaction is exchanged for one that pays the same in the coin.
async fn a_transaction_that_was_altered_to_the_coin_is_not_signed(kind: Kind) {
    let mut case = with_both(kind).await;
    let id = case.world.approved("invoice-1", 5).await;
    case.process.submitters[0].step().await.expect("signed");
    let request = case.world.payout(id).await.request;
    let in_coin = VaultPayout { token: NATIVE_COIN, ..VaultPayout::from(&request) };
    let call = case.intruder.bytes(&calldata::payout(&in_coin));
    let before = case.world.sent.lock().expect("sent").len();
    case.sql(&["CREATE TABLE kept AS SELECT * FROM intent", &format!("UPDATE intent SET data = {call}")])
        .await;
    // Blocks pass over it, so that more would be offered for it.
    for _ in 0..3 {
        case.world.clock.advance_ms(10_000);
        let _ = case.process.tracker.step().await;
    }
    assert!(case.refused().contains(&("intent", ForgeryKind::Altered)), "{:?}", case.refused());
    assert_eq!(case.world.sent.lock().expect("sent").len(), before, "nothing was signed or sent");
    case.sql(&["DELETE FROM intent", "INSERT INTO intent SELECT * FROM kept"]).await;
    case.rounds(20).await;
    assert_eq!(case.world.payout(id).await.state, PayoutState::Confirmed);
    assert_eq!(case.world.chain.balance(case.world.vault.address), U256::from(FUNDS), "no coin left");
}

#[tokio::test]
async fn a_payout_altered_to_the_coin_is_refused_on_sqlite() {
    a_payout_that_was_altered_from_a_token_to_the_coin_is_not_paid(Kind::Sqlite).await;
}

#[tokio::test]
async fn a_payout_on_postgres_altered_to_the_coin_is_refused() {
    a_payout_that_was_altered_from_a_token_to_the_coin_is_not_paid(Kind::Postgres).await;
}

#[tokio::test]
async fn a_transaction_altered_to_the_coin_is_refused_on_sqlite() {
    a_transaction_that_was_altered_to_the_coin_is_not_signed(Kind::Sqlite).await;
}

#[tokio::test]
async fn a_transaction_on_postgres_altered_to_the_coin_is_refused() {
    a_transaction_that_was_altered_to_the_coin_is_not_signed(Kind::Postgres).await;
}
