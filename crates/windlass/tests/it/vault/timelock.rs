//! What takes the delay: announced, too early, carried out.

use alloy_primitives::U256;

use super::world::{DELAY_BLOCKS, FUNDS, STRANGER, TREASURY, World, account, signer};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_risk_signer_waits_and_is_put_in_force() {
    let world = World::start().await;
    let stranger = account(STRANGER).to_string();
    let told = world.refused(&["execute", "risk-signer", "--yes"]);
    assert!(told.contains("no change of the risk signer is announced"), "{told}");
    let ran = world.done(&["set-risk-signer", &stranger]);
    insta::assert_snapshot!("vault_set_risk_signer", ran.shown());
    insta::assert_snapshot!("vault_announced_already", world.refused(&["set-risk-signer", &stranger]));
    insta::assert_snapshot!("vault_too_early", world.refused(&["execute", "risk-signer", "--yes"]));
    let ran = world.run(&["execute", "risk-signer", "--dry-run"]);
    assert_eq!(ran.code, Some(1), "the answer is no");
    assert!(ran.stderr.contains("it is too early: the change of the risk signer"), "{}", ran.shown());
    assert!(
        ran.stdout.contains("it would be refused: OperationNotReady: it can be carried out from 17"),
        "{}",
        ran.shown()
    );
    world.chain.mine_many(DELAY_BLOCKS);
    let told = world.refused(&["execute", "risk-signer"]);
    assert!(told.contains("void every approval; nothing was sent without --yes"), "{told}");
    world.done(&["execute", "risk-signer", "--yes"]);
    let shown = world.shown();
    assert_eq!(shown["risk_signer"], stranger.as_str());
    assert_eq!((shown["approval_required"].as_bool(), shown["paused"].as_bool()), (Some(true), Some(false)));
    assert!(shown["pending_risk_signer"].is_null());

    let told = world.refused(&["revoke-risk-signer"]);
    assert!(told.contains("nothing was sent without --yes"), "{told}");
    world.done(&["revoke-risk-signer", "--yes"]);
    let shown = world.shown();
    assert!(shown["risk_signer"].is_null() && shown["paused"] == true && shown["approval_required"] == true);
    let told = world.refused(&["revoke-risk-signer", "--yes"]);
    assert!(told.contains("RiskSignerNotSet: the vault has no risk signer"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_announced_is_dropped_or_announced_anew() {
    let world = World::start().await;
    let ready_at = || world.shown()["pending_risk_signer"]["ready_at_s"].as_u64();
    world.done(&["set-risk-signer", "none"]);
    let first = ready_at().expect("announced");
    world.done(&["set-risk-signer", "none", "--again"]);
    assert!(ready_at().expect("announced") > first, "the delay begins again");
    world.done(&["set-risk-signer", &account(STRANGER).to_string()]);
    world.done(&["cancel", "risk-signer"]);
    assert_eq!(ready_at(), None);
    let told = world.refused(&["cancel", "risk-signer"]);
    assert!(told.contains("NothingScheduled: nothing is announced"), "{told}");
    world.done(&["set-risk-signer", "none"]);
    // The delay, and the seven days in which it can be carried out.
    world.chain.mine_many(DELAY_BLOCKS + 7 * 24 * 6 + 1);
    let told = world.refused(&["execute", "risk-signer", "--yes"]);
    assert!(
        told.contains("it is too late: the change of the risk signer could be carried out until 2023-"),
        "{told}"
    );
    assert_eq!(world.shown()["pending_risk_signer"]["status"], "expired");
    world.done(&["set-risk-signer", "none"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_admins_role_is_handed_over() {
    let world = World::with(&signer("stranger")).await;
    let stranger = account(STRANGER).to_string();
    let told = world.refused(&["begin-admin", &stranger, "--signer", "admin"]);
    assert!(told.contains("nothing was sent without --yes"), "{told}");
    world.done(&["begin-admin", &stranger, "--signer", "admin", "--yes"]);
    let shown = world.shown();
    assert_eq!(
        (shown["pending_admin"]["account"].as_str(), shown["pending_admin"]["status"].as_str()),
        (Some(stranger.as_str()), Some("waiting"))
    );
    let told = world.refused(&["accept-admin", "--signer", "stranger", "--yes"]);
    assert!(told.contains("it is too early: the change of the admin can be carried out from"), "{told}");
    world.chain.mine_many(DELAY_BLOCKS);
    let told = world.refused(&["accept-admin", "--signer", "stranger"]);
    assert!(told.contains("nothing was sent without --yes"), "{told}");
    let told = world.refused(&["accept-admin", "--signer", "admin", "--yes"]);
    assert!(told.contains("NotPendingAdmin: the announced admin is"), "{told}");
    world.done(&["accept-admin", "--signer", "stranger", "--yes"]);
    assert_eq!(world.shown()["admin"], stranger.as_str());
    let told = world.refused(&["deny", &stranger, "--signer", "admin"]);
    assert!(told.contains("AccessControlUnauthorizedAccount"), "{told}");
    world.done(&["begin-admin", &account(0).to_string(), "--signer", "stranger", "--yes"]);
    world.done(&["cancel", "admin", "--signer", "stranger"]);
    assert!(world.shown()["pending_admin"].is_null());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_are_withdrawn_to_the_treasury() {
    let world = World::start().await;
    world.done(&["set-limit", "--token", "DUSD", "--per-payout", "none", "--per-day", "none"]);
    let told = world.refused(&["emergency-withdraw", "--token", "DUSD", "--yes"]);
    assert!(told.contains("ExpectedPause"), "{told}");
    world.done(&["pause"]);
    let told = world.refused(&["emergency-withdraw", "--token", "DUSD"]);
    assert!(
        told.contains("nothing was sent without --yes") && told.contains("whatever the vault holds then"),
        "{told}"
    );
    world.done(&["emergency-withdraw", "--token", "DUSD", "--yes"]);
    world.done(&["cancel", "emergency-withdrawal", "--token", "DUSD"]);
    world.done(&["emergency-withdraw", "--token", "DUSD", "--amount", "12.5", "--yes"]);
    let execute = ["execute", "emergency-withdrawal", "--token", "DUSD", "--yes"];
    let told = world.refused(&execute);
    assert!(told.contains("it is too early: the emergency withdrawal"), "{told}");
    let text = world.done(&["show"]).stdout;
    assert!(
        text.contains(&format!("announced: 12.5 of DUSD {} to the treasury, ready from", world.token)),
        "{text}"
    );
    world.chain.mine_many(DELAY_BLOCKS);
    world.done(&execute);
    let treasury = account(TREASURY);
    assert_eq!(world.balance(world.token, treasury), U256::from(12_500_000));
    let told = world.refused(&execute);
    assert!(told.contains("no emergency withdrawal is announced"), "the same again does nothing: {told}");
    world.done(&["emergency-withdraw", "--token", "DUSD", "--yes"]);
    world.chain.mine_many(DELAY_BLOCKS);
    world.done(&execute);
    assert_eq!(world.balance(world.token, treasury), U256::from(FUNDS), "everything");
}
