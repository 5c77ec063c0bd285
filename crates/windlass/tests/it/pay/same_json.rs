//! Commands and HTTP answer with one shape of JSON: whole answers are compared.

use serde_json::{Value, json};

use super::world::{PayWorld, TO};
use crate::binary::{Folder, Running};
use crate::collect::http::{get_as, post, url_in};

/// Commands and an API with the same keys.
struct Both {
    folder: Folder,
    operator: String,
    approver: String,
}

impl Both {
    fn new(folder: Folder) -> Self {
        let key = |role: &str, name: &str| {
            let made = folder.run(&["key", "create", "--role", role, "--name", name, "--json"]);
            super::world::json(&made)["key"].as_str().expect("a key").to_owned()
        };
        let (operator, approver) = (key("operator", "otto"), key("approver", "anna"));
        Self { folder, operator, approver }
    }

    fn command(&self, key: &str, args: &[&str]) -> Value {
        let args = [&["payout"][..], args, &["--json"]].concat();
        super::world::json(&self.folder.run_with(&[("WINDLASS_API_KEY", key)], &args))
    }

    fn serve(&self, role: &str) -> (Running, String) {
        let mut running = self.folder.start(&["run", "--role", role]);
        let url = url_in(&running.wait_for("serving what was collected"));
        (running, url)
    }
}

fn read((status, body): (u16, String)) -> Value {
    assert!([200, 201].contains(&status), "{status} {body}");
    serde_json::from_str(&body).expect("json")
}

fn id(created: &Value) -> String {
    created["payout"]["id"].as_str().expect("an id").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_and_http_answer_with_the_same_json() {
    let world = PayWorld::start().await;
    let limits = "[pay.risk]\nmax_per_request = \"25 USDC\"\nmax_daily_total = \"40 USDC\"\n\
                  denylist = [\"0x00000000000000000000000000000000000000de\"]";
    let both = Both::new(world.folder(limits));
    let (api, url) = both.serve("api");
    let create = |key: &'static str| {
        both.command(
            &both.operator,
            &[
                "create",
                "--to",
                TO,
                "--amount",
                "12.5 USDC",
                "--key",
                key,
                "--memo",
                "rent",
                "--reference",
                "2041",
            ],
        )
    };
    let post_as = |key: &str, path: &str, body: Value| {
        read(post(&url, &format!("/api/v1/payouts{path}"), Some(key), &body.to_string()))
    };
    let get = |path: &str| read(get_as(&url, &format!("/api/v1/payouts{path}"), &both.operator));
    let asked = json!({"to": TO, "amount": "12500000", "token": "USDC", "idempotencyKey": "one", "memo": "rent", "reference": "2041"});

    let created = create("one");
    assert_eq!((&created["isNew"], &created["payout"]["decimalAmount"]), (&json!(true), &json!("12.5")));
    let one = id(&created);
    let again = post_as(&both.operator, "", asked.clone());
    assert_eq!(again, create("one"), "create");
    assert_eq!(again["payout"], created["payout"]);
    let list = json!({"payouts": [asked]});
    let csv = format!("key,to,amount,token,memo,reference\none,{TO},12.5,USDC,rent,2041\n");
    both.folder.write("one.csv", &csv);
    let from_file = both.command(&both.operator, &["create", "--csv", "one.csv"]);
    assert_eq!(post_as(&both.operator, "", list), from_file, "create many");
    assert_eq!(get(&format!("/{one}")), both.command(&both.operator, &["show", &one]), "show");

    both.command(&both.approver, &["approve", &one]);
    let approved = post_as(&both.approver, &format!("/{one}/approve"), json!({}));
    assert_eq!(approved, both.command(&both.approver, &["approve", &one]), "approve");
    assert_eq!(
        (&approved["payout"]["state"], &approved["advice"]["rules"][2]["rule"]),
        (&json!("APPROVED"), &json!("max_daily_total"))
    );
    assert_eq!(get(&format!("/{one}")), both.command(&both.operator, &["show", &one]), "show once approved");

    let rejected = id(&create("two"));
    let no = json!({"reason": "not ours"});
    let over_http = post_as(&both.approver, &format!("/{rejected}/reject"), no);
    assert_eq!(over_http, both.command(&both.approver, &["reject", &rejected, "--reason", "x"]), "reject");
    let cancelled = id(&create("three"));
    let first = both.command(&both.operator, &["cancel", &cancelled, "--reason", "a slip"]);
    assert_eq!(
        first,
        post_as(&both.operator, &format!("/{cancelled}/cancel"), json!({"reason": "x"})),
        "cancel"
    );
    let again = both.command(&both.operator, &["retry", &cancelled, "--key", "three-again"]);
    assert_eq!(again["isNew"], true);
    let over_http =
        post_as(&both.operator, &format!("/{cancelled}/retry"), json!({"idempotencyKey": "three-again"}));
    assert_eq!(
        over_http,
        both.command(&both.operator, &["retry", &cancelled, "--key", "three-again"]),
        "retry"
    );
    assert_eq!(over_http["payout"], again["payout"]);

    let pages = [
        ("?limit=2", &["--limit", "2", "--oldest-first"][..]),
        ("?order=newest&limit=50", &[]),
        (
            "?reference=2041&state=REJECTED&limit=1000&order=newest",
            &["--reference", "2041", "--state", "rejected", "--limit", "1000"],
        ),
    ];
    for (query, args) in pages {
        let page = both.command(&both.operator, &[&["list"][..], args].concat());
        assert_eq!(get(query), page, "list {query}");
        assert!(page["data"].as_array().is_some_and(|rows| !rows.is_empty()), "{page}");
    }
    api.signal("TERM");
    api.end();

    // And with all that a paid one has: transactions, signed forms, receipts, the fee.
    let (_running, url) = both.serve("pay,api");
    world.until_payout(&both.folder, &one, |payout| payout["finalizedAt"].is_string());
    let shown = both.command(&both.operator, &["show", &one]);
    assert_eq!(
        read(get_as(&url, &format!("/api/v1/payouts/{one}"), &both.operator)),
        shown,
        "show once paid"
    );
    assert_eq!(shown["intents"][0]["receipt"]["fee"], shown["fee"], "{shown}");
    assert!(shown["fee"].is_string() && shown["intents"][0]["attempts"][0]["hash"].is_string(), "{shown}");
}
