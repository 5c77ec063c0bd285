//! What the documents promise exists: the tests that ARCHITECTURE.md and the
//! conformance table name, where they say that they are.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{files, root};

/// Every test of the project by its bare name, with the files that have one: functions
/// under a test attribute or in `proptest!`, cases of the conformance suite and of the
/// collector, tests that a macro makes of a list, and Foundry's.
fn test_names() -> BTreeMap<String, Vec<String>> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files("crates", &["rs"]) {
        for name in tests_of(&file.path, &file.text) {
            places.entry(name).or_default().push(file.path.clone());
        }
    }
    for file in files("contracts/test", &["sol"]) {
        for name in foundry_tests_of(&file.text) {
            places.entry(name).or_default().push(file.path.clone());
        }
    }
    places
}

/// The tests of a Solidity file: Foundry runs what begins with that word.
fn foundry_tests_of(text: &str) -> Vec<String> {
    let declared = text.lines().filter_map(|line| line.trim().strip_prefix("function "));
    let names = declared.filter_map(|after| after.split_once('(')).map(|(name, _)| name.to_owned());
    names.filter(|name| name.starts_with("test")).collect()
}

fn tests_of(path: &str, text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut under_test, mut is_listed) = (false, false);
    for line in text.lines().map(str::trim) {
        // A list of cases, each of which a macro makes a test of for either store.
        is_listed = if is_listed { line != ");" } else { line == "on_both_stores!(" };
        if let Some(case) = line.strip_suffix(',').filter(|_| is_listed) {
            names.push(case.to_owned());
        }
        let name =
            |from: &str| from.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        let declared = line.split_once("fn ").map(|(_, after)| name(after));
        let is_case = path.contains("/conformance/") && line.starts_with("pub async fn ")
            || path.contains("/tests/it/cases/") && line.starts_with("pub(super) async fn ");
        match declared {
            Some(declared) if under_test || is_case => names.push(declared),
            None if line.contains("Script") && line.contains(": ") => names.push(name(line)),
            _ => {}
        }
        under_test = line.starts_with("#[") && line.contains("test");
    }
    names
}

/// Back-quoted words of a document that look like a test, with their path: snake case,
/// at least two underscores.
fn named_tests(document: &str) -> BTreeSet<String> {
    let is_test = |path: &&str| {
        let name = path.rsplit("::").next().unwrap_or_default();
        name.matches('_').count() >= 2
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    document.split('`').skip(1).step_by(2).filter(is_test).map(str::to_owned).collect()
}

/// Whether a test of that name is in a file of that path: every part of it, but for the
/// `tests` within a file, is a folder or the file.
fn exists(named: &str, existing: &BTreeMap<String, Vec<String>>) -> bool {
    let mut parts: Vec<&str> = named.split("::").collect();
    let Some(files) = parts.pop().and_then(|name| existing.get(name)) else { return false };
    files.iter().any(|file| {
        let folders: Vec<&str> = file.trim_end_matches(".rs").trim_end_matches(".t.sol").split('/').collect();
        parts.iter().all(|part| *part == "tests" || folders.contains(part))
    })
}

fn read(document: &str) -> String {
    std::fs::read_to_string(root().join(document)).expect("the document")
}

fn check(document: &str, at_least: usize) {
    let named = named_tests(&read(document));
    assert!(named.len() >= at_least, "{document} names {} tests, {at_least} were expected", named.len());
    let existing = test_names();
    let missing: Vec<_> = named.iter().filter(|path| !exists(path, &existing)).collect();
    assert!(missing.is_empty(), "{document} names tests that do not exist there: {missing:#?}");
}

/// The rows of a document's tables, without their heads.
fn table_rows(document: &str) -> Vec<&str> {
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| ---");
    document.lines().filter(is_row).filter(|line| !line.ends_with("| here |")).collect()
}

#[test]
fn every_invariant_names_a_test_that_exists() {
    check("ARCHITECTURE.md", 10);
}

#[test]
fn every_case_of_the_references_names_a_test_that_exists() {
    check("docs/conformance.md", 150);
}

#[test]
fn every_case_of_the_references_has_a_test() {
    let document = read("docs/conformance.md");
    let rows = table_rows(&document);
    assert!(rows.len() >= 100, "only {} cases", rows.len());
    let without: Vec<_> = rows.into_iter().filter(|row| named_tests(row).is_empty()).collect();
    assert!(without.is_empty(), "these cases have no test: {without:#?}");
}

#[test]
fn the_rule_sees_a_missing_test() {
    let named = named_tests("see `store::no_such_test_here` and `crates/windlass`");
    assert_eq!(named.into_iter().collect::<Vec<_>>(), ["store::no_such_test_here"]);
    let existing = [("a_test_of_something".to_owned(), vec!["crates/x/src/a/b.rs".to_owned()])].into();
    assert!(exists("x::a::b::tests::a_test_of_something", &existing));
    assert!(!exists("x::c::a_test_of_something", &existing));
    assert!(!exists("x::a::b::another_test_of_something", &existing));
    let sol = "    function test_case_of_something() public {\n    function _helps_some_test() private {";
    assert_eq!(foundry_tests_of(sol), ["test_case_of_something"]);
    let text = "fn a_mere_helper_function() {}\n#[test]\nfn a_test_of_something() {}";
    assert_eq!(tests_of("x.rs", text), ["a_test_of_something"]);
}
