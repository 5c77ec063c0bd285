//! What must not stand in the project's files.

use super::source::{files, shipped};

/// Places that exist on one machine only. Put together here, so that this file does not hold them.
fn machine_paths() -> Vec<String> {
    ["work", "root", "home"].iter().map(|folder| format!("/{folder}/")).collect()
}

#[test]
fn nothing_is_left_over() {
    let left_over = ["todo!(", "unimplemented!(", "dbg!(", "#[ignore", "FIXME", "XXX"];
    for file in shipped() {
        for (number, line) in file.text.lines().enumerate() {
            let met = left_over.iter().find(|word| line.contains(**word));
            assert!(met.is_none(), "{}:{} has {met:?}", file.path, number + 1);
        }
    }
}

#[test]
fn no_test_is_ignored_or_sleeps() {
    for file in files("crates", &["rs"]).iter().filter(|file| !file.path.contains("/house/")) {
        let is_test = file.path.contains("/tests/");
        for (number, line) in file.text.lines().enumerate() {
            assert!(!line.contains("#[ignore"), "{}:{} ignores a test", file.path, number + 1);
            let sleeps = is_test && ["thread::sleep(", "time::sleep("].iter().any(|call| line.contains(call));
            assert!(!sleeps, "{}:{} sleeps in a test", file.path, number + 1);
        }
    }
}

#[test]
fn no_file_names_a_place_on_one_machine() {
    let endings = ["rs", "toml", "md", "sh", "sql", "sol", "json", "mjs", "js"];
    for file in ["crates", "docs", "scripts", "contracts"].iter().flat_map(|below| files(below, &endings)) {
        for (number, line) in file.text.lines().enumerate() {
            let met = machine_paths().into_iter().find(|path| line.contains(path.as_str()));
            assert!(met.is_none(), "{}:{} names {met:?}", file.path, number + 1);
        }
    }
}

/// What an operator reads in the log is words: no value in the form that is made for programmers.
/// A pause, which reads alike in both, is the exception.
#[test]
fn no_line_of_the_log_has_a_debug_form() {
    let mut looked_at = 0;
    for file in shipped() {
        let code: String = file.code().collect::<Vec<_>>().join("\n");
        for level in ["info", "warn", "error"] {
            for (_, rest) in
                code.match_indices(&format!("tracing::{level}!(")).map(|(at, _)| code.split_at(at))
            {
                let call = rest.split(';').next().unwrap_or_default();
                let call = call.replace("?delay", "delay");
                let is_debug = [", ?", "(?", "= ?", "{:?}", ":?}"].iter().any(|form| call.contains(form));
                assert!(!is_debug, "{}: {call}", file.path);
                looked_at += 1;
            }
        }
    }
    assert!(looked_at > 100, "only {looked_at} lines of the log were found");
}
