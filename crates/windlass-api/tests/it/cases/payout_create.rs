//! Asking for payouts in JSON: once for each key, all or none, and nothing that is wrong.

use reqwest::Method;
use serde_json::{Value, json};

use crate::database::Kind;
use crate::pay::{DENIED, PayApp, TO, USDC, code, message};

const PATH: &str = "/api/v1/payouts";

fn asked(key: &str, amount: &str) -> Value {
    json!({"to": TO, "amount": amount, "token": "USDC", "idempotencyKey": key})
}

pub(super) async fn a_payout_is_asked_for_once_for_each_key(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    let (status, first) = paying.post(PATH, "operator", asked("invoice-7", "1000000")).await;
    assert_eq!((status, &first["isNew"]), (201, &json!(true)), "{first}");
    assert_eq!(first["dryRun"], json!(false), "{first}");
    let payout = &first["payout"];
    assert_eq!(payout["state"], "PENDING_RISK");
    assert_eq!((&payout["asset"], &payout["amount"]), (&json!("USDC"), &json!("1000000")));
    assert_eq!(payout["to"], "0x00000000000000000000000000000000000000A1");
    assert_eq!(payout["token"], USDC.to_checksum(None));
    assert_eq!((&payout["createdBy"], &payout["version"]), (&json!("operator"), &json!(1)));
    assert_eq!(first["advice"], json!({"verdict": "passes", "reason": null, "until": null}));
    assert!(payout["createdAt"].as_str().unwrap().ends_with('Z'), "{payout}");
    let before = paying.footprint().await;
    // By another key's owner, and with the token's address: it is the same.
    let mut same = asked("invoice-7", "1000000");
    same["token"] = json!(USDC.to_string());
    let (status, again) = paying.post(PATH, "admin", same).await;
    assert_eq!((status, &again["isNew"]), (200, &json!(false)), "{again}");
    assert_eq!(again["payout"], *payout);
    let (status, other) = paying.post(PATH, "operator", asked("invoice-7", "1000001")).await;
    assert_eq!((status, code(&other)), (409, "key_reused"), "{other}");
    assert!(message(&other).contains(payout["id"].as_str().unwrap()), "{other}");
    assert_eq!(paying.footprint().await, before);
}

pub(super) async fn a_key_may_come_in_the_header_or_be_made_up(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    let mut plain = asked("", "5");
    plain.as_object_mut().unwrap().remove("idempotencyKey");
    let auth = ("authorization", "Bearer secret-operator".to_owned());
    let in_header = [auth.clone(), ("idempotency-key", "from-the-header".to_owned())];
    for expected in [201, 200] {
        let (status, body) = paying.raw(Method::POST, PATH, &in_header, Some(&plain)).await;
        assert_eq!(
            (status, &body["payout"]["idempotencyKey"]),
            (expected, &json!("from-the-header")),
            "{body}"
        );
    }
    let mut made_up = Vec::new();
    for _ in 0..2 {
        let (status, body) = paying.post(PATH, "operator", plain.clone()).await;
        assert_eq!(status, 201, "{body}");
        made_up.push(body["payout"]["idempotencyKey"].as_str().unwrap().to_owned());
    }
    assert!(made_up[0] != made_up[1] && made_up[0].len() == 36, "{made_up:?}");
    let before = paying.footprint().await;
    for (key, body) in [
        ("another", asked("in-the-body", "5")),
        ("of-a-list", json!({"payouts": [plain]})),
        (" ", plain.clone()),
    ] {
        let headers = [auth.clone(), ("idempotency-key", key.to_owned())];
        let (status, body) = paying.raw(Method::POST, PATH, &headers, Some(&body)).await;
        assert_eq!((status, code(&body)), (400, "invalid_parameter"), "{key}: {body}");
    }
    assert_eq!(paying.footprint().await, before);
}

pub(super) async fn a_list_is_asked_for_whole_or_not_at_all(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    let list = json!({"payouts": [asked("a", "1"), asked("b", "2"), asked("a", "1")]});
    let (status, body) = paying.post(PATH, "operator", list.clone()).await;
    assert_eq!(status, 201, "{body}");
    let data = body["data"].as_array().unwrap();
    let keys: Vec<_> = data.iter().map(|created| &created["payout"]["idempotencyKey"]).collect();
    assert_eq!(keys, ["a", "b", "a"]);
    assert_eq!(data[0]["payout"]["id"], data[2]["payout"]["id"], "one key is one payout");
    let (status, again) = paying.post(PATH, "operator", list).await;
    assert_eq!((status, &again["data"][1]["payout"]), (200, &data[1]["payout"]));
    let before = paying.footprint().await;
    let mut to_nobody = asked("d", "4");
    to_nobody["to"] = json!("0x0000000000000000000000000000000000000000");
    for (last, status, told) in [
        (asked("b", "3"), 409, "key b was used"),
        (asked("c", "4"), 400, "field `payouts[1].idempotencyKey`"),
        (asked("d", "-4"), 400, "field `payouts[1].amount`"),
        (to_nobody, 400, "field `payouts[1].to`"),
    ] {
        let list = json!({"payouts": [asked("c", "3"), last]});
        let answer = paying.post(PATH, "operator", list).await;
        assert!(answer.0 == status && message(&answer.1).contains(told), "{told}: {answer:?}");
        assert_eq!(paying.footprint().await, before, "{told}");
    }
    let many: Vec<Value> = (0..1_000).map(|n| asked(&format!("{}-{n}", "long".repeat(40)), "1")).collect();
    let (status, body) = paying.post(PATH, "operator", json!({ "payouts": many })).await;
    assert_eq!((status, body["data"].as_array().map(Vec::len)), (201, Some(1_000)), "{body}");
}

pub(super) async fn what_is_wrong_is_refused_by_the_name_of_its_field(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    let before = paying.footprint().await;
    let with = |name: &str, value: Value| {
        let mut body = asked("k", "5");
        body[name] = value;
        body
    };
    let vault = windlass_testkit::make::vault().address.to_string();
    for (body, told) in [
        (with("to", json!("0x00000000000000000000000000000000000000aA1")), "field `to`"),
        (with("to", json!("0x52908400098527886E0F7030069857D2E4169Ee7")), "checksum"),
        (with("to", json!(vault)), "field `to`: the recipient is the vault"),
        (with("amount", json!("0")), "field `amount`"),
        (with("amount", json!("1.5")), "field `amount`"),
        (with("amount", json!(5)), "field `amount`: it is a number"),
        (with("amount", json!("9".repeat(78))), "field `amount`"),
        (with("token", json!("EURC")), "field `token`"),
        (with("token", json!(TO)), "field `token`"),
        (with("idempotencyKey", json!("")), "field `idempotencyKey`"),
        (with("idempotencyKey", json!("x".repeat(201))), "field `idempotencyKey`"),
        (with("colour", json!("hi")), "field `colour` is not known"),
        (json!({}), "field `to`: it is missing"),
        (json!([]), "not an object"),
    ] {
        let (status, answer) = paying.post(PATH, "operator", body.clone()).await;
        assert!(status == 400 && message(&answer).contains(told), "{body}: {status} {answer}");
    }
    let twice = asked("k", "5").to_string().replacen('{', r#"{"amount":"500","#, 1);
    let request =
        paying.app.client.post(paying.app.url(PATH)).header("authorization", "Bearer secret-operator");
    for (kind, told) in
        [("application/json", "field `amount` is given twice"), ("text/plain", "not declared as JSON")]
    {
        let request = request.try_clone().unwrap().header("content-type", kind).body(twice.clone());
        let response = request.send().await.unwrap();
        let (status, text) = (response.status().as_u16(), response.text().await.unwrap());
        assert!(status == 400 && text.contains(told), "{kind}: {status} {text}");
    }
    let auth = [("authorization", "Bearer secret-operator".to_owned())];
    let (status, answer) = paying.raw(Method::POST, PATH, &auth, None).await;
    assert!(status == 400 && message(&answer).contains("field `to`"), "{answer}");
    for (query, told) in [("?dryrun=true", "unknown_parameter"), ("?dryRun=1", "invalid_parameter")] {
        let (status, answer) = paying.post(&format!("{PATH}{query}"), "operator", asked("k", "5")).await;
        assert_eq!((status, code(&answer)), (400, told), "{answer}");
    }
    let large = json!({"payouts": [asked(&"x".repeat(2 << 20), "5")]});
    let (status, answer) = paying.post(PATH, "operator", large).await;
    assert_eq!((status, code(&answer)), (413, "body_too_large"), "{answer}");
    assert_eq!(paying.footprint().await, before);
}

pub(super) async fn a_dry_run_shows_what_would_be_and_does_nothing(kind: Kind) {
    let paying = PayApp::spawn(kind).await;
    paying.create("known", 7).await;
    let before = paying.footprint().await;
    let path = format!("{PATH}?dryRun=true");
    let (status, body) = paying.post(&path, "operator", asked("new", "25000001")).await;
    assert_eq!((status, &body["isNew"]), (200, &json!(true)), "{body}");
    assert_eq!((&body["dryRun"], &body["payout"]["id"]), (&json!(true), &Value::Null), "{body}");
    assert_eq!(body["advice"]["reason"], "maxPerRequest exceeded");
    let mut denied = asked("denied", "1");
    denied["to"] = json!(DENIED);
    let list = json!({"payouts": [denied, asked("known", "7"), asked("fine", "25000000")]});
    let (status, body) = paying.post(&path, "operator", list).await;
    assert_eq!(status, 200, "{body}");
    let told: Vec<_> = body["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["advice"]["verdict"], &one["isNew"]))
        .collect();
    assert_eq!(
        told,
        [
            (&json!("refused"), &json!(true)),
            (&json!("passes"), &json!(false)),
            (&json!("passes"), &json!(true))
        ]
    );
    let has_id: Vec<bool> =
        body["data"].as_array().unwrap().iter().map(|one| one["payout"]["id"].is_string()).collect();
    assert_eq!(has_id, [false, true, false], "only what is stored has an id: {body}");
    let (status, body) = paying.post(&path, "operator", asked("known", "8")).await;
    assert_eq!((status, code(&body)), (409, "key_reused"));
    assert_eq!(paying.footprint().await, before);
}
