//! Approving, rejecting, cancelling, trying again: what the desk says is what a client is told.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_core::chain::U256;
use windlass_core::payout::ledger::Role;

use crate::database::Kind;
use crate::pay::{DENIED, PayApp, Says, code, message};

const NOBODYS: &str = "018f0000-0000-7000-8000-000000000000";

pub(super) async fn approving_takes_others_and_holds_the_days_budget(kind: Kind) {
    let paying = PayApp::with(kind, |setup| {
        setup.pay.approvals.others = BTreeMap::from([(U256::from(1_000), 2)]);
    })
    .await;
    paying.add_key("second", Role::Approver).await;
    let id = paying.create("large", 1_000).await;
    let (status, body) = paying.act(&id, "approve", "approver", json!({})).await;
    let told = (&body["payout"]["state"], &body["approvals"], &body["approvalsNeeded"]);
    assert_eq!((status, told), (200, (&json!("PENDING_RISK"), &json!(1), &json!(2))), "{body}");
    let before = paying.footprint().await;
    let (status, again) = paying.act(&id, "approve", "approver", json!({})).await;
    assert_eq!((status, &again["approvals"]), (200, &json!(1)), "once each: {again}");
    assert_eq!(paying.footprint().await, before);
    let (status, body) = paying.act(&id, "approve", "second", json!({})).await;
    assert_eq!((status, &body["payout"]["state"]), (200, &json!("APPROVED")), "{body}");
    let totals = paying.ok("/api/v1/payouts/totals").await;
    assert_eq!(
        totals["tokens"][0],
        json!({
            "token": crate::pay::USDC.to_checksum(None), "asset": "USDC",
            "held": "1000", "limit": "100000000", "headroom": "99999000",
        })
    );
    assert_eq!((&totals["tokens"][1]["asset"], &totals["tokens"][1]["held"]), (&json!("DAI"), &json!("0")));
    assert_eq!(totals["states"], json!([{"state": "APPROVED", "count": 1}]));
    let past = paying.ok("/api/v1/payouts/totals?day=2001-02-03").await;
    assert_eq!((&past["day"], &past["tokens"][0]["held"]), (&json!("2001-02-03"), &json!("0")));
    let (status, body) = paying.get("/api/v1/payouts/totals?day=tomorrow", "viewer").await;
    assert_eq!((status, code(&body)), (400, "invalid_parameter"));
}

pub(super) async fn nobody_approves_what_they_have_asked_for(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    let asked = json!({"to": DENIED, "amount": "1", "token": "USDC", "idempotencyKey": "own"});
    let (status, body) = paying.post("/api/v1/payouts", "admin", asked).await;
    assert_eq!((status, &body["advice"]["reason"]), (201, &json!("recipient is denylisted")), "{body}");
    let id = body["payout"]["id"].as_str().unwrap().to_owned();
    let before = paying.footprint().await;
    let (status, body) = paying.act(&id, "approve", "admin", json!({})).await;
    assert_eq!((status, code(&body)), (403, "forbidden"), "{body}");
    assert_eq!(paying.footprint().await, before);
    let (status, body) = paying.act(&id, "approve", "approver", json!({})).await;
    assert_eq!((status, &body["payout"]["state"]), (200, &json!("REJECTED")), "the rules decide: {body}");
    assert_eq!(body["payout"]["reason"], "recipient is denylisted");
}

pub(super) async fn what_a_payout_does_not_allow_is_a_conflict(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    let why = || json!({"reason": "a slip"});
    let (pending, approved) = (paying.create("pending", 5).await, paying.create("approved", 5).await);
    let submitted = paying.create("submitted", 5).await;
    for id in [&approved, &submitted] {
        assert_eq!(paying.act(id, "approve", "approver", json!({})).await.0, 200);
    }
    paying.submit(&submitted, 1).await;
    paying.add_key("late", Role::Approver).await;
    let before = paying.footprint().await;
    for (id, verb, key, body) in [
        (&approved, "approve", "late", json!({})),
        (&submitted, "reject", "approver", why()),
        (&submitted, "cancel", "operator", why()),
        (&pending, "retry", "operator", json!({})),
        (&submitted, "retry", "operator", json!({})),
    ] {
        let (status, body) = paying.act(id, verb, key, body).await;
        assert_eq!((status, code(&body)), (409, "conflict"), "{verb}: {body}");
    }
    // What is not known is not passed over: somebody may think that nothing happens.
    let (status, body) = paying.act(&pending, "approve?dryRun=true", "approver", json!({})).await;
    assert_eq!((status, code(&body)), (400, "unknown_parameter"), "{body}");
    for (verb, key, body) in [
        ("approve", "approver", json!({})),
        ("reject", "approver", why()),
        ("cancel", "operator", why()),
        ("retry", "operator", json!({})),
    ] {
        for id in [NOBODYS, "nothing", "%00"] {
            let (status, body) = paying.act(id, verb, key, body.clone()).await;
            assert_eq!((status, message(&body)), (404, "request not found"), "{verb} {id}: {body}");
        }
        let (status, body) = paying.act(&pending, verb, key, json!({"other": 1})).await;
        assert!(status == 400 && message(&body).contains("field `other`"), "{verb}: {body}");
    }
    for reason in
        [json!({}), json!({"reason": " "}), json!({"reason": "x".repeat(1_001)}), json!({"reason": "a\nb"})]
    {
        let (status, body) = paying.act(&pending, "reject", "approver", reason.clone()).await;
        assert!(status == 400 && message(&body).contains("field `reason`"), "{reason}: {body}");
    }
    assert_eq!(paying.footprint().await, before);
}

pub(super) async fn a_payout_is_rejected_cancelled_and_tried_again(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    let (rejected, cancelled) = (paying.create("one", 5).await, paying.create("two", 6).await);
    let (status, body) = paying.act(&rejected, "reject", "approver", json!({"reason": "not ours"})).await;
    assert_eq!((status, &body["state"], &body["reason"]), (200, &json!("REJECTED"), &json!("not ours")));
    let (status, body) = paying.act(&cancelled, "cancel", "operator", json!({"reason": "a slip"})).await;
    assert_eq!((status, &body["reason"]), (200, &json!("cancelled: a slip")), "{body}");
    let before = paying.footprint().await;
    let (status, body) = paying.act(&cancelled, "cancel", "operator", json!({"reason": "again"})).await;
    assert_eq!((status, &body["reason"]), (200, &json!("cancelled: a slip")), "it changes nothing");
    let again = json!({"idempotencyKey": "one-again"});
    for (says, status, told) in [(Says::Paid, 409, "conflict"), (Says::Nothing, 503, "chain_unavailable")] {
        paying.chain.say(says);
        let answer = paying.act(&rejected, "retry", "operator", again.clone()).await;
        assert_eq!((answer.0, code(&answer.1)), (status, told), "{answer:?}");
    }
    assert_eq!(paying.footprint().await, before);
    paying.chain.say(Says::Unknown);
    let (status, first) = paying.act(&rejected, "retry", "operator", again.clone()).await;
    assert_eq!((status, &first["payout"]["retryOf"]), (201, &json!(rejected)), "{first}");
    assert_eq!(
        (&first["payout"]["amount"], &first["payout"]["state"]),
        (&json!("5"), &json!("PENDING_RISK"))
    );
    let (status, second) = paying.act(&rejected, "retry", "operator", again).await;
    assert_eq!((status, &second["payout"]), (200, &first["payout"]), "the same key is the same payout");
    let (status, body) = paying.act(&rejected, "retry", "operator", json!({})).await;
    assert_eq!((status, code(&body)), (409, "conflict"), "{body}");
    assert!(message(&body).contains(first["payout"]["id"].as_str().unwrap()), "{body}");
    let (status, body) = paying.act(&cancelled, "retry", "operator", json!({"idempotencyKey": "one"})).await;
    assert_eq!((status, code(&body)), (409, "key_reused"), "{body}");
}
