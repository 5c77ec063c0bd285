//! A payout's id may be shortened to its beginning or its end, where that is unique.

use super::world::{PayWorld, create, json};
use crate::binary::{Folder, Ran};

fn show(folder: &Folder, id: &str) -> Ran {
    folder.run(&["payout", "show", id, "--json"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_is_named_by_a_part_of_its_id() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let ids: Vec<String> = ["a", "b", "c"].map(|key| create(&folder, key, "1 USDC")).into();
    let last = ids[2].as_str();
    for part in [&last[24..], &last[30..], &last[19..], &last.to_uppercase()[24..], &last.replace('-', "")] {
        assert_eq!(json(&show(&folder, part))["id"], *last, "{part}");
    }
    // All but the last digits of the random end: no other payout begins like this.
    assert_eq!(json(&show(&folder, &last[..34]))["id"], *last);
    let listed = folder.run(&["payout", "list", "--limit", "1"]).stdout;
    let shown = listed.lines().nth(1).and_then(|line| line.split(' ').next()).expect("a row");
    assert_eq!(json(&show(&folder, shown))["id"], *last, "what a list shows can be pasted");

    // Payouts of one minute begin alike; of three in a row, two are of one minute.
    let pair = ids.windows(2).find(|pair| pair[0][..8] == pair[1][..8]).expect("two of one minute");
    let ambiguous = show(&folder, &pair[0][..8]);
    assert!(ambiguous.code == Some(1) && ambiguous.stderr.contains("W0602"), "{}", ambiguous.shown());
    for id in pair {
        assert!(ambiguous.stderr.contains(id.as_str()), "{}", ambiguous.shown());
    }
    let unknown = show(&folder, "ffffffff");
    let told = "no payout's id begins or ends with ffffffff";
    assert!(unknown.code == Some(1) && unknown.stderr.contains(told), "{}", unknown.shown());
    for unknown in ["12345", "invoice-1"] {
        let ran = show(&folder, unknown);
        let told = format!("no payout has the key `{unknown}`");
        assert!(ran.code == Some(1) && ran.stderr.contains(&told), "{}", ran.shown());
    }
    let neither = show(&folder, "");
    assert!(neither.code == Some(2) && neither.stderr.contains("first 8 or last 6"), "{}", neither.shown());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_is_named_by_its_key_where_that_is_unambiguous() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let id = create(&folder, "invoice-1", "1 USDC");
    let by_key = show(&folder, "invoice-1");
    assert_eq!(json(&by_key)["id"], *id);
    assert!(by_key.stderr.contains(&format!("`invoice-1` is the key of payout {id}")), "{}", by_key.shown());
    assert!(!show(&folder, &id).stderr.contains("is the key of"), "an id needs no note");
    let approved = folder.run(&["payout", "approve", "invoice-1", "--dry-run"]);
    assert!(approved.code == Some(0) && approved.stdout.contains(&id), "{}", approved.shown());

    // A key that looks like the end of another payout's id, and one that is another payout's whole id.
    let end = &id[24..];
    let same = create(&folder, end, "2 USDC");
    let ambiguous = show(&folder, end);
    let names_both = ambiguous.stderr.contains(&id) && ambiguous.stderr.contains(&same);
    assert!(ambiguous.code == Some(1) && names_both, "{}", ambiguous.shown());
    create(&folder, &id, "3 USDC");
    assert_eq!(json(&show(&folder, &id))["id"], *id, "a whole id is an id");
    // A key that looks like a whole id, which no payout has.
    let uuid = "550e8400-e29b-41d4-a716-446655440000";
    let random = create(&folder, uuid, "4 USDC");
    assert_eq!(json(&show(&folder, uuid))["id"], *random);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_takes_a_part_of_an_id() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let ids = ["a", "b", "c"].map(|key| create(&folder, key, "1 USDC"));
    let [a, b, c] = ids.each_ref().map(|id| &id[24..]);
    let run = |args: &[&str]| json(&folder.run(&[&["payout"][..], args, &["--json"]].concat()));
    let approved = run(&["approve", a, b]);
    assert_eq!(
        (&approved["data"][0]["payout"]["id"], &approved["data"][1]["payout"]["id"]),
        (&ids[0].as_str().into(), &ids[1].as_str().into())
    );
    assert_eq!(run(&["reject", b, "--reason", "no"])["id"], *ids[1]);
    assert_eq!(run(&["cancel", c, "--reason", "no"])["id"], *ids[2]);
    assert_eq!(run(&["retry", c])["payout"]["retryOf"], *ids[2]);
    let behind = run(&["list", "--oldest-first", "--after", a, "--limit", "1"]);
    assert_eq!(behind["data"][0]["id"], *ids[1], "{behind}");
    let resend = folder.run(&["payout", "resend", a, "--dry-run"]);
    assert!(
        resend.code == Some(1) && resend.stderr.contains("W0603"),
        "it is found, and not lost: {}",
        resend.shown()
    );
    let unknown = folder.run(&["payout", "approve", "ffffffffffff"]);
    assert!(unknown.code == Some(1) && unknown.stderr.contains("W0602"), "{}", unknown.shown());
}
