//! What payouts have cost: read from receipts, kept with the transaction, divided in a batch.

use std::sync::Arc;

use alloy_primitives::U256;
use windlass_core::payout::ledger::{Intent, IntentState};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::Payouts;
use windlass_core::payout::submit::TransactionChain;
use windlass_core::reader::BlockTag;
use windlass_devnet::chain::ReorgOptions;

use super::direct::Calm;
use super::world::World;
use crate::database::Kind;

/// What the first signer's account has.
async fn balance(world: &World) -> U256 {
    let account = world.chain.accounts()[1].address();
    let chain = world.direct(Arc::new(Calm));
    chain.balance(account, BlockTag::Latest).await.expect("a balance")
}

/// The sum of what payouts have cost, and the transactions.
async fn cost(world: &World, ids: &[PayoutId]) -> (U256, Vec<Intent>) {
    let intents = world.process("looks").ledger.intents_of_payouts(ids).await.expect("read");
    let shares = ids.iter().flat_map(|id| intents.iter().filter_map(|intent| intent.fee_share(*id)));
    (shares.fold(U256::ZERO, |sum, share| sum + share), intents)
}

async fn shares_add_up(kind: Kind) {
    for batch in [1, 50] {
        let world = World::new(kind, |options| options.batch = batch).await;
        let mut ids = Vec::new();
        for number in 0..7 {
            ids.push(world.approved(&format!("invoice-{number}"), 10 + number).await);
        }
        let before = balance(&world).await;
        world.drive(&mut world.process("one"), 40).await;
        let (fees, intents) = cost(&world, &ids).await;
        assert_eq!(fees, before - balance(&world).await, "exactly what the account has paid");
        assert_eq!(intents.len(), if batch == 1 { 7 } else { 1 });
        for intent in intents {
            let receipt = intent.receipt.expect("a receipt");
            let block = world.chain.block(intent.inclusion.expect("a block").block.number).expect("there");
            assert_eq!(receipt.block_timestamp_s, block.header.timestamp);
            assert!(intent.state == IntentState::Mined && receipt.gas_used <= intent.gas_limit);
        }
    }
}

#[tokio::test]
async fn shares_of_fees_add_up_to_what_the_account_paid() {
    shares_add_up(Kind::Sqlite).await;
}

#[tokio::test]
async fn shares_of_fees_add_up_to_what_the_account_paid_postgres() {
    shares_add_up(Kind::Postgres).await;
}

#[tokio::test]
async fn a_reorg_takes_the_receipt_away_with_its_block() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    let id = world.approved("invoice-1", 25).await;
    let before = balance(&world).await;
    let mut process = world.process("one");
    for _ in 0..12 {
        world.round(&mut process).await;
        if world.payout(id).await.state == PayoutState::Confirmed {
            break;
        }
    }
    assert!(cost(&world, &[id]).await.1[0].receipt.is_some());
    let reorg = ReorgOptions { return_to_pool: false, fill: false, ..ReorgOptions::default() };
    world.chain.reorg(4, &reorg).expect("a reorg");
    world.clock.advance_ms(5_000);
    process.tracker.step().await.expect("looked");
    let (fees, intents) = cost(&world, &[id]).await;
    assert_eq!((fees, intents[0].receipt, intents[0].inclusion), (U256::ZERO, None, None));
    world.drive(&mut process, 40).await;
    assert_eq!(cost(&world, &[id]).await.0, before - balance(&world).await);
}
