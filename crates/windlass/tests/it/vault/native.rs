//! The chain's own coin: limits, what `show` tells, and the way to the treasury.

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, TxKind, U256};
use serde_json::Value;

use super::world::{DELAY_BLOCKS, STRANGER, TREASURY, World, account};

const COIN: &str = "\n[pay.token.POL]\nnative = true\n";

/// Whole coins in wei.
fn coins(count: u64) -> U256 {
    U256::from(count) * U256::from(10).pow(U256::from(18))
}

/// Sends coins to the vault, as anybody may.
fn fund(world: &World, count: u64) {
    let from = windlass_devnet::chain::dev_accounts().swap_remove(STRANGER);
    let transaction = TxEip1559 {
        chain_id: world.chain.chain_id(),
        nonce: world.chain.next_nonce(from.address()),
        gas_limit: 50_000,
        max_fee_per_gas: 100_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        to: TxKind::Call(world.vault),
        value: coins(count),
        ..TxEip1559::default()
    };
    let hash = world.chain.send(from.sign(transaction).expect("signed")).expect("taken");
    assert!(world.chain.receipt(hash).expect("mined").inner.status(), "the vault takes coins");
}

fn coin(world: &World) -> Option<Value> {
    let tokens = world.shown()["tokens"].as_array().expect("a list").clone();
    tokens.into_iter().find(|token| token["token"] == Address::ZERO.to_string().as_str())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_of_the_coin_are_set_and_shown() {
    let world = World::with(COIN).await;
    fund(&world, 12);
    let told = world.done(&[
        "set-limit",
        "--token",
        "POL",
        "--per-payout",
        "5",
        "--per-day",
        "7.5 POL",
        "--dry-run",
    ]);
    assert!(told.stdout.contains(&format!("{} (POL)", Address::ZERO)), "{}", told.shown());
    world.done(&["set-limit", "--token", "POL", "--per-payout", "5", "--per-day", "7.5 POL"]);
    let shown = coin(&world).expect("it is configured");
    let text = |key: &str| shown[key].as_str().unwrap_or_default().to_owned();
    assert_eq!((shown["enabled"].as_bool(), text("symbol")), (Some(true), "POL".to_owned()));
    assert_eq!(text("per_payout"), coins(5).to_string());
    assert_eq!(text("balance"), coins(12).to_string());
    let lines = world.done(&["show"]).stdout;
    let line = lines.lines().find(|line| line.starts_with("POL ")).expect("a line").to_owned();
    assert!(["yes", "7.5", "12"].iter().all(|word| line.contains(word)), "{line}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn coins_that_nobody_configured_are_shown() {
    let world = World::start().await;
    assert_eq!(coin(&world), None);
    fund(&world, 2);
    assert_eq!(coin(&world).expect("it holds some")["balance"], coins(2).to_string().as_str());
    assert!(world.done(&["show"]).stdout.contains("the chain's coin"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_coin_is_withdrawn_to_the_treasury_and_never_swept() {
    let world = World::with(COIN).await;
    fund(&world, 12);
    let treasury = account(TREASURY);
    let before = world.chain.balance(treasury);
    let to = account(STRANGER).to_string();
    let told = world.refused(&["sweep", "--token", "POL", "--to", &to, "--yes"]);
    assert!(told.contains("cannot be swept") && told.contains("emergency-withdraw"), "{told}");
    let told = world.refused(&["emergency-withdraw", "--token", "POL", "--yes"]);
    assert!(told.contains("ExpectedPause"), "{told}");
    world.done(&["pause"]);
    world.done(&["emergency-withdraw", "--token", "POL", "--amount", "2.5", "--yes"]);
    let execute = ["execute", "emergency-withdrawal", "--token", "POL", "--yes"];
    assert!(world.refused(&execute).contains("it is too early"));
    assert!(world.done(&["show"]).stdout.contains("announced: 2.5 of POL to the treasury"));
    world.chain.mine_many(DELAY_BLOCKS);
    world.done(&execute);
    assert_eq!(world.chain.balance(treasury) - before, coins(5) / U256::from(2));
    world.done(&["emergency-withdraw", "--token", "POL", "--yes"]);
    world.done(&["cancel", "emergency-withdrawal", "--token", "POL"]);
    world.done(&["emergency-withdraw", "--token", "POL", "--yes"]);
    world.chain.mine_many(DELAY_BLOCKS);
    world.done(&execute);
    assert_eq!(world.chain.balance(treasury) - before, coins(12), "everything");
    assert_eq!(world.chain.balance(world.vault), U256::ZERO);
}
