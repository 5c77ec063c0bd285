//! What can be typed.

use crate::binary::Folder;

#[test]
fn every_command_has_help() {
    let folder = Folder::new();
    for command in [
        "",
        "demo",
        "devnet",
        "init",
        "run",
        "doctor",
        "status",
        "index",
        "index list",
        "index show",
        "index misfits",
        "index add",
        "index pause",
        "index resume",
        "index drop",
        "index rewind",
        "export",
        "sql",
        "audit",
        "payout",
        "payout create",
        "payout list",
        "payout export",
        "payout show",
        "payout approve",
        "payout reject",
        "payout cancel",
        "payout retry",
        "pay",
        "pay init",
        "pay accept-chain",
        "pay reconcile",
        "risk",
        "risk check",
        "signer",
        "signer create",
        "signer list",
        "signer resume",
        "key",
        "key create",
        "key list",
        "key revoke",
        "audit-log",
        "audit-log verify",
        "audit-log list",
        "audit-log head",
        "audit-log accept",
        "audit-log repair",
        "jobs",
        "jobs list",
        "jobs dead",
        "jobs show",
        "jobs retry",
        "config",
        "config show",
        "config check",
        "config schema",
        "config example",
        "explain",
        "completions",
        "version",
    ] {
        let mut args: Vec<&str> = command.split_whitespace().collect();
        args.push("--help");
        let ran = folder.run(&args);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{command}");
        assert!(ran.stdout.contains("\nExamples:\n  windlass "), "{command}: {}", ran.stdout);
        let name = format!("help {command}").trim().replace(' ', "_");
        insta::assert_snapshot!(name, ran.stdout);
    }
}

#[test]
fn help_is_a_command_too() {
    let folder = Folder::new();
    assert_eq!(folder.run(&["help"]).stdout, folder.run(&["--help"]).stdout);
    assert_eq!(
        folder.run(&["help", "jobs", "retry"]).stdout,
        folder.run(&["jobs", "retry", "--help"]).stdout
    );
}
