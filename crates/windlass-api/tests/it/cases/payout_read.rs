//! Payouts and the log as they are read: by page, and one with all that belongs to it.

use serde_json::{Value, json};
use windlass_core::payout::ledger::{PayWrite, Payout};
use windlass_core::payout::request::{IdempotencyKey, PayoutId};
use windlass_core::time::Timestamp;
use windlass_testkit::make;

use crate::database::Kind;
use crate::pay::{PayApp, code, message};

/// So many payouts, stored as they are.
pub(super) async fn store_many(paying: &PayApp, count: u32) {
    let one = |number: u32| {
        let mut payout = make::payout(1);
        let at = Timestamp::from_ms(1_000 + i64::from(number));
        payout.request.key = IdempotencyKey::new(format!("many-{number}")).unwrap();
        Payout { id: PayoutId::new(at, 1), created_at: at, updated_at: at, ..payout }
    };
    let all: Vec<Payout> = (0..count).map(one).collect();
    for some in all.chunks(400) {
        paying.write(vec![PayWrite::Payouts(some.to_vec())]).await;
    }
}

fn keys(page: &Value) -> Vec<&str> {
    page["data"].as_array().unwrap().iter().map(|one| one["idempotencyKey"].as_str().unwrap()).collect()
}

pub(super) async fn pages_go_on_where_the_one_before_ended(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    for key in ["a", "b", "c"] {
        paying.create(key, 5).await;
    }
    let first = paying.ok("/api/v1/payouts?limit=2").await;
    assert_eq!((keys(&first), &first["page"]["limit"]), (vec!["a", "b"], &json!(2)));
    let cursor = first["page"]["next_cursor"].as_str().unwrap();
    let rest = paying.ok(&format!("/api/v1/payouts?limit=2&after={cursor}")).await;
    assert_eq!((keys(&rest), &rest["page"]["next_cursor"]), (vec!["c"], &Value::Null));
    let exact = paying.ok("/api/v1/payouts?limit=3").await;
    assert_eq!((keys(&exact).len(), &exact["page"]["next_cursor"]), (3, &Value::Null));
    let id = exact["data"][1]["id"].as_str().unwrap();
    assert_eq!(paying.act(id, "approve", "approver", json!({})).await.0, 200);
    assert_eq!(keys(&paying.ok("/api/v1/payouts?state=APPROVED").await), ["b"]);
    assert_eq!(keys(&paying.ok("/api/v1/payouts?state=PENDING_RISK&limit=1").await), ["a"]);
    for (query, told) in [
        ("limit=0", "invalid_parameter"),
        ("limit=1001", "invalid_parameter"),
        ("limit=1&limit=2", "invalid_parameter"),
        ("state=approved", "invalid_parameter"),
        ("after=x", "invalid_cursor"),
        ("status=APPROVED", "unknown_parameter"),
    ] {
        let (status, body) = paying.get(&format!("/api/v1/payouts?{query}"), "viewer").await;
        assert_eq!((status, code(&body)), (400, told), "{query}: {body}");
    }
}

/// As many as a store answers with at once: whether more follow is asked apart.
pub(super) async fn the_largest_page_knows_whether_it_is_the_last(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    store_many(&paying, 1_000).await;
    let page = paying.ok("/api/v1/payouts?limit=1000").await;
    assert_eq!((keys(&page).len(), &page["page"]["next_cursor"]), (1_000, &Value::Null));
    paying.create("one-more", 5).await;
    let page = paying.ok("/api/v1/payouts?limit=1000").await;
    assert_eq!(keys(&page).len(), 1_000);
    let cursor = page["page"]["next_cursor"].as_str().unwrap();
    assert_eq!(keys(&paying.ok(&format!("/api/v1/payouts?limit=1000&after={cursor}")).await), ["one-more"]);
}

pub(super) async fn a_payout_is_shown_with_all_that_belongs_to_it(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    let id = paying.create("shown", 5).await;
    let body = paying.ok(&format!("/api/v1/payouts/{id}")).await;
    assert_eq!(
        (&body["approvals"], &body["approvalsNeeded"], &body["intents"]),
        (&json!([]), &json!(1), &json!([]))
    );
    assert_eq!(body["advice"]["verdict"], "passes");
    paying.act(&id, "approve", "approver", json!({})).await;
    let submitted = paying.submit(&id, 3).await;
    let body = paying.ok(&format!("/api/v1/payouts/{id}")).await;
    assert_eq!((&body["state"], &body["advice"]), (&json!("SUBMITTED"), &Value::Null));
    assert_eq!(body["requestId"], submitted.request.request_id().to_string());
    assert_eq!(body["approvals"][0]["approver"], "approver");
    let intent = &body["intents"][0];
    assert_eq!(
        (&intent["nonce"], &intent["state"], &intent["gasLimit"]),
        (&json!(3), &json!("OPEN"), &json!(90_000))
    );
    assert_eq!(intent["attempts"].as_array().unwrap().len(), 2);
    assert_eq!(intent["attempts"][1]["hash"], make::attempt(3, 2).hash.to_string());
    assert_eq!(intent["attempts"][1]["maxFee"], u128::MAX.to_string());
    for id in ["018f0000-0000-7000-8000-000000000000", "nothing"] {
        let (status, body) = paying.get(&format!("/api/v1/payouts/{id}"), "viewer").await;
        assert_eq!((status, message(&body)), (404, "request not found"), "{id}");
        let (status, _) = paying.get(&format!("/api/v1/payouts/{id}/audit"), "viewer").await;
        assert_eq!(status, 404, "{id}");
    }
}

pub(super) async fn what_was_done_is_read_by_page(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    let (one, other) = (paying.create("one", 5).await, paying.create("other", 5).await);
    paying.act(&one, "approve", "approver", json!({})).await;
    paying.act(&other, "reject", "admin", json!({"reason": "no"})).await;
    let told = |page: &Value| -> Vec<(String, String)> {
        let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
        let rows = page["data"].as_array().unwrap().iter();
        rows.map(|row| (text(row, "actor"), text(row, "action"))).collect()
    };
    let pair = |actor: &str, action: &str| (actor.to_owned(), action.to_owned());
    let trail = paying.ok(&format!("/api/v1/payouts/{one}/audit")).await;
    let expected = vec![
        pair("operator", "payout.created"),
        pair("approver", "payout.approval"),
        pair("approver", "payout.approved"),
    ];
    let mut seen = told(&trail);
    seen[1..].sort();
    assert_eq!(seen, expected);
    assert!(trail["data"].as_array().unwrap().iter().all(|row| row["subject"] == *one), "{trail}");
    assert_eq!(trail["data"][0]["detail"]["key"], "one", "{trail}");
    let (mut all, mut after) = (Vec::new(), "0".to_owned());
    loop {
        let page = paying.ok(&format!("/api/v1/audit?limit=2&after={after}")).await;
        all.extend(page["data"].as_array().unwrap().iter().map(|row| row["seq"].as_i64().unwrap()));
        match page["page"]["next_cursor"].as_str() {
            Some(next) => after = next.to_owned(),
            None => break,
        }
    }
    let head = paying.ok("/api/v1/audit/head").await;
    assert_eq!(all, (1..=head["seq"].as_i64().unwrap()).collect::<Vec<_>>());
    let last = paying.ok(&format!("/api/v1/audit?after={}", all.len() - 1)).await;
    assert_eq!(
        (told(&last), &last["data"][0]["mac"]),
        (vec![pair("admin", "payout.rejected")], &head["mac"])
    );
    let (status, body) = paying.get("/api/v1/audit?after=-1", "viewer").await;
    assert_eq!((status, code(&body)), (400, "invalid_cursor"));
}
