//! Many payouts of one file: all, or none, and what is wrong is told by line.

use super::world::{PayWorld, TO, json};

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

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_file_is_asked_for_once_however_often_it_is_given() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let lines: String = (0..50).map(|number| format!("pay-{number},{TO},{number}.5,USDC\n")).collect();
    folder.write("payouts.csv", &format!("key,to,amount,token\n{lines}"));
    // Whole ones and parts of them mean what they look like.
    folder.write("both.csv", &format!("key,to,amount,token\nx,{TO},12,USDC\ny,{TO},12.5,USDC\n"));
    let both = json(&folder.run(&["payout", "create", "--csv", "both.csv", "--json"]));
    assert_eq!(both[0]["payout"]["request"]["amount"], "12000000", "{both}");
    assert_eq!(both[1]["payout"]["request"]["amount"], "12500000", "{both}");
    for is_new in [true, false] {
        let created = json(&folder.run(&["payout", "create", "--csv", "payouts.csv", "--json"]));
        let created = created.as_array().expect("a list").clone();
        assert_eq!(created.len(), 50);
        assert!(created.iter().all(|one| one["is_new"] == is_new));
    }
    for (text, told) in [
        ("to,amount\n", "no column `key`"),
        ("key,to,amount\n", "no payouts"),
        ("key,to,amount,colour\na,b,c,d\n", "colour"),
    ] {
        folder.write("odd.csv", text);
        let ran = folder.run(&["payout", "create", "--csv", "odd.csv"]);
        assert!(ran.code == Some(1) && ran.stderr.contains(told), "{}", ran.shown());
    }
}
