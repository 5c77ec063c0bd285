//! The demo, from its banner to its verdict.

use std::process::Stdio;

use crate::binary::Folder;
use crate::collect::terminal::Shown;

#[test]
fn the_demo_loses_and_repeats_nothing_and_says_so_as_json() {
    let ran = Folder::new().run(&["demo", "--for", "4s", "--block-time", "40ms", "--json", "-q"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("one JSON object");
    assert_eq!((&said["lost"], &said["duplicated"]), (&0.into(), &0.into()), "{said}");
    assert_eq!(said["events_on_chain"], said["events_stored"], "{said}");
    assert!(said["events_on_chain"].as_u64() > Some(0), "{said}");
    assert!(said["reorgs"].as_u64() >= Some(3), "{said}");
    assert_eq!(said["double_paid"], 0, "{said}");
    assert_eq!(said["payouts_requested"], said["events_on_chain"], "{said}");
    assert_eq!(said["payouts_paid"], said["payouts_requested"], "{said}");
}

#[test]
fn the_demo_tells_a_person_where_everything_is_and_ends_by_a_signal() {
    let folder = Folder::new();
    let mut demo = folder.start(&["demo", "--block-time", "40ms"]);
    demo.wait_for("chain     http://127.0.0.1:");
    demo.wait_for("database  ");
    demo.wait_for("paid: ");
    demo.signal("INT");
    let (status, rest) = demo.end();
    assert_eq!(status.code(), Some(0), "{rest}");
    let last = rest.lines().last().unwrap_or_default();
    assert!(last.starts_with("the database was ") && last.ends_with("windlass.db; it is removed"), "{rest}");
}

/// A line without its numbers, addresses and the name of its folder.
fn normal(line: &str) -> String {
    let word = |word: &str| match word {
        word if word.starts_with("0x") => "0x".to_owned(),
        word if word.contains("windlass-demo-") => "FOLDER".to_owned(),
        word => {
            let kept = word.replace(|c: char| c.is_ascii_digit(), "");
            kept.replace("blocks", "block").replace("reorgs", "reorg")
        }
    };
    line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// What the README shows is what is printed, but for the numbers.
#[test]
fn the_readmes_demo_is_what_the_demo_prints() {
    let ran = Folder::new().run(&["demo", "--for", "4s", "--block-time", "40ms"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let printed: Vec<String> = ran.stderr.lines().chain(ran.stdout.lines()).map(normal).collect();
    let readme = include_str!("../../../../README.md");
    let begin = readme.find("windlass demo: ").expect("the sample");
    let sample = readme[begin..].split("```").next().expect("its end");
    for line in sample.lines() {
        assert!(printed.contains(&normal(line)), "{line}\n{}", ran.shown());
    }
    assert!(sample.lines().count() >= 12, "{sample}");
}

/// At 80 columns and 24 rows, nothing wraps and payouts are counted.
#[test]
fn the_demos_view_fits_a_small_terminal() {
    let folder = Folder::new();
    let mut shown =
        Shown::start_at(&folder, &["demo", "--block-time", "40ms", "--for", "3s"], (24, 80), |_| {
            Stdio::null()
        });
    shown.until(&["chain     http://127.0.0.1:", "Ctrl-C ends it", ", paid: ", "the database was "]);
    assert_eq!(shown.end(), Some(0));
    let plain = anstream::adapter::strip_str(&shown.text).to_string();
    let path = |line: &str| line.contains("database");
    let wide = plain.split(['\r', '\n']).find(|line| line.chars().count() > 80 && !path(line));
    assert_eq!(wide, None);
}

#[test]
fn without_a_temporary_folder_the_demo_says_what_to_do() {
    let ran = Folder::new().variable("TMPDIR", "/nonexistent").run(&["demo", "--for", "1s"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("error[W0101]") && ran.stderr.contains("hint: set TMPDIR"), "{}", ran.stderr);
}
