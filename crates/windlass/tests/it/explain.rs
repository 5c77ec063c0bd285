//! `windlass explain`

use crate::binary::Folder;
use crate::collect::terminal::Shown;

#[test]
fn a_code_is_explained_in_any_case() {
    let folder = Folder::new();
    let page = folder.run(&["explain", "W0102"]);
    insta::assert_snapshot!("explain_W0102", page.shown());
    assert_eq!(folder.run(&["explain", "w0102"]).stdout, page.stdout);
}

/// On a terminal of 80 columns: headings and code by style, and no row wider than the terminal.
#[test]
fn on_a_terminal_a_page_is_rendered() {
    let mut shown = Shown::start_for_output(&Folder::new(), &["explain", "W0608"], (24, 80));
    shown.until(&["the account was halted."]);
    assert_eq!(shown.end(), Some(0));
    assert!(shown.text.contains("\u{1b}[1mWhat to do\u{1b}[0m"), "{}", shown.text);
    insta::assert_snapshot!("explain_terminal", anstream::adapter::strip_str(&shown.text).to_string());
}

#[test]
fn without_a_code_all_are_listed() {
    insta::assert_snapshot!("explain_all", Folder::new().run(&["explain"]).shown());
}

#[test]
fn an_unknown_code_is_wrong_usage() {
    insta::assert_snapshot!("explain_unknown", Folder::new().run(&["explain", "W9999"]).shown());
    insta::assert_snapshot!("explain_near", Folder::new().run(&["explain", "w068"]).shown());
}

/// What a page tells to type is not refused for want of a confirmation that the page does not name.
#[test]
fn pages_name_the_confirmation_that_a_command_wants() {
    let folder = Folder::new();
    let list = folder.run(&["explain"]).stdout;
    let codes: Vec<&str> =
        list.lines().filter_map(|line| line.split(':').next()).filter(|code| code.starts_with('W')).collect();
    assert!(codes.len() > 40, "{list}");
    let confirmed = [
        "signer resume",
        "payout resend",
        "pay accept-chain",
        "audit-log accept",
        "audit-log repair",
        "index rewind",
        "index drop",
    ];
    let mut named = 0;
    for code in codes {
        let page = folder.run(&["explain", code]).stdout;
        let (_, page) = page.split_once("What to do").unwrap_or_else(|| panic!("{code}: {page}"));
        for command in confirmed {
            if page.contains(&format!("windlass {command}")) {
                assert!(page.contains("--yes"), "{code} names `windlass {command}` without --yes");
                named += 1;
            }
        }
    }
    assert!(named >= 5, "{named}");
}
