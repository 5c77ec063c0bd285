//! Payouts that wait because the chain does not answer, or because no process pays, say so; so do
//! `/readyz`, `status`, `doctor` and `signer list`.

use std::net::TcpListener;

use super::moved::{approved, finding};
use super::world::{PayWorld, create};
use crate::collect::http::{get, url_in};
use crate::collect::world::until;

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_does_not_answer_is_told_where_payouts_wait_for_it() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let id = approved(&folder, "invoice-1");
    let closed = TcpListener::bind(("127.0.0.1", 0)).expect("a port").local_addr().expect("its number");
    let line = |line: &str| match line.starts_with("rpc = ") {
        true => format!("rpc = [\"http://{closed}\"]\n"),
        false => format!("{line}\n"),
    };
    folder.write("windlass.toml", &world.config("").lines().map(line).collect::<String>());
    let mut running = folder.start(&["run", "--role", "pay,api"]);
    let url = url_in(&running.wait_for("serving what was collected"));
    let words = "the endpoints of the vault's chain do not answer: ";
    until(|| match get(&url, "/readyz") {
        (503, body) if body.contains("W0201") && body.contains(words) => Ok(()),
        (status, body) => Err(format!("{status}: {body}")),
    });
    until(|| {
        let shown = folder.run(&["payout", "show", &id]).stdout;
        if shown.contains(&format!("waits for    {words}")) { Ok(()) } else { Err(shown) }
    });
    assert!(folder.run(&["payout", "list"]).stdout.contains(words));
    let signers = folder.run(&["signer", "list"]);
    assert!(
        signers.code == Some(1) && signers.stdout.contains("what it has for gas is not known: "),
        "{}",
        signers.shown()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn payouts_that_no_process_pays_are_told_until_one_does() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let undecided = create(&folder, "invoice-1", "1 USDC");
    let id = approved(&folder, "invoice-2");
    let words = "waits for    a process: none pays from its vault now; start `windlass run`";
    let shown = |id: &str| folder.run(&["payout", "show", id]).stdout;
    assert!(shown(&id).contains(words), "{}", shown(&id));
    assert!(!shown(&undecided).contains("waits for"), "it waits for a person: {}", shown(&undecided));

    let mut running = folder.start(&["run", "--role", "api"]);
    let url = url_in(&running.wait_for("serving what was collected"));
    let warning =
        format!("1 payout of vault {} on chain 31337 waits, and no process pays from it now", world.vault);
    until(|| match get(&url, "/readyz") {
        (503, body) if body.contains("W0614") && body.contains(&warning) => Ok(()),
        (status, body) => Err(format!("{status}: {body}")),
    });
    let status = folder.run(&["status"]);
    let is_told = status.stdout.contains(&format!("warning[W0614]: {warning}"));
    assert!(is_told && status.stdout.contains("hint: start `windlass run`"), "{}", status.shown());
    let found = finding(&folder, "pay.payouts").expect("a finding");
    assert_eq!((&found["level"], &found["code"]), (&"failure".into(), &"W0614".into()), "{found}");
    let listed = folder.run(&["payout", "list"]);
    assert!(listed.stderr.contains(&warning), "{}", listed.shown());

    let _paying = folder.start(&["run", "--role", "pay"]);
    world.until_payout(&folder, &id, |payout| payout["state"] == "CONFIRMED");
    until(|| match get(&url, "/readyz") {
        (_, body) if !body.contains("W0614") => Ok(()),
        (status, body) => Err(format!("{status}: {body}")),
    });
    assert!(!folder.run(&["status"]).stdout.contains("W0614"));
}
