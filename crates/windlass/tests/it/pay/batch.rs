//! Many payouts of one file: all, or none, and what is wrong is told by line.

use super::world::{PayWorld, TO, create, json};

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_a_wrong_line_asks_for_nothing_and_names_every_such_line() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    folder.write(
        "payouts.csv",
        &format!(
            "key,to,amount,token\na,{TO},1 USDC,\nb,0x12,1 USDC,\nc,{TO},1.5,usdc\nd,{TO},-1 USDC,\n,{TO},1 USDC,\na,{TO},1 USDC,\nf,{TO}\n"
        ),
    );
    let ran = folder.run(&["payout", "create", "--csv", "payouts.csv"]);
    insta::assert_snapshot!(ran.shown());
    assert_eq!(folder.run(&["payout", "list"]).stdout, "no payouts\n");
}

/// With the other wrong lines, and all of them: none is found out by trying again.
#[tokio::test(flavor = "multi_thread")]
async fn keys_that_stand_for_other_payouts_are_named_by_their_lines() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let ids = ["one", "two", "three"].map(|key| create(&folder, key, "1 USDC"));
    let run = |lines: &str| {
        folder.write("payouts.csv", &format!("key,to,amount\n{lines}"));
        folder.run(&["payout", "create", "--csv", "payouts.csv"])
    };
    let reused = format!("one,{TO},2 USDC\ntwo,{TO},1 USDC\nnew,{TO},1 USDC\nthree,{TO},3 USDC\n");
    for (wrong, code) in [("", "W0604"), ("four,0x12,1 USDC\n", "W0603")] {
        let ran = run(&format!("{reused}{wrong}"));
        let told: Vec<&str> =
            ran.stderr.lines().map(str::trim).filter(|line| line.starts_with("line ")).collect();
        assert!(ran.code == Some(1) && ran.stderr.contains(code), "{}", ran.shown());
        assert_eq!(told.len(), if wrong.is_empty() { 2 } else { 3 }, "{}", ran.shown());
        for (line, key, id, told) in [(2, "one", &ids[0], told[0]), (5, "three", &ids[2], told[1])] {
            let expected = format!("line {line}: key {key} was used for payout {id}, 1 USDC to ");
            assert!(told.starts_with(&expected), "{told}");
        }
    }
    assert_eq!(folder.run(&["payout", "list"]).stdout.lines().count(), 4, "nothing was asked for");
    let bare = run(&format!("five,{TO},2\n"));
    let told = "`2` names no token: write `2 USDC`, or fill the column `token`";
    assert!(bare.code == Some(1) && bare.stderr.contains(told), "{}", bare.shown());
}

/// As a spreadsheet writes it: a mark of the encoding first, and CRLF at the end of each line.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_a_spreadsheet_is_read_and_its_lines_are_counted_right() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let lines = [
        "key,to,amount,memo",
        &format!("a,{TO},1 USDC,\"rent, March\""),
        "b,0x12,1 USDC,",
        "",
        &format!("c,{TO},1 USDC,\"two"),
        "lines\"",
        &format!("d,{TO},-1 USDC,"),
        "e",
    ];
    for end in ["\n", "\r\n", "\r"] {
        folder.write("wrong.csv", &format!("\u{feff}{}{end}", lines.join(end)));
        let ran = folder.run(&["payout", "create", "--csv", "wrong.csv"]);
        let told: Vec<&str> = ran
            .stderr
            .lines()
            .filter_map(|line| line.trim().split_once(": "))
            .map(|one| one.0)
            .filter(|place| place.starts_with("line "))
            .collect();
        assert_eq!(told, ["line 3", "line 5", "line 7", "line 8"], "{end:?}: {}", ran.shown());
    }
    folder.write("right.csv", &format!("\u{feff}{}\r\n{}\r\n", lines[0], lines[1]));
    let created = json(&folder.run(&["payout", "create", "--csv", "right.csv", "--json"]));
    assert_eq!(created["data"][0]["payout"]["memo"], "rent, March", "{created}");
    assert_eq!(created["data"][0]["payout"]["idempotencyKey"], "a", "{created}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_file_is_asked_for_once_however_often_it_is_given() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let lines: String = (0..50).map(|number| format!("pay-{number},{TO},{number}.5,USDC\n")).collect();
    folder.write("payouts.csv", &format!("key,to,amount,token\n{lines}"));
    // Whole ones and parts of them mean what they look like.
    folder.write("both.csv", &format!("key,to,amount,token\nx,{TO},12,USDC\ny,{TO},12.5,USDC\n"));
    let both = json(&folder.run(&["payout", "create", "--csv", "both.csv", "--json"]));
    assert_eq!(both["data"][0]["payout"]["amount"], "12000000", "{both}");
    assert_eq!(both["data"][1]["payout"]["amount"], "12500000", "{both}");
    for is_new in [true, false] {
        let created = json(&folder.run(&["payout", "create", "--csv", "payouts.csv", "--json"]));
        let created = created["data"].as_array().expect("a list").clone();
        assert_eq!(created.len(), 50);
        assert!(created.iter().all(|one| one["isNew"] == is_new));
    }
    for (text, told) in [
        ("to,amount\n", "no column `key`"),
        ("key;to;amount\n", "no column `key`: its columns are separated by semicolons"),
        ("key,to,amount\n", "no payouts"),
        ("key,to,amount,colour\na,b,c,d\n", "colour"),
    ] {
        folder.write("odd.csv", text);
        let ran = folder.run(&["payout", "create", "--csv", "odd.csv"]);
        assert!(ran.code == Some(1) && ran.stderr.contains(told), "{}", ran.shown());
    }
}

/// As a file, but from a pipe: all or nothing, bounded, and with what is noted on each payout.
#[tokio::test(flavor = "multi_thread")]
async fn payouts_are_created_from_standard_input() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let create = ["payout", "create", "--csv", "-", "--json"];
    let wrong = format!("key,to,amount\na,{TO},1 USDC\nb,0x12,1 USDC\n");
    let ran = folder.run_with_input(&create, wrong.as_bytes());
    let told = "a line of standard input is wrong; nothing was asked for";
    assert!(
        ran.code == Some(1) && ran.stderr.contains(told) && ran.stderr.contains("line 3"),
        "{}",
        ran.shown()
    );
    let long = "x".repeat(501);
    let wrong = format!("key,to,amount,memo,reference\na,{TO},1 USDC,{long},r\nb,{TO},1 USDC,m,\u{202e}r\n");
    let ran = folder.run_with_input(&create, wrong.as_bytes());
    assert!(ran.stderr.contains("a memo has 1 to 500 bytes"), "{}", ran.shown());
    assert!(ran.stderr.contains("a reference has 1 to 200 bytes"), "{}", ran.shown());
    let endless = vec![b'x'; (8 << 20) + 1];
    let ran = folder.run_with_input(&create, &endless);
    assert!(ran.code == Some(1) && ran.stderr.contains("longer than 8388608 bytes"), "{}", ran.shown());
    assert_eq!(folder.run(&["payout", "list"]).stdout, "no payouts\n");
    let text = format!("key,to,amount,memo,reference\na,{TO},1 USDC,\"rent, March\",2041\nb,{TO},2 USDC,,\n");
    for is_new in [true, false] {
        let created = json(&folder.run_with_input(&create, text.as_bytes()));
        let (first, second) = (&created["data"][0], &created["data"][1]);
        assert_eq!((&first["isNew"], &second["isNew"]), (&is_new.into(), &is_new.into()), "{created}");
        assert_eq!(first["payout"]["memo"], "rent, March");
        assert_eq!(first["payout"]["reference"], "2041");
        assert!(second["payout"]["memo"].is_null() && second["payout"]["reference"].is_null());
    }
    let found = json(&folder.run(&["payout", "list", "--reference", "2041", "--json"]));
    assert_eq!(found["data"].as_array().map(Vec::len), Some(1), "{found}");
    let odd = folder.run(&["payout", "create", "--to", TO, "--amount", "1 USDC", "--memo", "a\nb"]);
    assert!(odd.code == Some(2) && odd.stderr.contains("a memo has"), "{}", odd.shown());
}
