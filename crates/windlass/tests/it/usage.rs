//! Wrong usage ends with 2, and colour is decoration.

use crate::binary::Folder;

#[test]
fn wrong_usage_ends_with_2() {
    let folder = Folder::new();
    for args in [
        &[][..],
        &["fly"],
        &["status", "--jsn"],
        &["jobs", "show", "seven"],
        &["jobs", "retry"],
        &["run", "--role", "cook"],
        &["devnet", "--faults", "rain=0.5"],
        &["devnet", "--accounts", "11"],
        &["demo", "--for", "ever"],
        &["demo", "--block-time", "0s"],
        &["devnet", "--port", "0", "--block-time", "0s"],
        &["devnet", "--port", "0", "--block-time", "87601h"],
        &["init", "--rpc", "http:///hunter2"],
        &["init", "--rpc", "http:hunter2"],
        &["init", "--rpc", "env:"],
        &["-v", "-q", "version"],
        &["init", "--rpc", "ftp://h.example/hunter2"],
    ] {
        let ran = folder.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.shown());
        assert_eq!(ran.stdout, "", "{args:?}");
        assert!(!ran.stderr.is_empty() && !ran.stderr.contains("hunter2"), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_slip_of_the_pen_is_understood() {
    insta::assert_snapshot!("usage_unknown_command", Folder::new().run(&["statsu"]).shown());
}

#[test]
fn whatever_is_misspelt_gets_a_suggestion() {
    let folder = Folder::new();
    for (typed, near) in [
        (&["statsu"][..], "'status'"),
        (&["vualt", "show"], "'vault'"),
        (&["vault", "set-limt"], "'set-limit'"),
        (&["payout", "aprove"], "'approve'"),
        (&["audit-log", "verfy"], "'verify'"),
        (&["index", "misfit", "x"], "'misfits'"),
        (&["status", "--jsn"], "'--json'"),
        (&["run", "--role", "colect"], "'collect'"),
        (&["vault", "grant", "operater", "0x00000000000000000000000000000000000000a1"], "'operator'"),
        (&["completions", "bsh"], "'bash'"),
        (&["explain", "W068"], "W0608"),
        (&["payout", "list", "--state", "aproved"], "approved"),
    ] {
        let ran = folder.run(typed);
        assert!(ran.code == Some(2) && ran.stderr.contains(near), "{typed:?}: {}", ran.shown());
    }
}

#[test]
fn colour_only_where_it_is_wanted() {
    let folder = Folder::new();
    let coloured = |ran: &crate::binary::Ran| ran.stderr.contains('\u{1b}');
    assert!(!coloured(&folder.run(&["status"])));
    assert!(coloured(&folder.run(&["--color", "always", "status"])));
    let folder = Folder::new().variable("NO_COLOR", "1").variable("CLICOLOR_FORCE", "1");
    assert!(!coloured(&folder.run(&["status"])));
}
