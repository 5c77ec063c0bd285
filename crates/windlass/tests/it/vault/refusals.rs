//! What is refused before anything is sent.

use windlass_core::chain::ChainId;
use windlass_core::commit::{Commit, Write};
use windlass_core::payout::ledger::{PayWrite, SignerRow};
use windlass_core::store::{Door, Health};
use windlass_core::time::Timestamp;
use windlass_store_sqlite::{SqliteOptions, SqliteStore};

use super::world::{ADMIN, World, account, config, keys, signer};
use crate::binary::{Folder, NOBODY};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_that_pays_sends_nothing_else() {
    let world = World::start().await;
    insta::assert_snapshot!("vault_payer", world.refused(&["pause", "--signer", "operator"]));
    let text = world.folder.read("windlass.toml").replace("\"env:ADMIN\"", "\"env:OPERATOR\"");
    world.folder.write("windlass.toml", &text);
    let told = world.refused(&["pause", "--signer", "admin"]);
    assert!(told.contains("signer `admin` has the key of `operator`"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_that_has_paid_sends_nothing_else() {
    let world = World::start().await;
    let path = world.folder.path().join("windlass.db");
    let store = SqliteStore::open(SqliteOptions::file(path)).await.expect("a store");
    let chain = ChainId::new(31_337).expect("an id");
    let row = SignerRow::new(chain, account(ADMIN), 9, Timestamp::from_ms(0));
    store.commit(Commit::of(vec![Write::Pay(PayWrite::Signer(row))])).await.expect("stored");
    store.close().await;
    let told = world.refused(&["pause"]);
    assert!(
        told.contains(&format!(
            "{}, signer `admin`, sends payouts: its nonces belong to paying",
            account(ADMIN)
        )),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_sends_has_to_be_clear() {
    let world = World::with(&(signer("guardian") + &signer("stranger"))).await;
    insta::assert_snapshot!("vault_which_signer", world.refused(&["pause"]));
    // Who approves does not rule, unless told to.
    let text = world.folder.read("windlass.toml");
    let approving = "development = true\nrisk_signer = \"stranger\"";
    world.folder.write("windlass.toml", &text.replace("development = true", approving));
    let told = world.refused(&["pause"]);
    assert!(told.contains("name one with --signer: admin, guardian\n"), "{told}");
    let told = world.refused(&["pause", "--signer", "nobody"]);
    assert!(told.contains("error[W0606]: signer `nobody` cannot be used"), "{told}");
    let text = world.folder.read("windlass.toml").replace("\"env:STRANGER\"", "\"env:NOT_SET\"");
    world.folder.write("windlass.toml", &text);
    let told = world.refused(&["pause", "--signer", "stranger"]);
    assert!(told.contains("NOT_SET") && told.contains("W0003"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_has_to_be_clear_and_a_vault() {
    let world = World::start().await;
    for (typed, words) in [
        (&["pause", "--vault", &account(5).to_string()][..], "there is no vault at that address"),
        (&["pause", "--vault", &world.token.to_string()], "cannot be used as a vault"),
        (&["show", "--chain", "moon"], "there is no `[chain.moon]`"),
    ] {
        let told = world.refused(typed);
        assert!(told.contains(words), "{typed:?}: {told}");
    }
    let chain = format!("[chain.local]\nid = 31337\nrpc = [\"{}\"]\n", world.url());
    let folder = keys(Folder::with_config(&(chain + &signer("admin"))));
    let ran = folder.run(&["vault", "pause"]);
    assert!(
        ran.code == Some(1) && ran.stderr.contains("error[W0601]: which chain is meant"),
        "{}",
        ran.shown()
    );
    let ran = folder.run(&["vault", "pause", "--chain", "local"]);
    assert!(
        ran.code == Some(1) && ran.stderr.contains("error[W0601]: which vault is meant"),
        "{}",
        ran.shown()
    );
    let named = ["vault", "pause", "--chain", "local", "--vault", &world.vault.to_string()];
    assert_eq!(folder.run(&named).code, Some(0), "without `[pay]`, by flags alone");
}

#[test]
fn an_endpoint_that_is_away_is_said_so() {
    let nobody = format!("http://{NOBODY}");
    let folder = keys(Folder::with_config(&config(&nobody, account(8), account(9))));
    let ran = folder.run(&["vault", "show"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("error[W0201]"), "{}", ran.shown());
}

#[test]
fn wrong_usage_ends_with_2() {
    let folder = Folder::new();
    let who = account(3).to_string();
    for typed in [
        &["fly"][..],
        &["deny"],
        &["deny", "0x12"],
        &["grant", "admin", &who],
        &["set-limit", "--token", "DUSD"],
        &["execute", "emergency-withdrawal", "--yes"],
        &["cancel", "emergency-withdrawal"],
        &["pause", "--dry-run", "--calldata", "f"],
        &["pause", "--nonce", "1", "--dry-run"],
        &["deploy", "--operator", &who],
        &["pause", "--timeout", "soon"],
    ] {
        let ran = folder.run(&[&["vault"], typed].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{typed:?}: {}", ran.shown());
    }
}
