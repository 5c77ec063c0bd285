//! `windlass config`, and what is said about configurations that are wrong.

use crate::binary::Folder;

const SECRETIVE: &str = r#"
[database]
url = "postgres://wind:hunter2@db.example:5432/wind?sslmode=require"

[chain.polygon]
id = 137
rpc = ["https://polygon.example/v2/hunter2", "env:POLYGON_RPC", "wss://me:hunter2@polygon.example"]
finality = 64
"#;

const WRONG: &str = r#"
[database]
url = "mysql://wind:hunter2@db.example/wind"

[chian.base]
id = 8453

[chain.polygon]
id = "polygon"
rpc = ["https://polygon.example", "polygon.example/hunter2"]
finalty = 3

[chain.Mumbai]
id = 80001
rpc = []

[api]
listen = "0.0.0.0:80"

[log]
level = "loud"
"#;

#[test]
fn the_example_is_accepted() {
    let folder = Folder::new();
    let example = folder.run(&["config", "example"]);
    insta::assert_snapshot!("config_example", example.stdout);
    folder.write("windlass.toml", &example.stdout);
    insta::assert_snapshot!("config_check_ok", folder.run(&["config", "check"]).shown());
}

#[test]
fn everything_in_the_example_that_is_commented_out_is_accepted_too() {
    let example = Folder::new().run(&["config", "example"]).stdout;
    let uncommented: String = example
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(setting) if setting.split(" = ").count() == 2 && !setting.contains(':') => setting,
            Some(setting) if setting.starts_with("url = ") || setting.starts_with("listen = ") => setting,
            _ => line,
        })
        .fold(String::new(), |text, line| text + line + "\n");
    assert_eq!(uncommented.matches("\n# ").count() + 16, example.matches("\n# ").count());
    let whole: String = uncommented
        .lines()
        .map(|line| line.strip_prefix('#').filter(|line| !line.starts_with([' ', ':'])).unwrap_or(line))
        .fold(String::new(), |text, line| text + line + "\n");
    let ran = Folder::with_config(&whole).run(&["config", "show"]);
    assert!(ran.stdout.contains("[index.fees]") && ran.code == Some(0), "{}", ran.shown());
    let folder = Folder::with_config(&example);
    let plain = folder.run(&["config", "show", "--json"]).stdout;
    folder.write("windlass.toml", &uncommented);
    let ran = folder.run(&["config", "show"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let values = |text: &str| -> Vec<serde_json::Value> {
        let settings: serde_json::Value = serde_json::from_str(text).expect("json");
        settings.as_array().expect("settings").iter().map(|setting| setting["value"].clone()).collect()
    };
    let full = folder.run(&["config", "show", "--json"]).stdout;
    assert_eq!(values(&full), values(&plain), "what is commented out is not the default");
}

#[test]
fn what_is_in_force_is_shown_with_its_origin_and_without_secrets() {
    let folder = Folder::with_config(SECRETIVE)
        .variable("WINDLASS_LOG__LEVEL", "warn")
        .variable("WINDLASS_CHAIN__BASE__ID", "8453")
        .variable("WINDLASS_CHAIN__BASE__RPC", "https://base.example/hunter2")
        .variable("POLYGON_RPC", "https://polygon.example/hunter2");
    let ran = folder.run(&["--log-format", "json", "config", "show"]);
    assert!(!ran.shown().contains("hunter2"));
    insta::assert_snapshot!("config_show", ran.shown());
    let json = folder.run(&["config", "show", "--json", "-v"]);
    assert!(!json.shown().contains("hunter2"));
    insta::assert_snapshot!("config_show_json", json.shown());
}

#[test]
fn every_problem_is_told_at_once_and_no_secret() {
    let folder = Folder::with_config(WRONG)
        .variable("WINDLASS_SHUTDOWN__LIMIT", "soon")
        .variable("WINDLASS_API__LISTN", "127.0.0.1:1");
    let ran = folder.run(&["config", "check"]);
    assert!(!ran.shown().contains("hunter2"));
    insta::assert_snapshot!("config_check_wrong", ran.shown());
}

#[test]
fn syntax_errors_name_their_line() {
    let ran =
        Folder::with_config("[database]\nurl = hunter2\n[log\nlevel = 'info'\n").run(&["config", "check"]);
    assert!(!ran.shown().contains("hunter2"));
    insta::assert_snapshot!("config_check_syntax", ran.shown());
}

#[test]
fn a_file_that_was_named_must_be_there() {
    let folder = Folder::new();
    insta::assert_snapshot!(
        "config_missing",
        folder.run(&["--config", "no.toml", "config", "check"]).shown()
    );
    insta::assert_snapshot!("config_none", folder.run(&["config", "check"]).shown());
}

#[test]
fn the_file_may_be_named_in_the_environment_and_flags_win() {
    let folder = Folder::new().variable("WINDLASS_CONFIG", "other.toml");
    folder.write("other.toml", "log.level = 'trace'\n");
    folder.write("third.toml", "log.level = 'error'\n");
    assert!(folder.run(&["config", "show"]).stdout.contains("level = \"trace\""));
    let flag = folder.run(&["config", "show", "--config", "third.toml"]);
    assert!(flag.stdout.contains("level = \"error\""), "{}", flag.stdout);
}

#[test]
fn the_schema_knows_every_section() {
    let ran = Folder::new().run(&["config", "schema"]);
    let schema: serde_json::Value = serde_json::from_str(&ran.stdout).expect("json");
    let sections: Vec<&String> = schema["properties"].as_object().expect("sections").keys().collect();
    assert_eq!(sections, ["api", "chain", "database", "index", "log", "pay", "shutdown", "signer"]);
    assert_eq!(schema["additionalProperties"], false);
    insta::assert_snapshot!("config_schema", ran.stdout);
}

#[test]
fn values_of_another_kind_are_told_in_plain_words() {
    let text = r#"
log = []
[chain.a]
id = true
rpc = "http://h"
finality = 0
[chain.b]
id = 2
rpc = ["env:", 7, "https:///hunter2", "http:hunter2", "ftp://hunter2", "http://h"]
finality = 4294967296
[chain.c]
[api]
listen = 80
[shutdown]
limit = "99999999999999999999s"
"#;
    let ran = Folder::with_config(text).run(&["config", "check"]);
    assert!(!ran.shown().contains("hunter2"));
    insta::assert_snapshot!("config_check_kinds", ran.shown());
    let huge = Folder::with_config("[chain.a]\nid = 99999999999999999999\nrpc = ['http://h']\n");
    insta::assert_snapshot!("config_check_huge", huge.run(&["config", "check"]).shown());
}

#[test]
fn database_urls_that_are_no_place_are_refused() {
    for url in [
        "sqlite:x?key=hunter2",
        "sqlite:file:hunter2",
        "postgres://h/d?sslmode=hunter2",
        "file:",
        "ftp://hunter2",
    ] {
        let ran = Folder::with_config(&format!("database.url = '{url}'")).run(&["config", "check"]);
        assert_eq!(ran.code, Some(1), "{url}");
        assert!(!ran.shown().contains("hunter2"), "{}", ran.shown());
    }
}

#[test]
fn variables_that_are_no_settings_are_refused() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new()
        .variable("WINDLASS_DATABASE_URL", "postgres://u:hunter2@h/d")
        .variable("WINDLASS_LOG__LEVEL", std::ffi::OsStr::from_bytes(b"\xff"))
        .variable("WINDLASS_TEST_POSTGRES_URL", "x");
    let ran = folder.run(&["config", "check"]);
    assert!(!ran.shown().contains("hunter2"));
    insta::assert_snapshot!("config_check_variables", ran.shown());
}

#[test]
fn a_great_many_problems_are_counted() {
    let text: String = (0..20_000).map(|n| format!("[chain.c{n}]\nid = 0\nkey = {n}\n")).collect();
    let ran = Folder::with_config(&text).run(&["config", "check"]);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 1 + 50 + 1 + 2, "{}", ran.stderr);
    assert_eq!(lines[51], "  … and 19951 more");
}

#[test]
fn a_folder_is_no_file() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("windlass.toml")).expect("a folder");
    insta::assert_snapshot!("config_unreadable", folder.run(&["config", "check"]).shown());
}
