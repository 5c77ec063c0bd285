//! Who may know whom: the crates' manifests are the proof.

use std::collections::BTreeMap;

use super::source::{files, shipped};

const ADAPTERS: &[&str] = &["windlass-chain", "windlass-store-postgres", "windlass-store-sqlite"];

/// Each crate's dependencies for what ships.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for manifest in files("crates", &["toml"]) {
        let Some(name) = manifest.crate_name().filter(|_| manifest.path.ends_with("/Cargo.toml")) else {
            continue;
        };
        let section = manifest.text.split("\n[dependencies]").nth(1).unwrap_or_default();
        let section = section.split("\n[").next().unwrap_or_default();
        let names = section.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
        found.insert(name.to_owned(), names.filter(|name| !name.is_empty()).map(str::to_owned).collect());
    }
    found
}

fn assert_avoids(of: &str, forbidden: &[&str]) {
    let all = dependencies();
    let has = all.get(of).unwrap_or_else(|| panic!("crate {of} exists"));
    let met: Vec<_> =
        forbidden.iter().filter(|name| **name != of && has.iter().any(|dep| dep == *name)).collect();
    assert!(met.is_empty(), "{of} must not depend on {met:?}");
}

#[test]
fn core_can_do_no_io() {
    assert_avoids(
        "windlass-core",
        &["tokio", "reqwest", "rusqlite", "tokio-postgres", "axum", "rand", "tracing", "jiff", "url"],
    );
}

#[test]
fn core_reads_no_clock_and_uses_no_floats() {
    let forbidden =
        ["SystemTime", "Instant::now", "std::fs", "std::net", "std::env", "f64", "f32", "thread::"];
    for file in shipped().iter().filter(|file| file.crate_name() == Some("windlass-core")) {
        for (number, line) in file.code().enumerate() {
            let met =
                forbidden.iter().find(|word| line.contains(**word) && !line.trim_start().starts_with("//"));
            assert!(met.is_none(), "{}:{} uses {met:?}", file.path, number + 1);
        }
    }
}

#[test]
fn adapters_do_not_know_each_other() {
    for adapter in ADAPTERS {
        assert_avoids(adapter, ADAPTERS);
        assert_avoids(adapter, &["windlass-engine", "windlass"]);
    }
}

#[test]
fn the_engine_knows_ports_only() {
    assert_avoids("windlass-api", ADAPTERS);
    assert_avoids("windlass-api", &["windlass-engine", "rusqlite", "tokio-postgres"]);
    assert_avoids("windlass-engine", ADAPTERS);
    assert_avoids("windlass-engine", &["rusqlite", "tokio-postgres", "reqwest", "axum"]);
}

#[test]
fn nothing_that_ships_is_built_on_the_testkit() {
    for name in dependencies().keys().filter(|name| *name != "windlass-testkit") {
        assert_avoids(name, &["windlass-testkit"]);
    }
}
