//! Payouts in GraphQL, as the payout orchestrator's users know them.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use windlass_core::payout::ledger::PayWrite;
use windlass_testkit::make;

use super::payout_read::store_many;
use crate::database::Kind;
use crate::pay::{PayApp, TO, code, message};

/// Every field that the reference has.
const FIELDS: &str = "id requestId to asset amount status riskReason txHash submittedAt confirmedAt failedReason \
                      createdAt updatedAt";

fn create(amount: &str) -> String {
    format!(r#"createPayoutRequest(to: "{TO}", amount: "{amount}", asset: "USDC") {{ {FIELDS} }}"#)
}

/// What is answered without an error, to somebody without a key.
async fn data(paying: &PayApp, query: &str) -> Value {
    let (status, mut answer) = paying.graphql(None, query).await;
    assert!(status == 200 && answer["errors"].is_null(), "{query}: {status} {answer}");
    answer["data"].take()
}

/// What the first error says.
async fn refused(paying: &PayApp, query: &str) -> String {
    let (_, answer) = paying.graphql(None, query).await;
    message(&answer).to_owned()
}

async fn created(paying: &PayApp, amount: &str) -> String {
    let data = data(paying, &format!("mutation {{ {} }}", create(amount))).await;
    data["createPayoutRequest"]["id"].as_str().unwrap().to_owned()
}

/// The reference's own test, and what it leaves out.
pub(super) async fn a_payout_is_created_and_approved(kind: Kind) {
    let paying = PayApp::development(kind).await;
    assert_eq!(data(&paying, "{ health }").await, json!({"health": "ok"}));
    let answer = data(&paying, &format!("mutation {{ {} }}", create("1000000"))).await;
    let payout = &answer["createPayoutRequest"];
    assert_eq!((&payout["status"], &payout["asset"]), (&json!("PENDING_RISK"), &json!("USDC")), "{payout}");
    for empty in ["riskReason", "txHash", "submittedAt", "confirmedAt", "failedReason"] {
        assert_eq!(payout[empty], Value::Null, "{empty}");
    }
    let now_s = paying.app.store.now().await.unwrap().as_ms() / 1_000;
    let created_s: i64 = payout["createdAt"].as_str().unwrap().parse().unwrap();
    assert!((now_s - 600..=now_s).contains(&created_s), "seconds since 1970: {payout}");
    let request_id = payout["requestId"].as_str().unwrap();
    assert!(request_id.starts_with("0x") && request_id.len() == 66, "{request_id}");
    let id = payout["id"].as_str().unwrap();
    let approve = format!(
        r#"mutation {{ approvePayoutRequest(id: "{id}") {{ status approvals {{ approver at }} }} }}"#
    );
    let approved = data(&paying, &approve).await["approvePayoutRequest"].take();
    assert_eq!(
        (&approved["status"], &approved["approvals"][0]["approver"]),
        (&json!("APPROVED"), &json!("development/approver"))
    );
    let found = data(&paying, &format!(r#"{{ payoutRequest(id: "{id}") {{ id status }} }}"#)).await;
    assert_eq!(found["payoutRequest"], json!({"id": id, "status": "APPROVED"}));
    for nobody in ["018f0000-0000-7000-8000-000000000000", "nothing"] {
        let found = data(&paying, &format!(r#"{{ payoutRequest(id: "{nobody}") {{ id }} }}"#)).await;
        assert_eq!(found, json!({"payoutRequest": null}), "{nobody}");
        let approve = format!(r#"mutation {{ approvePayoutRequest(id: "{nobody}") {{ id }} }}"#);
        assert_eq!(refused(&paying, &approve).await, "request not found");
    }
}

pub(super) async fn what_no_longer_waits_cannot_be_approved(kind: Kind) {
    let paying = PayApp::development(kind).await;
    let id = created(&paying, "5").await;
    let reject = format!(
        r#"mutation {{ rejectPayoutRequest(id: "{id}", reason: "no") {{ riskReason failedReason }} }}"#
    );
    let rejected = data(&paying, &reject).await["rejectPayoutRequest"].take();
    assert_eq!(rejected, json!({"riskReason": "no", "failedReason": null}));
    let approve = format!(r#"mutation {{ approvePayoutRequest(id: "{id}") {{ id }} }}"#);
    assert_eq!(
        refused(&paying, &approve).await,
        "request not in PENDING_RISK status: the payout is REJECTED, and a retry asks for it again"
    );
    let retry = format!(
        r#"mutation {{ retryPayoutRequest(id: "{id}", idempotencyKey: "again") {{ retryOf idempotencyKey status }} }}"#
    );
    let expected = json!({"retryOf": id, "idempotencyKey": "again", "status": "PENDING_RISK"});
    assert_eq!(data(&paying, &retry).await["retryPayoutRequest"], expected);
    let other = created(&paying, "5").await;
    let cancel = format!(
        r#"mutation {{ cancelPayoutRequest(id: "{other}", reason: "slip") {{ status riskReason }} }}"#
    );
    let expected = json!({"status": "REJECTED", "riskReason": "cancelled: slip"});
    assert_eq!(data(&paying, &cancel).await["cancelPayoutRequest"], expected);
}

/// Of docs/api.md.
pub(super) async fn the_example_of_the_documents_lists_payouts(kind: Kind) {
    let page = include_str!("../../../../../docs/api.md");
    let (_, section) = page.split_once("### Payouts in GraphQL").unwrap();
    let (_, example) = section.split_once("```graphql\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    assert!(example.contains("status: CONFIRMED"), "{example}");
    let paying = PayApp::development(kind).await;
    let id = created(&paying, "5").await;
    let pending = data(&paying, &example.replace("CONFIRMED", "PENDING_RISK")).await;
    assert_eq!(pending["payoutRequests"]["edges"][0]["node"]["id"], json!(id), "{pending}");
    assert_eq!(data(&paying, example).await["payoutRequests"]["edges"], json!([]));
}

pub(super) async fn connections_go_on_behind_their_cursors(kind: Kind) {
    let paying = PayApp::development(kind).await;
    let mut ids = Vec::new();
    for amount in ["1", "2", "3"] {
        ids.push(created(&paying, amount).await);
    }
    let page = async |arguments: &str| {
        let query = format!(
            "{{ payoutRequests({arguments}) {{ edges {{ cursor node {{ id }} }} pageInfo {{ endCursor hasNextPage }} }} }}"
        );
        data(&paying, &query).await["payoutRequests"].take()
    };
    let of = |page: &Value| -> Vec<String> {
        let edges = page["edges"].as_array().unwrap().iter();
        edges.map(|edge| edge["node"]["id"].as_str().unwrap().to_owned()).collect()
    };
    let first = page("first: 2").await;
    assert_eq!((of(&first), &first["pageInfo"]["hasNextPage"]), (ids[..2].to_vec(), &json!(true)));
    let cursor = first["pageInfo"]["endCursor"].as_str().unwrap();
    assert_eq!(BASE64_STANDARD.decode(cursor).unwrap(), format!("id:{}", ids[1]).as_bytes());
    let rest = page(&format!("first: 2, after: \"{cursor}\"")).await;
    assert_eq!((of(&rest), &rest["pageInfo"]["hasNextPage"]), (ids[2..].to_vec(), &json!(false)));
    assert_eq!(of(&page("first: 9, status: APPROVED").await), Vec::<String>::new());
    assert_eq!(of(&page("first: 9, status: PENDING_RISK").await), ids);
    let in_base64 = |text: &str| BASE64_STANDARD.encode(text);
    for bad in ["x", "", &in_base64("id:x"), &in_base64(&ids[0]), &in_base64("seq:1")] {
        let query = format!("{{ payoutRequests(first: 1, after: \"{bad}\") {{ edges {{ cursor }} }} }}");
        assert_eq!(refused(&paying, &query).await, "invalid-cursor", "{bad}");
    }
    for (first, told) in [
        ("0", "first must be a positive integer"),
        ("-1", "first must be a positive integer"),
        ("101", "first cannot be greater than 100"),
        ("2000000000", "first cannot be greater than 100"),
    ] {
        let query = format!("{{ payoutRequests(first: {first}) {{ edges {{ cursor }} }} }}");
        assert_eq!(refused(&paying, &query).await, told);
    }
}

/// The reference can never tell of a page behind the largest one.
pub(super) async fn a_page_of_a_hundred_knows_whether_it_is_the_last(kind: Kind) {
    let paying = PayApp::development(kind).await;
    store_many(&paying, 100).await;
    let query = format!(
        "{{ payoutRequests(first: 100) {{ edges {{ node {{ {FIELDS} }} }} pageInfo {{ hasNextPage }} }} }}"
    );
    let page = data(&paying, &query).await["payoutRequests"].take();
    assert_eq!(
        (page["edges"].as_array().unwrap().len(), &page["pageInfo"]["hasNextPage"]),
        (100, &json!(false))
    );
    created(&paying, "5").await;
    let page = data(&paying, &query).await["payoutRequests"].take();
    assert_eq!(
        (page["edges"].as_array().unwrap().len(), &page["pageInfo"]["hasNextPage"]),
        (100, &json!(true))
    );
}

pub(super) async fn what_belongs_to_a_payout_can_be_asked_for(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    let id = paying.create("whole", 5).await;
    paying.act(&id, "approve", "approver", json!({})).await;
    let submitted = paying.submit(&id, 7).await;
    let query = format!(
        r#"{{ payoutRequest(id: "{id}") {{ txHash idempotencyKey createdBy approvalsNeeded vault chain token
            attempts {{ hash nonce signer number state maxFee }}
            auditTrail(first: 2) {{ edges {{ cursor node {{ seq actor action detail }} }} pageInfo {{ hasNextPage }} }} }}
            auditLog(first: 1) {{ edges {{ node {{ action }} }} }} auditHead {{ seq }}
            dailyTotals {{ day tokens {{ asset held limit headroom }} states {{ status count }} }} }}"#
    );
    let (status, answer) = paying.graphql(Some("viewer"), &query).await;
    assert!(status == 200 && answer["errors"].is_null(), "{answer}");
    let payout = &answer["data"]["payoutRequest"];
    assert_eq!(payout["txHash"], make::attempt(7, 2).hash.to_string(), "the newest");
    assert_eq!(
        (&payout["createdBy"], &payout["approvalsNeeded"], &payout["chain"]),
        (&json!("operator"), &json!(1), &json!(1))
    );
    let attempts: Vec<_> = payout["attempts"].as_array().unwrap().iter().map(|one| &one["number"]).collect();
    assert_eq!(attempts, [1, 2]);
    assert_eq!(payout["attempts"][0]["nonce"], 7);
    let trail = &payout["auditTrail"];
    assert_eq!(
        (&trail["edges"][0]["node"]["action"], &trail["pageInfo"]["hasNextPage"]),
        (&json!("payout.created"), &json!(true))
    );
    assert_eq!(trail["edges"][0]["node"]["detail"]["key"], "whole");
    assert_eq!(answer["data"]["auditLog"]["edges"][0]["node"]["action"], "key.created");
    let totals = &answer["data"]["dailyTotals"];
    assert_eq!(
        (&totals["tokens"][0]["held"], &totals["states"][0]),
        (&json!("5"), &json!({"status": "SUBMITTED", "count": 1}))
    );
    // Once it is in a block, it is that transaction.
    let seen = submitted.seen(Some(make::inclusion(9)), submitted.updated_at);
    paying.write(vec![PayWrite::Payouts(vec![seen])]).await;
    let (_, answer) =
        paying.graphql(Some("viewer"), &format!(r#"{{ payoutRequest(id: "{id}") {{ txHash }} }}"#)).await;
    assert_eq!(answer["data"]["payoutRequest"]["txHash"], make::inclusion(9).transaction.to_string());
}

pub(super) async fn what_is_wrong_is_told_by_the_name_of_its_argument(kind: Kind) {
    let paying = PayApp::development(kind).await;
    let before = paying.footprint().await;
    for (to, amount, asset, field) in [
        ("0x1", "5", "USDC", "to"),
        ("0x0000000000000000000000000000000000000000", "5", "USDC", "to"),
        (TO, "0", "USDC", "amount"),
        (TO, "five", "USDC", "amount"),
        (TO, "5", "EURC", "asset"),
    ] {
        let query = format!(
            r#"mutation {{ createPayoutRequest(to: "{to}", amount: "{amount}", asset: "{asset}") {{ id }} }}"#
        );
        let (_, answer) = paying.graphql(None, &query).await;
        assert_eq!(code(&answer), "invalid_parameter", "{answer}");
        assert!(message(&answer).starts_with(&format!("field `{field}`: ")), "{answer}");
    }
    assert_eq!(paying.footprint().await, before);
}

/// The header says the same as the argument, for the one payout of a document.
pub(super) async fn a_key_may_come_in_the_header_of_a_mutation(kind: Kind) {
    let paying = PayApp::development(kind).await;
    let ask = async |headers: &[&str], query: &str| {
        let headers: Vec<_> = headers.iter().map(|key| ("idempotency-key", (*key).to_owned())).collect();
        let body = json!({ "query": query });
        let (status, mut answer) = paying.raw(Method::POST, "/graphql", &headers, Some(&body)).await;
        assert_eq!(status, 200, "{answer}");
        answer.as_object_mut().map(std::mem::take).unwrap_or_default()
    };
    let create = |name: &str, key: &str| {
        format!(
            r#"{name}: createPayoutRequest(to: "{TO}", amount: "5", asset: "USDC"{key}) {{ id idempotencyKey }}"#
        )
    };
    let plain = format!("mutation {{ {} }}", create("one", ""));
    let with_argument = format!("mutation {{ {} }}", create("one", r#", idempotencyKey: "order-1""#));
    let first = ask(&["order-1"], &plain).await["data"]["one"].clone();
    assert_eq!(first["idempotencyKey"], "order-1", "{first}");
    assert_eq!(ask(&["order-1"], &plain).await["data"]["one"], first, "the same key is the same payout");
    assert_eq!(ask(&["order-1"], &with_argument).await["data"]["one"], first, "both alike");
    assert_eq!(ask(&[], &with_argument).await["data"]["one"], first);
    let before = paying.footprint().await;
    for (headers, query) in
        [(vec!["order-2"], &with_argument), (vec!["order-2", "order-3"], &plain), (vec![" "], &plain)]
    {
        let answer = Value::Object(ask(&headers, query).await);
        assert_eq!((code(&answer), &answer["data"]["one"]), ("invalid_parameter", &Value::Null), "{answer}");
        assert!(message(&answer).contains("Key"), "{answer}");
    }
    assert_eq!(paying.footprint().await, before);
    assert_eq!(
        ask(&["order-2", "order-3"], "{ health }").await["data"]["health"],
        "ok",
        "nothing is asked for"
    );
    let several = format!("mutation {{ {} {} }}", create("one", ""), create("two", ""));
    let answer = Value::Object(ask(&["order-4"], &several).await);
    assert_eq!(answer["data"]["one"]["idempotencyKey"], "order-4", "{answer}");
    assert_eq!(answer["data"]["two"], Value::Null, "{answer}");
    assert!(message(&answer).contains("names one payout"), "{answer}");
    let id = first["id"].as_str().unwrap();
    let end = format!(r#"mutation {{ cancelPayoutRequest(id: "{id}", reason: "slip") {{ id }} }}"#);
    ask(&[], &end).await;
    let retry = format!(r#"mutation {{ again: retryPayoutRequest(id: "{id}") {{ idempotencyKey }} }}"#);
    assert_eq!(ask(&["order-5"], &retry).await["data"]["again"]["idempotencyKey"], "order-5");
}

/// Mutations are done in their order; what was done is told, whatever became of the others.
pub(super) async fn what_was_done_is_told_beside_what_was_refused(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    let theirs = paying.create("theirs", 5).await;
    let own = r#"createPayoutRequest(to: "0x00000000000000000000000000000000000000a1", amount: "5", asset: "USDC", idempotencyKey: "own")"#;
    let query = format!(
        r#"mutation {{
            first: {own} {{ id status }}
            refused: approvePayoutRequest(id: "{theirs}") {{ id }}
            gone: cancelPayoutRequest(id: "nothing", reason: "x") {{ id }}
            last: cancelPayoutRequest(id: "{theirs}", reason: "x") {{ id status }}
        }}"#
    );
    let (status, answer) = paying.graphql(Some("operator"), &query).await;
    assert_eq!(status, 403, "an operator does not approve: {answer}");
    assert_eq!(answer["data"]["first"]["status"], "PENDING_RISK", "{answer}");
    assert_eq!(answer["data"]["last"], json!({"id": theirs, "status": "REJECTED"}), "{answer}");
    let fields: Vec<_> = answer["data"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["first", "gone", "last", "refused"]);
    assert_eq!((&answer["data"]["refused"], &answer["data"]["gone"]), (&Value::Null, &Value::Null));
    let codes: Vec<_> =
        answer["errors"].as_array().unwrap().iter().map(|error| &error["extensions"]["code"]).collect();
    assert_eq!(codes, ["forbidden", "not_found"]);
}

/// What belongs to each payout of a page is read payout by payout, so it weighs as much.
pub(super) async fn what_asks_for_too_much_of_payouts_is_refused(kind: Kind) {
    let paying = PayApp::development(kind).await;
    let page = |first: u32, fields: &str| {
        format!("{{ payoutRequests(first: {first}) {{ edges {{ node {{ {fields} }} }} }} }}")
    };
    let attempts = "attempts { hash nonce signer } approvals { approver }";
    let trail = "auditTrail(first: 100) { edges { node { action actor } } }";
    data(&paying, &page(100, attempts)).await;
    data(&paying, &page(20, trail)).await;
    let create = |count: u32| {
        let all: String = (0..count)
            .map(|number| {
                format!(r#"a{number}: createPayoutRequest(to: "{TO}", amount: "1", asset: "DAI") {{ id }} "#)
            })
            .collect();
        format!("mutation {{ {all} }}")
    };
    data(&paying, &create(10)).await;
    let before = paying.footprint().await;
    let four: String = (0..4).map(|number| format!("a{number}: attempts {{ hash nonce signer }} ")).collect();
    let entries = "edges { node { seq at actor action subject mac detail } }";
    let logs: String =
        (0..100).map(|number| format!("a{number}: auditLog(first: 1) {{ {entries} }} ")).collect();
    for query in [page(100, trail), page(100, &four), create(20), format!("{{ {logs} }}")] {
        let told = refused(&paying, &query).await;
        assert!(told.contains("complex"), "{query}: {told}");
    }
    assert_eq!(paying.footprint().await, before, "nothing of a document that is refused is done");
}
