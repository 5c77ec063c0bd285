//! Pausing, the denylist, roles.

use super::world::{GUARDIAN, STRANGER, World, account, signer};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payouts_are_stopped_and_let_go_on() {
    let world = World::with(&signer("guardian")).await;
    let ran = world.done(&["pause", "--signer", "guardian"]);
    insta::assert_snapshot!("vault_pause", ran.shown());
    assert_eq!(world.shown()["paused"], true);
    insta::assert_snapshot!("vault_pause_again", world.refused(&["pause", "--signer", "guardian"]));
    let told = world.refused(&["unpause", "--signer", "guardian"]);
    let guardian = account(GUARDIAN);
    assert!(
        told.contains(&format!("AccessControlUnauthorizedAccount: {guardian} lacks the vault's ADMIN_ROLE")),
        "{told}"
    );
    world.done(&["unpause", "--signer", "admin"]);
    assert_eq!(world.shown()["paused"], false);
    let told = world.refused(&["unpause", "--signer", "admin"]);
    assert!(told.contains("ExpectedPause: the vault is not paused"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_is_denied_and_allowed() {
    let world = World::start().await;
    let stranger = account(STRANGER).to_string();
    for _ in 0..2 {
        world.done(&["deny", &stranger]);
        assert_eq!(world.shown()["roles"]["denied"][0], stranger, "twice is as good as once");
    }
    world.done(&["allow", &stranger]);
    assert_eq!(world.shown()["roles"]["denied"].as_array().map(Vec::len), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roles_are_given_and_taken() {
    let world = World::start().await;
    let stranger = account(STRANGER).to_string();
    for (role, list) in [("operator", "operators"), ("guardian", "guardians")] {
        let has = || {
            let shown = world.shown();
            let listed = shown["roles"][list].as_array().expect("a list");
            assert!(!listed.is_empty(), "the first one stays");
            listed.iter().any(|account| account == stranger.as_str())
        };
        world.done(&["grant", role, &stranger]);
        assert!(has(), "{role}");
        let told = world.refused(&["revoke", role, &stranger]);
        assert!(told.contains(&format!("_ROLE from {stranger}; nothing was sent without --yes")), "{told}");
        world.done(&["revoke", role, &stranger, "--yes"]);
        assert!(!has(), "{role}");
    }
}
