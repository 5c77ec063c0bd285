//! Tokens, their limits, and those that came by mistake.

use alloy_primitives::{B256, U256};
use serde_json::Value;

use super::world::{FUNDS, STRANGER, TREASURY, World, account};

fn token(world: &World) -> Value {
    world.shown()["tokens"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|token| token["symbol"] == "DUSD")
        .cloned()
        .expect("it is configured")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_are_set_in_human_amounts() {
    let world = World::start().await;
    let ran =
        world.done(&["set-limit", "--token", "DUSD", "--per-payout", "1000", "--per-day", "12500.5 DUSD"]);
    assert!(ran.stdout.starts_with("done: setToken\n"), "{}", ran.shown());
    let now = token(&world);
    assert_eq!(
        (now["enabled"].as_bool(), now["per_payout"].as_str(), now["per_day"].as_str()),
        (Some(true), Some("1000000000"), Some("12500500000"))
    );
    world.pay(B256::repeat_byte(1), account(STRANGER), 500_000);
    let now = token(&world);
    assert_eq!(
        (now["spent_today"].as_str(), now["remaining_today"].as_str()),
        (Some("500000"), Some("12500000000"))
    );
    assert_eq!(now["balance"].as_str(), Some((FUNDS - 500_000).to_string().as_str()));
    // Amounts are human by address, too; what is left out stays.
    world.done(&["set-limit", "--token", &world.token.to_string(), "--per-payout", "77"]);
    let now = token(&world);
    assert_eq!(
        (now["per_payout"].as_str(), now["per_day"].as_str()),
        (Some("77000000"), Some("12500500000"))
    );
    world.done(&["set-limit", "--token", "dusd", "--per-day", "none", "--disable"]);
    let now = token(&world);
    assert_eq!((now["enabled"].as_bool(), now["ever_enabled"].as_bool()), (Some(false), Some(true)));
    assert_eq!((now["per_payout"].as_str(), now["per_day"].is_null()), (Some("77000000"), true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_that_does_not_fit_is_refused_before_it_is_sent() {
    let world = World::start().await;
    let told = world.refused(&["set-limit", "--token", "DUSD", "--per-payout", "1234567890.123456"]);
    insta::assert_snapshot!("vault_limit_too_precise", told);
    let huge = "9".repeat(40);
    let told = world.refused(&["set-limit", "--token", &world.token.to_string(), "--per-day", &huge]);
    assert!(
        told.contains("is above the largest limit, 1329227995784915872903807060280.344575 DUSD"),
        "{told}"
    );
    for (limit, words) in
        [("0", "a limit of nothing"), ("5 EUR", "no amount of DUSD"), ("1.0000001", "more decimals")]
    {
        let ran = world.run(&["set-limit", "--token", "DUSD", "--per-payout", limit]);
        assert!(ran.code == Some(2) && ran.stderr.contains(words), "{}", ran.shown());
    }
    let ran = world.run(&["set-limit", "--token", &world.other.to_string(), "--per-payout", "1.5"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("decimals"), "{}", ran.shown());
    let told = world.refused(&["set-limit", "--token", "DUSDT", "--per-payout", "1"]);
    assert!(told.contains("`DUSD` is"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_came_by_mistake_is_sent_on() {
    let world = World::start().await;
    let (lost, to) = (world.other.to_string(), account(STRANGER));
    let sweep =
        ["sweep", "--token", &lost, "--to", &to.to_string(), "--amount", "7", "--yes"].map(str::to_owned);
    let sweep: Vec<&str> = sweep.iter().map(String::as_str).collect();
    let told = world.refused(&sweep[..sweep.len() - 1]);
    assert!(told.contains("nothing was sent without --yes") && told.contains("7 base units"), "{told}");
    world.done(&sweep);
    assert_eq!(world.balance(world.other, to), U256::from(7));
    world.done(&["sweep", "--token", &lost, "--to", &to.to_string(), "--yes"]);
    assert_eq!(world.balance(world.other, to), U256::from(FUNDS), "all of it");
    world.done(&["set-limit", "--token", "DUSD", "--per-payout", "1"]);
    let told = world.refused(&["sweep", "--token", "DUSD", "--to", &to.to_string(), "--yes"]);
    assert!(told.contains("TokenNotSweepable: token") && told.contains("emergency-withdraw"), "{told}");
    assert_eq!(world.balance(world.token, account(TREASURY)), U256::ZERO);
}
