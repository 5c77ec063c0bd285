//! The same over HTTP: asked for over REST by one, approved over GraphQL by another, and
//! paid by the process that serves both.

use alloy_primitives::U256;
use serde_json::{Value, json};

use super::world::{PayWorld, TO};
use crate::binary::Folder;
use crate::collect::http::{post, url_in};

fn key(folder: &Folder, role: &str, name: &str) -> String {
    let made = folder.run(&["key", "create", "--role", role, "--name", name, "--json"]);
    super::world::json(&made)["key"].as_str().expect("a key").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_is_asked_for_and_approved_over_http_with_keys() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    // Signing needs `development` for its bare key, but nobody may ask without a key here.
    let (operator, approver) = (key(&folder, "operator", "otto"), key(&folder, "approver", "anna"));
    let mut running = folder.start(&["run", "--role", "pay,api"]);
    let url = url_in(&running.wait_for("serving what was collected"));
    let ask = json!({"to": TO, "amount": "1500000", "token": "USDC", "idempotencyKey": "invoice-1"});
    let (status, body) = post(&url, "/api/v1/payouts", Some(&operator), &ask.to_string());
    assert!([200, 201].contains(&status), "{status} {body}");
    let created: Value = serde_json::from_str(&body).expect("json");
    let id = created["payout"]["id"].as_str().or(created["id"].as_str()).expect("an id").to_owned();
    let approve = json!({"query": format!("mutation {{ approvePayoutRequest(id: \"{id}\") {{ status }} }}")});
    let (status, body) = post(&url, "/graphql", Some(&operator), &approve.to_string());
    assert_eq!(status, 403, "{body}");
    let (status, body) = post(&url, "/graphql", Some("wl_nobody"), &approve.to_string());
    assert_eq!(status, 401, "{body}");
    let (status, body) = post(&url, "/graphql", Some(&approver), &approve.to_string());
    assert!(status == 200 && body.contains("APPROVED"), "{status} {body}");
    world.until_payout(&folder, &id, |payout| payout["state"] == "CONFIRMED");
    assert_eq!(world.paid(), (1, U256::from(1_500_000)));
}
