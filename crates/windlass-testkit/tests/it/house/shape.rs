//! Files hold one idea and functions are short.

use super::source::{Source, shipped};

/// A function: where, what, how many lines.
struct Function {
    place: String,
    lines: usize,
}

/// Functions by indentation, as rustfmt lays them out.
fn functions(file: &Source) -> Vec<Function> {
    let mut found = Vec::new();
    let mut open: Option<(usize, usize, String)> = None;
    for (number, line) in file.code().enumerate() {
        let indent = line.len() - line.trim_start().len();
        match &open {
            None => {
                if let Some(name) = function_name(line) {
                    open = Some((number, indent, name));
                }
            }
            Some((begun, at, name)) => {
                if line.trim_start().starts_with('}') && indent == *at {
                    let place = format!("{}:{} {name}", file.path, begun + 1);
                    found.push(Function { place, lines: number - begun + 1 });
                    open = None;
                }
            }
        }
    }
    found
}

fn function_name(line: &str) -> Option<String> {
    let head = line.trim_start();
    if line.trim_end().ends_with(';') || head.starts_with("//") {
        return None;
    }
    let (before, after) = head.split_once("fn ")?;
    let qualifiers = ["pub", "pub(crate)", "pub(super)", "const", "async"];
    if !before.split_whitespace().all(|word| qualifiers.contains(&word)) {
        return None;
    }
    Some(after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
}

fn percentile(sorted: &[usize], percent: usize) -> usize {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

#[test]
fn files_hold_one_idea() {
    let files = shipped();
    let mut lengths: Vec<(usize, &str)> =
        files.iter().map(|file| (file.code().count(), file.path.as_str())).collect();
    lengths.sort();
    let median = lengths[lengths.len() / 2].0;
    assert!(median <= 150, "the median file has {median} lines, at most 150 are allowed");
    let long: Vec<_> = lengths.iter().filter(|(lines, _)| *lines > 400).collect();
    assert!(long.len() * 10 <= lengths.len(), "more than one file in ten is longer than 400 lines: {long:?}");
}

#[test]
fn functions_are_short() {
    let functions: Vec<Function> = shipped().iter().flat_map(functions).collect();
    assert!(functions.len() > 300, "only {} functions found", functions.len());
    let mut lengths: Vec<usize> = functions.iter().map(|function| function.lines).collect();
    lengths.sort();
    let p90 = percentile(&lengths, 90);
    assert!(p90 <= 30, "the 90th percentile of functions has {p90} lines, at most 30 are allowed");
    let long: Vec<String> = functions
        .iter()
        .filter(|function| function.lines > 70)
        .map(|function| format!("{} ({} lines)", function.place, function.lines))
        .collect();
    assert!(long.len() * 100 <= functions.len(), "more than 1 % of functions exceed 70 lines: {long:#?}");
}

#[test]
fn every_file_says_what_it_is() {
    let silent: Vec<String> =
        shipped().into_iter().filter(|file| !file.text.starts_with("//!")).map(|file| file.path).collect();
    assert!(silent.is_empty(), "these files do not open with a `//!` header: {silent:#?}");
}

#[test]
fn the_rule_sees_a_long_function() {
    let body = "    let _ = 1;\n".repeat(80);
    let text = format!("//! x\npub async fn long() {{\n{body}}}\n");
    let file = Source { path: "x.rs".into(), text };
    let found = functions(&file);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].lines, 82);
}
