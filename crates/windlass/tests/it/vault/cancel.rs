//! Making sure that a request is never paid.

use alloy_primitives::{B256, U256};
use windlass_core::chain::ChainId;
use windlass_core::commit::{Commit, Write};
use windlass_core::payout::ledger::{PayWrite, Payout};
use windlass_core::payout::request::{IdempotencyKey, PayoutId, PayoutRequest, VaultRef};
use windlass_core::store::{Door, Health};
use windlass_core::time::Timestamp;
use windlass_devnet::chain::LogFilter;
use windlass_store_sqlite::{SqliteOptions, SqliteStore};

use super::world::{STRANGER, World, account};

/// A payout that was asked for, in the folder's database.
async fn payout(world: &World, vault: alloy_primitives::Address) -> Payout {
    payout_with_key(world, vault, &format!("order-{vault}")).await
}

async fn payout_with_key(world: &World, vault: alloy_primitives::Address, key: &str) -> Payout {
    let path = world.folder.path().join("windlass.db");
    let store = SqliteStore::open(SqliteOptions::file(path)).await.expect("a store");
    let request = PayoutRequest {
        vault: VaultRef { chain: ChainId::new(31_337).expect("an id"), address: vault },
        token: world.token,
        to: account(STRANGER),
        amount: U256::from(12_500_000),
        key: IdempotencyKey::new(key).expect("a key"),
    };
    let now = Timestamp::from_ms(1_700_000_000_000);
    let payout =
        Payout::new(PayoutId::new(now, u128::from(vault.0[0]) + key.len() as u128), request, "test", now);
    store
        .commit(Commit::of(vec![Write::Pay(PayWrite::Payouts(vec![payout.clone()]))]))
        .await
        .expect("stored");
    store.close().await;
    payout
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payouts_request_is_cancelled_with_what_it_was_for() {
    let world = World::start().await;
    let payout = payout(&world, world.vault).await;
    let id = payout.id.to_string();
    let ran = world.done(&["cancel", &id, "--dry-run"]);
    let (request, to) = (payout.request.request_id(), payout.request.to);
    for told in
        [format!("requestId  {request}"), format!("to         {to}"), "amount     12.5 DUSD".to_owned()]
    {
        assert!(ran.stdout.contains(&told), "{told}: {}", ran.shown());
    }
    world.done(&["cancel", &id]);
    let logs = world.chain.canonical_logs(&LogFilter::all().address(world.vault));
    let last = logs.last().expect("an event");
    assert_eq!(last.topics()[1], request);
    assert_eq!(U256::from_be_slice(&last.data().data[..32]), U256::from(12_500_000));
    let told = world.refused(&["cancel", &id]);
    assert!(
        told.contains("RequestAlreadyCancelled: request") && told.contains("settled, and stays so"),
        "{told}"
    );
    let told = world.refused(&["cancel", &request.to_string()]);
    assert!(told.contains("RequestAlreadyCancelled"), "by the other id it is the same: {told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_cancelled_that_no_database_knows() {
    let world = World::start().await;
    let id = B256::repeat_byte(7).to_string();
    let ran = world.done(&["cancel", &id]);
    assert!(ran.stderr.contains("no payout of this request is known here"), "{}", ran.shown());
    world.done(&["set-limit", "--token", "DUSD", "--per-payout", "none"]);
    let paid = B256::repeat_byte(8);
    world.pay(paid, account(STRANGER), 5);
    let told = world.refused(&["cancel", &paid.to_string()]);
    assert!(told.contains("RequestAlreadyPaid: request"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payout_of_another_vault_or_of_nobody_is_not_cancelled_here() {
    let world = World::start().await;
    let elsewhere = payout(&world, world.token).await;
    let told = world.refused(&["cancel", &elsewhere.id.to_string()]);
    assert!(told.contains(&format!("is of vault {} on chain 31337", world.token)), "{told}");
    let told = world.refused(&["cancel", "01890a5d-ac96-7b7c-8f3e-0123456789ab"]);
    assert!(told.contains("there is no payout 01890a5d"), "{told}");
    let told = world.refused(&["cancel", "invoice-7"]);
    assert!(told.contains("no payout has the key `invoice-7`"), "{told}");
    assert_eq!(world.run(&["cancel", ""]).code, Some(2));
}

/// As every command that takes a payout's id; also where the key looks like a request's id.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payouts_request_is_cancelled_by_the_payouts_key() {
    let world = World::start().await;
    let hash = B256::repeat_byte(9).to_string();
    for key in ["invoice-7", hash.as_str()] {
        let payout = payout_with_key(&world, world.vault, key).await;
        let ran = world.done(&["cancel", key, "--dry-run"]);
        let told = format!("requestId  {}", payout.request.request_id());
        assert!(ran.stdout.contains(&told), "{key}: {}", ran.shown());
    }
}
