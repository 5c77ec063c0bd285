//! Keys that sign: made, listed, and accounts that were halted and go on.

use alloy_primitives::{Address, U256};

use super::world::{PayWorld, create, json, mintCall};
use crate::binary::Folder;
use crate::collect::http::{get, url_in};
use crate::collect::world::until;

#[test]
fn a_keystore_is_made_once_and_opens() {
    let folder = Folder::new().variable("PASS", "correct horse battery");
    let make = ["signer", "create", "--keystore", "ops.json", "--passphrase", "env:PASS", "--json"];
    let account = json(&folder.run(&make))["account"].as_str().expect("an account").to_owned();
    let again = folder.run(&make);
    assert!(
        again.code == Some(1) && again.stderr.contains("W0606") && again.stderr.contains("never replaced"),
        "{}",
        again.shown()
    );
    folder.write("windlass.toml", "[signer.ops]\nkeystore = \"ops.json\"\npassphrase = \"env:PASS\"\n");
    let listed = json(&folder.run(&["signer", "list", "--json"]));
    assert_eq!(listed[0]["account"], account.as_str());
    let plain = folder.run(&["signer", "create", "--keystore", "x.json", "--passphrase", "hunter2"]);
    assert!(plain.code == Some(2) && !plain.stderr.contains("hunter2"), "{}", plain.shown());
    let wrong = folder.variable("PASS", "another one");
    let ran = wrong.run(&["signer", "list"]);
    assert!(ran.code == Some(1) && ran.stdout.contains("does not open"), "{}", ran.shown());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_used_elsewhere_halts_and_goes_on_when_a_person_says_so() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let first = create(&folder, "first", "1 USDC");
    assert_eq!(folder.run(&["payout", "approve", &first]).code, Some(0));
    let mut running = folder.start(&["run", "--role", "pay,api"]);
    let line = running.wait_for("serving what was collected");
    let url = url_in(&line);
    world.until_payout(&folder, &first, |payout| payout["state"] == "CONFIRMED");
    // The paying account sends something that nobody here has signed.
    world.act(1, world.token, &mintCall { to: Address::repeat_byte(7), amount: U256::ONE });
    until(|| match get(&url, "/readyz") {
        (503, body) if body.contains("W0608") => Ok(()),
        (_, body) => Err(body),
    });
    let second = create(&folder, "second", "1 USDC");
    assert_eq!(folder.run(&["payout", "approve", &second]).code, Some(0));
    let asked = folder.run(&["signer", "resume", "ops"]);
    assert!(
        asked.code == Some(1) && asked.stderr.contains("W0608") && asked.stderr.contains("--yes"),
        "{}",
        asked.shown()
    );
    let early = folder.run(&["signer", "resume", "ops", "--yes"]);
    assert!(early.code == Some(1) && early.stderr.contains("not final yet"), "{}", early.shown());
    world.chain.mine_many(10);
    let resumed = folder.run(&["signer", "resume", "ops", "--yes"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.shown());
    world.until_payout(&folder, &second, |payout| payout["state"] == "CONFIRMED");
    assert_eq!(world.paid().0, 2);
    let log = folder.run(&["audit-log", "list", "--limit", "500"]).stdout;
    assert!(log.contains("signer.halted") && log.contains("signer.resumed"), "{log}");
}
