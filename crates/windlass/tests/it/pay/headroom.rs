//! What approvers are shown of the rules, and approvals that are added once more are needed.

use serde_json::Value;

use super::world::{PayWorld, TO, create, json};
use crate::binary::{Folder, Running};
use crate::collect::http::{get, post, url_in};

fn key(folder: &Folder, role: &str, name: &str) -> String {
    let made = folder.run(&["key", "create", "--role", role, "--name", name, "--json"]);
    json(&made)["key"].as_str().expect("a key").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn approvers_see_what_is_left_of_each_limit() {
    let world = PayWorld::start().await;
    let folder = world.folder("[pay.risk]\nmax_per_request = \"25 USDC\"\nmax_daily_total = \"40 USDC\"");
    let first = create(&folder, "first", "20 USDC");
    assert_eq!(folder.run(&["payout", "approve", &first]).code, Some(0));
    let second = create(&folder, "second", "12.5 USDC");
    let day = "  max_daily_total          20 USDC used of 40 USDC, 7.5 USDC left after this payout\n";
    let one = "  max_per_request          0 USDC used of 25 USDC, 12.5 USDC left after this payout\n";
    let recipient = "  max_daily_per_recipient  20 USDC used, no limit\n";
    for args in [
        &["payout", "show", &second][..],
        &["payout", "approve", &second, "--dry-run"],
        &["payout", "approve", &second],
        &["payout", "show", &second],
    ] {
        let ran = folder.run(args);
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
        assert!([day, one, recipient].iter().all(|line| ran.stdout.contains(line)), "{}", ran.shown());
    }
    let shown = folder.run(&["payout", "show", &second]).stdout;
    assert!(shown.contains("APPROVED") && shown.contains("rules        passes\n"), "{shown}");
    let third = create(&folder, "third", "10 USDC");
    let refused = folder.run(&["payout", "approve", &third]);
    let told = "  max_daily_total          exceeded: 32.5 USDC used of 40 USDC, without this payout\n";
    assert!(refused.code == Some(1) && refused.stdout.contains(told), "{}", refused.shown());
    assert!(!folder.run(&["payout", "show", &third]).stdout.contains("max_daily_total  "), "it is decided");
}

/// What the rules say cannot be told then; where the payout stands can.
#[tokio::test(flavor = "multi_thread")]
async fn a_days_sum_that_was_tampered_with_hides_nothing_else_of_a_payout() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let first = create(&folder, "first", "20 USDC");
    assert_eq!(folder.run(&["payout", "approve", &first]).code, Some(0));
    let database = rusqlite::Connection::open(folder.path().join("windlass.db")).expect("the database");
    assert_eq!(database.execute("UPDATE budget SET total = zeroblob(32)", []), Ok(2));
    let shown = folder.run(&["payout", "show", &first, "--json"]);
    assert!(shown.stderr.contains("what the rules say is not known"), "{}", shown.shown());
    let shown = json(&shown);
    assert_eq!((&shown["state"], &shown["advice"]), (&"APPROVED".into(), &Value::Null), "{shown}");
    let (_running, url) = serving(folder.start(&["run", "--role", "api"]));
    let (status, body) = get(&url, &format!("/api/v1/payouts/{first}"));
    let over_http: Value = serde_json::from_str(&body).expect("json");
    assert_eq!((status, &over_http), (200, &shown), "{body}");
}

fn serving(mut running: Running) -> (Running, String) {
    let url = url_in(&running.wait_for("serving what was collected"));
    (running, url)
}

/// The number required is raised after a payout was approved: it waits, and the missing approvals
/// are given over either way.
#[tokio::test(flavor = "multi_thread")]
async fn approvals_are_added_after_the_number_required_was_raised() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let [anna, bert, cora] = ["anna", "bert", "cora"].map(|name| key(&folder, "approver", name));
    let approve = |key: &str, id: &str| {
        json(&folder.run_with(&[("WINDLASS_API_KEY", key)], &["payout", "approve", id, "--json"]))
    };
    let id = create(&folder, "invoice-1", "1 USDC");
    let counts = |answer: &Value| (answer["approvals"].clone(), answer["approvalsNeeded"].clone());
    let first = approve(&anna, &id);
    assert_eq!((counts(&first), &first["payout"]["state"]), ((1.into(), 1.into()), &"APPROVED".into()));

    folder.write("windlass.toml", &world.config("[pay.approval]\napprovers = 3"));
    let (_running, url) = serving(folder.start(&["run", "--role", "pay,api"]));
    let told = "1 valid approvals, and it takes 3";
    let is_held = |payout: &Value| payout["hold"]["reason"].as_str().is_some_and(|why| why.contains(told));
    world.until_payout(&folder, &id, is_held);

    let second = approve(&bert, &id);
    assert_eq!((counts(&second), &second["payout"]["state"]), ((2.into(), 3.into()), &"APPROVED".into()));
    world.chain.mine_many(3);
    assert_eq!(world.paid().0, 0, "one is missing still");
    let (status, body) = post(&url, &format!("/api/v1/payouts/{id}/approve"), Some(&cora), "{}");
    let third: Value = serde_json::from_str(&body).expect("json");
    assert_eq!((status, counts(&third)), (200, (3.into(), 3.into())), "{body}");
    world.until_payout(&folder, &id, |payout| payout["state"] == "CONFIRMED");
    assert_eq!(world.paid().0, 1);
    let mallory = key(&folder, "approver", "mallory");
    let late = folder.run_with(&[("WINDLASS_API_KEY", &mallory)], &["payout", "approve", &id]);
    assert!(late.code == Some(1) && late.stderr.contains("W0603"), "{}", late.shown());
    assert_eq!(folder.run(&["payout", "list", "--to", TO]).stdout.lines().count(), 2);
}
