//! What the documents promise exists: the tests that ARCHITECTURE.md and the
//! conformance table name, and the files they point to.

use std::collections::BTreeSet;

use super::source::{files, root};

/// Every test function and generated case in the project, as a bare name.
fn test_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in files("crates", &["rs"]) {
        for line in file.text.lines() {
            if let Some((_, after)) = line.split_once("fn ") {
                names.insert(after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
            }
        }
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
}
