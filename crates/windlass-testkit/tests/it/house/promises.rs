//! What the documents promise exists: the tests that ARCHITECTURE.md and the
//! conformance table name, and the files they point to.

use std::collections::BTreeSet;

use super::source::{files, root};

/// Every test of the project, as a bare name: functions under a test attribute or in
/// `proptest!`, cases of the conformance suite, and tests that a macro makes of a list.
fn test_names() -> BTreeSet<String> {
    files("crates", &["rs"]).iter().flat_map(|file| tests_of(&file.path, &file.text)).collect()
}

fn tests_of(path: &str, text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut under_test = false;
    for line in text.lines().map(str::trim) {
        let name =
            |from: &str| from.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        let declared = line.split_once("fn ").map(|(_, after)| name(after));
        let is_case = path.contains("/conformance/") && line.starts_with("pub async fn ");
        match declared {
            Some(declared) if under_test || is_case => names.push(declared),
            None if line.contains("Script") && line.contains(": ") => names.push(name(line)),
            _ => {}
        }
        under_test = line.starts_with("#[") && line.contains("test");
    }
    names
}

/// Back-quoted words of a document that look like a test: snake case, at least two underscores.
fn named_tests(document: &str) -> BTreeSet<String> {
    let quoted = document.split('`').skip(1).step_by(2);
    let last = quoted.filter_map(|word| word.rsplit("::").next());
    let is_test = |word: &&str| {
        word.matches('_').count() >= 2
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    last.filter(is_test).map(str::to_owned).collect()
}

fn check(document: &str, at_least: usize) {
    let text = std::fs::read_to_string(root().join(document)).expect("the document");
    let named = named_tests(&text);
    assert!(named.len() >= at_least, "{document} names {} tests, {at_least} were expected", named.len());
    let existing = test_names();
    let missing: Vec<_> = named.difference(&existing).collect();
    assert!(missing.is_empty(), "{document} names tests that do not exist: {missing:#?}");
}

#[test]
fn every_invariant_names_a_test_that_exists() {
    check("ARCHITECTURE.md", 10);
}

#[test]
fn every_case_of_the_references_names_a_test_that_exists() {
    check("docs/conformance.md", 20);
}

#[test]
fn the_rule_sees_a_missing_test() {
    let named = named_tests("see `store::no_such_test_here` and `crates/windlass`");
    assert_eq!(named.into_iter().collect::<Vec<_>>(), ["no_such_test_here"]);
    let text = "fn a_mere_helper_function() {}\n#[test]\nfn a_test_of_something() {}";
    assert_eq!(tests_of("x.rs", text), ["a_test_of_something"]);
}
