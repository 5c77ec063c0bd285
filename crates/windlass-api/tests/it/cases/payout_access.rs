//! Who may do what, and that nothing has changed where somebody may not.

use std::num::NonZeroU32;

use metrics_exporter_prometheus::PrometheusBuilder;
use reqwest::Method;
use serde_json::{Value, json};
use windlass_api::RateLimit;
use windlass_core::payout::ledger::{PayWrite, Role};
use windlass_core::time::Timestamp;

use crate::app::App;
use crate::database::Kind;
use crate::pay::{PayApp, TO, code};

/// What is asked for: a way to ask, and which roles may.
struct Deed {
    method: Method,
    path: String,
    body: Option<Value>,
    roles: &'static [Role],
}

const ANYBODY: &[Role] = &Role::ALL;
const OPERATORS: &[Role] = &[Role::Operator, Role::Admin];
const APPROVERS: &[Role] = &[Role::Approver, Role::Admin];

/// Every verb in JSON and in GraphQL, on payouts where each is possible.
fn deeds(pending: &str, rejected: &str) -> Vec<Deed> {
    let get = |path: &str| (Method::GET, path.to_owned(), None, ANYBODY);
    let post = |path: String, body: Value, roles| (Method::POST, path, Some(body), roles);
    let graphql = |query: String, roles| post("/graphql".to_owned(), json!({ "query": query }), roles);
    let act = |verb: &str, id: &str| format!("/api/v1/payouts/{id}/{verb}");
    let asked = json!({"to": TO, "amount": "5", "token": "USDC", "idempotencyKey": "by-role"});
    let why = json!({"reason": "no"});
    let do_it = |field: &str| format!("mutation {{ {field} {{ id }} }}");
    let rest = [
        get("/api/v1/payouts"),
        get(&format!("/api/v1/payouts/{pending}")),
        get(&format!("/api/v1/payouts/{pending}/audit")),
        get("/api/v1/payouts/totals"),
        get("/api/v1/audit"),
        get("/api/v1/audit/head"),
        post("/api/v1/payouts".to_owned(), asked.clone(), OPERATORS),
        post("/api/v1/payouts?dryRun=true".to_owned(), asked, OPERATORS),
        post(act("retry", rejected), json!({"idempotencyKey": "again"}), OPERATORS),
        post(act("approve", pending), json!({}), APPROVERS),
        post(act("cancel", pending), why.clone(), OPERATORS),
        post(act("reject", pending), why, APPROVERS),
    ];
    let queries = [
        "payoutRequests(first: 1) { edges { cursor } }".to_owned(),
        format!("payoutRequest(id: \"{pending}\") {{ id }}"),
        "dailyTotals { day }".to_owned(),
        "auditLog(first: 1) { edges { cursor } }".to_owned(),
        "auditHead { seq }".to_owned(),
    ];
    let queries = queries.map(|query| graphql(format!("{{ {query} }}"), ANYBODY));
    let create = format!(
        r#"createPayoutRequest(to: "{TO}", amount: "5", asset: "USDC", idempotencyKey: "in-graphql")"#
    );
    let mutations = [
        graphql(do_it(&create), OPERATORS),
        graphql(
            do_it(&format!(r#"retryPayoutRequest(id: "{rejected}", idempotencyKey: "again")"#)),
            OPERATORS,
        ),
        graphql(do_it(&format!(r#"approvePayoutRequest(id: "{pending}")"#)), APPROVERS),
        graphql(do_it(&format!(r#"cancelPayoutRequest(id: "{pending}", reason: "no")"#)), OPERATORS),
        graphql(do_it(&format!(r#"rejectPayoutRequest(id: "{pending}", reason: "no")"#)), APPROVERS),
    ];
    let deed = |(method, path, body, roles)| Deed { method, path, body, roles };
    rest.into_iter().chain(queries).chain(mutations).map(deed).collect()
}

/// A payout that waits for approval, and one that was rejected.
async fn two(paying: &PayApp) -> (String, String) {
    let (pending, rejected) = (paying.create("pending", 5).await, paying.create("rejected", 5).await);
    let (status, body) = paying.act(&rejected, "reject", "approver", json!({"reason": "no"})).await;
    assert_eq!(status, 200, "{body}");
    (pending, rejected)
}

pub(super) async fn every_role_may_what_it_is_for_and_nothing_else(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    let (pending, rejected) = two(&paying).await;
    for role in Role::ALL {
        for deed in deeds(&pending, &rejected).iter().filter(|deed| !deed.roles.contains(&role)) {
            let before = paying.footprint().await;
            let (status, body) =
                paying.send(deed.method.clone(), &deed.path, Some(role.as_str()), deed.body.as_ref()).await;
            let asked = (role, &deed.path, &deed.body);
            assert_eq!((status, code(&body)), (403, "forbidden"), "{asked:?}: {body}");
            assert_eq!(paying.footprint().await, before, "{asked:?}");
        }
    }
}

pub(super) async fn whoever_may_is_let_in(kind: Kind) {
    for role in Role::ALL {
        let paying = PayApp::spawn(kind).await;
        let (pending, rejected) = two(&paying).await;
        for deed in deeds(&pending, &rejected).iter().filter(|deed| deed.roles.contains(&role)) {
            let (status, body) =
                paying.send(deed.method.clone(), &deed.path, Some(role.as_str()), deed.body.as_ref()).await;
            // What was done before may stand in its way, but not who asks.
            let asked = (role, &deed.path, &deed.body);
            assert!([200, 201, 409].contains(&status), "{asked:?}: {status} {body}");
            if status == 409 {
                assert_eq!(code(&body), "conflict", "{asked:?}");
            }
        }
    }
}

pub(super) async fn a_key_that_is_worth_nothing_changes_nothing(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    let (pending, rejected) = two(&paying).await;
    let revoked = paying.add_key("revoked", Role::Admin).await;
    assert_eq!(paying.get("/api/v1/payouts", "revoked").await.0, 200, "it is good at first");
    paying.write(vec![PayWrite::ApiKey(revoked.revoked(Timestamp::from_ms(2)))]).await;
    let before = paying.footprint().await;
    for header in [
        None,
        Some("Bearer secret-revoked"),
        Some("Bearer nobody-has-this"),
        Some("Bearer"),
        Some("Basic c2VjcmV0LWFkbWlu"),
        Some("secret-admin"),
        Some("Bearer secret-admin, Bearer secret-admin"),
    ] {
        let headers: Vec<_> = header.iter().map(|header| ("authorization", (*header).to_owned())).collect();
        for deed in deeds(&pending, &rejected) {
            let (status, body) =
                paying.raw(deed.method.clone(), &deed.path, &headers, deed.body.as_ref()).await;
            assert_eq!((status, code(&body)), (401, "unauthenticated"), "{header:?} {}: {body}", deed.path);
        }
    }
    assert_eq!(paying.footprint().await, before);
    let response = paying.app.client.get(paying.app.url("/api/v1/payouts")).send().await.unwrap();
    assert_eq!(response.headers()["www-authenticate"], "Bearer");
    let query = json!({"query": "{ auditHead { seq } }"}).to_string();
    let request =
        paying.app.client.post(paying.app.url("/graphql")).header("content-type", "application/json");
    let response = request.body(query).send().await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["www-authenticate"]),
        (401, &"Bearer".parse().unwrap())
    );
}

/// The way of the reference, which knows no keys: asked for, then approved.
pub(super) async fn a_developer_asks_and_approves_under_two_names(kind: Kind) {
    let paying = PayApp::development(kind).await;
    let asked = json!({"to": TO, "amount": "1000000", "token": "USDC"});
    let (status, body) = paying.send(Method::POST, "/api/v1/payouts", None, Some(&asked)).await;
    assert_eq!((status, &body["payout"]["createdBy"]), (201, &json!("development/operator")), "{body}");
    let path = format!("/api/v1/payouts/{}", body["payout"]["id"].as_str().unwrap());
    let (status, body) = paying.send(Method::POST, &format!("{path}/approve"), None, None).await;
    assert_eq!((status, &body["payout"]["state"]), (200, &json!("APPROVED")), "{body}");
    let (_, body) = paying.send(Method::GET, &path, None, None).await;
    assert_eq!(body["approvals"][0]["approver"], "development/approver", "{body}");
    // A key is looked at there, too.
    for (key, expected) in [("viewer", 403), ("nobody", 401)] {
        let (status, body) = paying.send(Method::POST, "/api/v1/payouts", Some(key), Some(&asked)).await;
        assert_eq!(status, expected, "{body}");
    }
}

/// A browser sends such requests for any page that it shows.
pub(super) async fn a_page_of_another_site_does_nothing_without_a_key(kind: Kind) {
    let paying = PayApp::development(kind).await;
    let asked = json!({"to": TO, "amount": "1", "token": "USDC"});
    let (_, body) = paying.send(Method::POST, "/api/v1/payouts", None, Some(&asked)).await;
    let path = format!("/api/v1/payouts/{}/approve", body["payout"]["id"].as_str().unwrap());
    let before = paying.footprint().await;
    for origin in ["https://evil.example", "null", "http://127.0.0.1:1"] {
        let headers = [("origin", origin.to_owned())];
        let (status, body) = paying.raw(Method::POST, &path, &headers, None).await;
        assert_eq!((status, code(&body)), (401, "unauthenticated"), "{origin}: {body}");
    }
    assert_eq!(paying.footprint().await, before);
    let own = [("origin", paying.app.url.clone())];
    let (status, body) = paying.raw(Method::POST, &path, &own, None).await;
    assert_eq!(status, 200, "{body}");
}

pub(super) async fn events_are_open_whatever_key_is_sent(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    for header in ["Bearer nobody", "nonsense"] {
        let headers = [("authorization", header.to_owned())];
        let (status, body) = paying.raw(Method::GET, "/api/v1/indexes", &headers, None).await;
        assert_eq!((status, body), (200, json!({"data": []})), "{header}");
        let query = json!({"query": "{ health indexes { name } }"});
        let (status, body) = paying.raw(Method::POST, "/graphql", &headers, Some(&query)).await;
        assert_eq!((status, body), (200, json!({"data": {"health": "ok", "indexes": []}})), "{header}");
    }
}

pub(super) async fn a_key_that_asks_too_often_is_told_when_to_come_back(kind: Kind) {
    let one = NonZeroU32::new(1).unwrap();
    let paying = PayApp::with(kind, |setup| {
        setup.api.rate_limit = RateLimit { per_second: one, burst: one };
    })
    .await;
    // Asked over and over, it is refused before the second is over.
    let mut refused = None;
    for _ in 0..100 {
        let request = paying.app.client.get(paying.app.url("/api/v1/audit/head"));
        let response = request.header("authorization", "Bearer secret-viewer").send().await.unwrap();
        if response.status() == 429 {
            refused = Some(response);
            break;
        }
    }
    let response = refused.expect("it was let in a hundred times at once");
    assert_eq!(response.headers()["retry-after"], "1");
    let body: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    assert_eq!(code(&body), "rate_limited");
    assert_eq!(paying.get("/api/v1/audit/head", "admin").await.0, 200, "another key is not concerned");
    let (mut status, mut body) = (200, Value::Null);
    for _ in 0..100 {
        (status, body) = paying.graphql(Some("approver"), "{ auditHead { seq } }").await;
        if status != 200 {
            break;
        }
    }
    assert_eq!((status, code(&body)), (429, "rate_limited"), "{body}");
}

pub(super) async fn nothing_is_paid_where_paying_is_not_configured(kind: Kind) {
    let app = App::spawn(kind).await;
    for path in ["payouts", "payouts/totals", "payouts/x", "payouts/x/audit", "audit", "audit/head"] {
        let (status, body) = app.get(&format!("/api/v1/{path}")).await;
        assert_eq!((status, code(&body)), (404, "not_found"), "{path}");
        assert!(body["error"]["message"].as_str().unwrap().contains("not configured"), "{body}");
        assert!(body["error"]["hint"].is_string(), "{body}");
    }
    for path in ["payouts", "payouts/x/approve", "payouts/x/reject", "payouts/x/cancel", "payouts/x/retry"] {
        let (status, text) = app.post(&format!("/api/v1/{path}"), "application/json", "{}".into()).await;
        assert!(status == 404 && text.contains("not configured"), "{path}: {text}");
    }
    for query in [
        "{ payoutRequests(first: 1) { edges { cursor } } }",
        "mutation { approvePayoutRequest(id: 1) { id } }",
    ] {
        let answer = app.graphql(query, json!({})).await;
        assert_eq!(code(&answer), "not_found", "{answer}");
    }
    assert_eq!(app.graphql("{ health }", json!({})).await, json!({"data": {"health": "ok"}}));
}

pub(super) async fn access_and_deeds_are_counted(kind: Kind) {
    let recorder = PrometheusBuilder::new().build_recorder();
    // The server runs on this very thread.
    let _kept = metrics::set_default_local_recorder(&recorder);
    let paying = PayApp::spawn(kind).await;
    let (pending, _) = two(&paying).await;
    paying.act(&pending, "approve", "viewer", json!({})).await;
    paying.act(&pending, "approve", "nobody", json!({})).await;
    paying.act("nothing", "approve", "approver", json!({})).await;
    paying.act(&pending, "retry", "operator", json!({})).await;
    let shown = recorder.handle().render();
    for line in [
        r#"windlass_http_access_total{outcome="ok"} 5"#,
        r#"windlass_http_access_total{outcome="forbidden"} 1"#,
        r#"windlass_http_access_total{outcome="unauthenticated"} 1"#,
        r#"windlass_pay_commands_total{verb="create",outcome="ok"} 2"#,
        r#"windlass_pay_commands_total{verb="reject",outcome="ok"} 1"#,
        r#"windlass_pay_commands_total{verb="retry",outcome="conflict"} 1"#,
    ] {
        assert!(shown.contains(line), "{line} is not in\n{shown}");
    }
}
