//! `windlass devnet` and Foundry's cast, as a person uses them together.

use std::process::Command;

use crate::binary::Folder;

/// What cast prints, in a folder and an environment without settings.
fn cast(folder: &Folder, args: &[&str]) -> String {
    let program = std::env::var_os("WINDLASS_TEST_CAST").filter(|path| !path.is_empty());
    let hint = "run under ./test or scripts/with-services, or set it to the program's path";
    let program = program.unwrap_or_else(|| panic!("WINDLASS_TEST_CAST is not set: {hint}"));
    let mut command = Command::new(program);
    command.args(args).env_clear().env("HOME", folder.path()).current_dir(folder.path());
    let output = command.output().expect("cast runs");
    assert!(output.status.success(), "cast {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn cast_reads_and_sends_until_ctrl_c() {
    let folder = Folder::new();
    let mut devnet = folder.start(&["devnet", "--port", "0", "--json"]);
    let announced = devnet.json();
    let said = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let (payer, payee) = (&announced["accounts"][0], &announced["accounts"][1]);
    for (number, url) in [&announced["http_url"], &announced["ws_url"]].map(said).iter().enumerate() {
        let block = cast(&folder, &["block", "latest", "--rpc-url", url]);
        assert!(block.contains("baseFeePerGas") && block.contains("receiptsRoot"), "{block}");
        let height = || cast(&folder, &["block-number", "--rpc-url", url]).trim().to_owned();
        assert_eq!(height(), number.to_string());
        let (key, to) = (said(&payer["private_key"]), said(&payee["address"]));
        cast(&folder, &["send", "--rpc-url", url, "--private-key", &key, &to, "--value", "1ether"]);
        assert_eq!(height(), (number + 1).to_string(), "a block for the transaction");
        let balance = cast(&folder, &["balance", &to, "--ether", "--rpc-url", url]);
        assert_eq!(balance.trim(), format!("{}.000000000000000000", 10_001 + number));
    }
    devnet.signal("INT");
    let (status, rest) = devnet.end();
    assert_eq!(status.code(), Some(0), "{rest}");
}
