//! What may be paid: tried out, and binding at approval.

use super::world::{PayWorld, TO, create, json};

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_is_tried_against_the_rules() {
    let world = PayWorld::start().await;
    let folder = world.folder(
        "[pay.risk]\nmax_per_request = \"25 USDC\"\nmax_daily_total = \"40 USDC\"\ndenylist = [\"0x00000000000000000000000000000000000000de\"]",
    );
    let id = create(&folder, "first", "20 USDC");
    assert_eq!(folder.run(&["payout", "approve", &id]).code, Some(0));
    let check = |to: &str, amount: &str| folder.run(&["risk", "check", "--to", to, "--amount", amount]);
    insta::assert_snapshot!(
        crate::binary::hide_instants(&check(TO, "20 USDC").shown()).replace(&today(), "[TODAY]")
    );
    for (to, amount, told) in [
        (TO, "25.000001 USDC", "max_per_request exceeded"),
        (TO, "20.000001 USDC", "max_daily_total exceeded"),
        ("0x00000000000000000000000000000000000000de", "1 USDC", "recipient is denylisted"),
    ] {
        let ran = check(to, amount);
        assert!(ran.code == Some(1) && ran.stdout.contains(told), "{}", ran.shown());
    }
    let figures = "max_daily_total exceeded: 20 USDC of 40 USDC are paid or reserved today, 20 USDC are left, \
                   and this payout takes 21 USDC";
    let asked = ["payout", "create", "--to", TO, "--amount", "21 USDC", "--key", "second"];
    for more in [&["--dry-run"][..], &[]] {
        let asked = folder.run(&[&asked[..], more].concat());
        let told = format!("the rules would refuse it: {figures}\n");
        assert!(asked.code == Some(0) && asked.stdout.ends_with(&told), "{}", asked.shown());
    }
    let second = create(&folder, "second", "21 USDC");
    let refused = folder.run(&["payout", "approve", &second]);
    let told = format!("REJECTED, {figures}");
    assert!(refused.code == Some(1) && refused.stdout.contains(&told), "{}", refused.shown());
    let shown = folder.run(&["payout", "show", &second]).stdout;
    assert!(shown.contains(&format!("reason       {figures}")), "it can be looked up later: {shown}");
    let stored = json(&folder.run(&["payout", "show", &second, "--json"]));
    let reason = stored["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("maxDailyTotal exceeded: "), "in JSON it keeps its name: {reason}");
    let again = folder.run(&["payout", "retry", &second, "--dry-run"]);
    let told = format!("the rules would refuse it: {figures}");
    assert!(again.code == Some(0) && again.stdout.contains(&told), "{}", again.shown());
    let fourth = create(&folder, "fourth", "1 USDC");
    assert_eq!(folder.run(&["payout", "reject", &fourth, "--reason", "no"]).code, Some(0));
    let again = folder.run(&["payout", "approve", &fourth]);
    let told = "it can no longer be approved: it is REJECTED, and a retry asks for it again";
    let is_told = again.stderr.contains(told) && again.stderr.contains("hint: `windlass payout retry");
    assert!(again.code == Some(1) && is_told, "{}", again.shown());
    let third = create(&folder, "third", "26 USDC");
    let refused = folder.run(&["payout", "approve", &third]);
    let told = "max_per_request exceeded: a payout may take 25 USDC at most, and this payout takes 26 USDC";
    assert!(refused.code == Some(1) && refused.stdout.contains(told), "{}", refused.shown());
}

/// A bare number was taken for base units, a millionth of what it looks like.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_filtered_by_an_amount_that_says_its_unit() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    create(&folder, "two", "2 USDC");
    let list = |more: &[&str]| folder.run(&[&["payout", "list", "--json"], more].concat());
    for found in [
        &["--amount", "2USDC"][..],
        &["--amount", "2", "--token", "usdc"],
        &["--amount-base-units", "2000000"],
    ] {
        assert_eq!(json(&list(found))["data"].as_array().map(Vec::len), Some(1), "{found:?}");
    }
    assert_eq!(json(&list(&["--amount-base-units", "2"]))["data"], serde_json::json!([]));
    let assumed = list(&["--amount", "2", "--token", "USDC"]).stderr;
    assert!(assumed.contains("--amount 2 is read as 2 USDC"), "{assumed}");
    let bare = list(&["--amount", "2"]);
    let is_told = bare.stderr.contains("names no token") && bare.stderr.contains("--amount-base-units");
    assert!(bare.code == Some(2) && is_told, "{}", bare.shown());
    let bare = list(&["--amount", "2.5"]).stderr;
    assert!(bare.contains("`2.5` names no token: write `2.5 USDC`, or add --token"), "{bare}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_risk_json_is_accepted_and_the_section_comes_first() {
    let world = PayWorld::start().await;
    let folder = world.folder("[pay.risk]\nfile = \"risk.json\"\nmax_daily_total = \"30 USDC\"");
    folder.write(
        "risk.json",
        r#"{"confirmations": 3, "maxPerRequest": "25000000", "maxDailyTotal": "100000000", "denylist": ["0x00000000000000000000000000000000000000dE"]}"#,
    );
    let shown = json(&folder.run(&["risk", "check", "--to", TO, "--amount", "5 USDC", "--json"]));
    assert_eq!(
        (&shown["max_per_request"], &shown["max_daily_total"]),
        (&"25000000".into(), &"30000000".into())
    );
    folder.write("risk.json", "{\"maxPerRequest\": \"much\"}");
    let ran = folder.run(&["risk", "check", "--to", TO, "--amount", "5 USDC"]);
    assert!(
        ran.code == Some(1) && ran.stderr.contains("W0002") && ran.stderr.contains("risk.json"),
        "{}",
        ran.shown()
    );
}

/// The day as the answer names it.
fn today() -> String {
    jiff::Timestamp::now().to_string()[..10].to_owned()
}
