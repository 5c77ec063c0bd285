//! Who may do what: keys, roles, and that nobody approves what they have asked for.

use super::world::{PayWorld, TO, create, json};
use crate::binary::Folder;

/// The same folder with another caller.
fn with_key(folder: &Folder, key: &str, args: &[&str]) -> crate::binary::Ran {
    folder.run_with(&[("WINDLASS_API_KEY", key)], args)
}

fn key(folder: &Folder, admin: Option<&str>, role: &str, name: &str) -> String {
    let args = ["key", "create", "--role", role, "--name", name, "--json"];
    let made = match admin {
        Some(admin) => with_key(folder, admin, &args),
        None => folder.run(&args),
    };
    json(&made)["key"].as_str().expect("a key").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_hold_and_nobody_approves_what_they_have_asked_for() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let config = world.config("").replace("development = true\n", "");
    // Nothing signs here, so a bare key is not named either.
    let config = config.replace("signers = [\"ops\"]\n", "");
    folder.write("windlass.toml", &config);
    let ask = ["payout", "create", "--to", TO, "--amount", "1 USDC", "--key", "k", "--json"];
    let nobody = folder.run(&ask);
    assert!(nobody.code == Some(1) && nobody.stderr.contains("W0605"), "{}", nobody.shown());

    let admin = key(&folder, None, "admin", "alice");
    let late = folder.run(&["key", "create", "--role", "admin", "--name", "mallory"]);
    assert!(late.code == Some(1) && late.stderr.contains("W0605"), "{}", late.shown());
    let taken = with_key(&folder, &admin, &["key", "create", "--role", "viewer", "--name", "alice"]);
    assert!(taken.code == Some(1) && taken.stderr.contains("never given twice"), "{}", taken.shown());
    let viewer = key(&folder, Some(&admin), "viewer", "vera");
    let operator = key(&folder, Some(&admin), "operator", "otto");
    let approver = key(&folder, Some(&admin), "approver", "anna");
    assert!(!folder.run(&["key", "list"]).stdout.contains(&admin));

    for weak in [&viewer, &approver] {
        let ran = with_key(&folder, weak, &ask);
        assert!(ran.code == Some(1) && ran.stderr.contains("W0605"), "{}", ran.shown());
    }
    assert_eq!(folder.run(&["payout", "list"]).stdout, "no payouts\n");
    let id = json(&with_key(&folder, &admin, &ask))["payout"]["id"].as_str().expect("an id").to_owned();
    for weak in [&viewer, &operator, &admin] {
        let ran = with_key(&folder, weak, &["payout", "approve", &id]);
        assert!(ran.code == Some(1) && ran.stderr.contains("W0605"), "{}", ran.shown());
    }
    let approved = with_key(&folder, &approver, &["payout", "approve", &id]);
    assert!(approved.code == Some(0) && approved.stdout.contains("APPROVED"), "{}", approved.shown());

    assert_eq!(with_key(&folder, &admin, &["key", "revoke", "anna"]).code, Some(0));
    let revoked = with_key(&folder, &approver, &["payout", "reject", &id, "--reason", "x"]);
    assert!(revoked.code == Some(1) && revoked.stderr.contains("revoked"), "{}", revoked.shown());
    let recovered = folder.run(&["key", "create", "--role", "admin", "--name", "bob", "--recover"]);
    assert_eq!(recovered.code, Some(0), "{}", recovered.shown());
    let log = folder.run(&["audit-log", "list", "--limit", "100"]).stdout;
    assert!(log.contains("key.created") && log.contains("key.revoked") && log.contains("cli/"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_processes_one_creates_the_first_admins_key() {
    let world = PayWorld::start().await;
    let config = world.config("").replace("development = true\n", "");
    let config = config.replace("signers = [\"ops\"]\n", "");
    for _ in 0..5 {
        let folder = world.folder("");
        folder.write("windlass.toml", &config);
        let create = |name| folder.start(&["key", "create", "--role", "admin", "--name", name]);
        let both = [create("alice"), create("mallory")].map(|process| process.end());
        let codes = both.each_ref().map(|(status, _)| status.code());
        assert!(codes == [Some(0), Some(1)] || codes == [Some(1), Some(0)], "{both:?}");
        let keys = folder.run(&["key", "list"]).stdout;
        assert_eq!(keys.matches("admin").count(), 1, "{keys}");
    }
}

/// A restored database gives a revoked key back: its holder must not be the one who accepts it.
#[tokio::test(flavor = "multi_thread")]
async fn an_admin_alone_accepts_a_database_that_was_put_back() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let config = world.config("audit_head = \"keys/head.json\"").replace("development = true\n", "");
    folder.write("windlass.toml", &config.replace("signers = [\"ops\"]\n", ""));
    let admin = key(&folder, None, "admin", "alice");
    let approver = key(&folder, Some(&admin), "approver", "bob");
    let backup = std::fs::read(folder.path().join("windlass.db")).expect("a backup");
    assert_eq!(with_key(&folder, &admin, &["key", "revoke", "bob"]).code, Some(0));
    std::fs::write(folder.path().join("windlass.db"), backup).expect("restored");
    let accept = ["audit-log", "accept", "--yes"];
    for refused in [with_key(&folder, &approver, &accept), folder.run(&accept)] {
        assert!(refused.code == Some(1) && refused.stderr.contains("W0605"), "{}", refused.shown());
    }
    // Nothing else can be done before: a revocation that was lost is made again afterwards.
    let revoke = ["key", "revoke", "bob"];
    let early = with_key(&folder, &admin, &revoke);
    assert!(early.code == Some(1) && early.stderr.contains("W0609"), "{}", early.shown());
    assert!(
        early.stderr.contains("windlass audit-log accept"),
        "the hint says what comes first: {}",
        early.shown()
    );
    let unsure = with_key(&folder, &admin, &["audit-log", "accept"]);
    assert!(unsure.stderr.contains("after it, make"), "{}", unsure.shown());
    let accepted = with_key(&folder, &admin, &accept);
    assert_eq!(accepted.code, Some(0), "{}", accepted.shown());
    assert!(accepted.stdout.contains("next: make revocations, rejections"), "{}", accepted.shown());
    assert!(folder.run(&["audit-log", "list"]).stdout.contains("alice"));
    assert_eq!(with_key(&folder, &admin, &revoke).code, Some(0));
    let late = with_key(&folder, &approver, &["payout", "reject", "k", "--reason", "x"]);
    assert!(late.code == Some(1) && late.stderr.contains("revoked"), "{}", late.shown());
}

#[tokio::test(flavor = "multi_thread")]
async fn more_money_takes_more_approvers() {
    let world = PayWorld::start().await;
    let folder = world.folder("[pay.approval]\nfrom = { \"100 USDC\" = 2 }");
    let first = key(&folder, None, "approver", "first");
    let second = key(&folder, None, "approver", "second");
    let id = create(&folder, "large", "100 USDC");
    let one = with_key(&folder, &first, &["payout", "approve", &id]);
    assert!(one.stdout.contains("1 of 2 approvals, waits for more"), "{}", one.shown());
    let again = with_key(&folder, &first, &["payout", "approve", &id]);
    assert!(again.stdout.contains("1 of 2"), "{}", again.shown());
    let two = with_key(&folder, &second, &["payout", "approve", &id]);
    assert!(two.stdout.contains("APPROVED, 2 of 2"), "{}", two.shown());
}
