//! Everything that there is to know.

use super::world::{STRANGER, World, account};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vault_is_shown_whole() {
    let world = World::start().await;
    insta::assert_snapshot!("vault_show_new", world.done(&["show"]).shown());
    world.done(&["set-limit", "--token", "DUSD", "--per-payout", "1000", "--per-day", "2500"]);
    world.done(&["set-limit", "--token", &world.other.to_string(), "--per-day", "9", "--disable"]);
    world.pay(alloy_primitives::B256::repeat_byte(1), account(STRANGER), 250_500_000);
    world.done(&["deny", &account(STRANGER).to_string()]);
    world.done(&["set-risk-signer", &account(STRANGER).to_string()]);
    world.done(&["begin-admin", &account(STRANGER).to_string(), "--yes"]);
    world.done(&["pause"]);
    world.done(&["emergency-withdraw", "--token", "DUSD", "--yes"]);
    insta::assert_snapshot!("vault_show", world.done(&["show"]).shown());
    insta::assert_snapshot!("vault_show_json", world.done(&["show", "--json"]).stdout);
    let ran = world.done(&["show", "--no-events"]);
    assert!(
        ran.stdout.contains("roles                  cannot be told: events were not asked for"),
        "{}",
        ran.shown()
    );
    assert!(!ran.stdout.contains(&world.other.to_string()), "nobody else names it: {}", ran.shown());
}
