//! What is noted on payouts, and what the rules say of them, in JSON and GraphQL.

use serde_json::{Value, json};

use crate::database::Kind;
use crate::pay::{PayApp, TO, code, message};

const PATH: &str = "/api/v1/payouts";

fn noted(key: &str, memo: &str, reference: &str) -> Value {
    json!({"to": TO, "amount": "5", "token": "USDC", "idempotencyKey": key, "memo": memo, "reference": reference})
}

pub(super) async fn a_memo_and_a_reference_are_kept_as_they_were_given(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    let (status, first) = paying.post(PATH, "operator", noted("a", "rent, \"March\"", "2041")).await;
    assert_eq!(status, 201, "{first}");
    let payout = first["payout"].clone();
    assert_eq!((&payout["memo"], &payout["reference"]), (&json!("rent, \"March\""), &json!("2041")));
    assert_eq!(payout["decimalAmount"], "0.000005");
    // They are not what the key stands for: the payout of before is the answer, as it is stored.
    let before = paying.footprint().await;
    for other in [
        noted("a", "another", "9999"),
        json!({"to": TO, "amount": "5", "token": "USDC", "idempotencyKey": "a"}),
    ] {
        let (status, again) = paying.post(PATH, "operator", other).await;
        assert_eq!((status, &again["isNew"], &again["payout"]), (200, &json!(false), &payout), "{again}");
    }
    assert_eq!(paying.footprint().await, before);
    let id = payout["id"].as_str().unwrap();
    assert_eq!(paying.ok(&format!("{PATH}/{id}")).await["memo"], payout["memo"]);
    assert_eq!(paying.act(id, "cancel", "operator", json!({"reason": "a slip"})).await.0, 200);
    let (status, retried) = paying.act(id, "retry", "operator", json!({"idempotencyKey": "b"})).await;
    assert_eq!((status, &retried["payout"]["reference"]), (201, &json!("2041")), "{retried}");
    assert_eq!(retried["payout"]["memo"], payout["memo"]);
}

pub(super) async fn payouts_are_listed_by_their_reference(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    for (key, reference) in [("a", "march"), ("b", "april"), ("c", "march")] {
        assert_eq!(paying.post(PATH, "operator", noted(key, "m", reference)).await.0, 201);
    }
    paying.create("d", 5).await;
    let keys = |rows: &Value, path: &str| -> Vec<String> {
        let text = |row: &Value| row.pointer(path).unwrap().as_str().unwrap().to_owned();
        rows.as_array().unwrap().iter().map(text).collect()
    };
    let listed = paying.ok(&format!("{PATH}?reference=march")).await;
    assert_eq!(keys(&listed["data"], "/idempotencyKey"), ["a", "c"]);
    assert!(paying.ok(&format!("{PATH}?reference=mar")).await["data"].as_array().unwrap().is_empty());
    let (status, body) = paying.get(&format!("{PATH}?reference=%20x"), "viewer").await;
    assert_eq!((status, code(&body)), (400, "invalid_parameter"), "{body}");
    let query = |reference: &str| {
        format!(
            r#"{{ payoutRequests(first: 9, reference: "{reference}") {{ edges {{ node {{ idempotencyKey memo reference }} }} }} }}"#
        )
    };
    let (_, answer) = paying.graphql(Some("viewer"), &query("march")).await;
    let edges = &answer["data"]["payoutRequests"]["edges"];
    assert_eq!(keys(edges, "/node/idempotencyKey"), ["a", "c"], "{answer}");
    assert_eq!(edges[0]["node"]["memo"], "m");
    let (_, answer) = paying.graphql(Some("viewer"), &query("")).await;
    assert!(message(&answer).starts_with("field `reference`"), "{answer}");
    let create = format!(
        r#"mutation {{ createPayoutRequest(to: "{TO}", amount: "7", asset: "USDC", memo: "rent", reference: "r-9") {{ memo reference decimalAmount fee }} }}"#
    );
    let (_, answer) = paying.graphql(Some("operator"), &create).await;
    assert_eq!(
        answer["data"]["createPayoutRequest"],
        json!({"memo": "rent", "reference": "r-9", "decimalAmount": "0.000007", "fee": null}),
        "{answer}"
    );
}

/// A rule's figures.
fn rule(advice: &Value, name: &str) -> (Value, Value, Value) {
    let rules = advice["rules"].as_array().unwrap_or_else(|| panic!("no rules: {advice}"));
    let rule = rules.iter().find(|rule| rule["rule"] == name).unwrap();
    (rule["used"].clone(), rule["limit"].clone(), rule["left"].clone())
}

pub(super) async fn rules_are_shown_with_headroom(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    let first = paying.create("first", 20_000_000).await;
    assert_eq!(paying.act(&first, "approve", "approver", json!({})).await.0, 200);
    let id = paying.create("second", 25_000_000).await;
    let figures = |used: &str, limit: &str, left: &str| (json!(used), json!(limit), json!(left));
    let shown = paying.ok(&format!("{PATH}/{id}")).await;
    assert_eq!(shown["advice"]["verdict"], "passes", "{shown}");
    let day = figures("20000000", "100000000", "55000000");
    assert_eq!(rule(&shown["advice"], "max_daily_total"), day, "{shown}");
    assert_eq!(rule(&shown["advice"], "max_per_request"), figures("0", "25000000", "0"));
    let unlimited = (json!("20000000"), Value::Null, Value::Null);
    assert_eq!(rule(&shown["advice"], "max_daily_per_recipient"), unlimited);
    let (status, approved) = paying.act(&id, "approve", "approver", json!({})).await;
    assert_eq!((status, &approved["approvals"], &approved["approvalsNeeded"]), (200, &json!(1), &json!(1)));
    // What it holds itself by now is not counted twice.
    assert_eq!(rule(&approved["advice"], "max_daily_total"), day, "{approved}");
    let shown = paying.ok(&format!("{PATH}/{id}")).await;
    assert_eq!((&shown["state"], &shown["advice"]), (&json!("APPROVED"), &approved["advice"]));
    let large = paying.create("large", 26_000_000).await;
    let mutation =
        format!(r#"mutation {{ approvePayoutRequest(id: "{large}") {{ status advice {{ verdict }} }} }}"#);
    let query = format!(
        r#"{{ payoutRequest(id: "{large}") {{ advice {{ verdict reason until rules {{ rule passes used limit left until }} }} }} }}"#
    );
    let (_, answer) = paying.graphql(Some("viewer"), &query).await;
    let advice = &answer["data"]["payoutRequest"]["advice"];
    assert_eq!(
        (&advice["verdict"], &advice["reason"]),
        (&json!("REFUSED"), &json!("maxPerRequest exceeded"))
    );
    assert_eq!(
        advice["rules"][0],
        json!({"rule": "max_per_request", "passes": false, "used": "0", "limit": "25000000", "left": "0", "until": null})
    );
    let (_, answer) = paying.graphql(Some("approver"), &mutation).await;
    let refused = &answer["data"]["approvePayoutRequest"];
    assert_eq!((&refused["status"], &refused["advice"]), (&json!("REJECTED"), &Value::Null), "{answer}");
    paying.submit(&id, 1).await;
    assert_eq!(paying.ok(&format!("{PATH}/{id}")).await["advice"], Value::Null, "it is signed");
}
