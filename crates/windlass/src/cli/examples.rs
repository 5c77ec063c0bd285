//! Examples at the end of every command's help. One table for all of them, so that a test can
//! see that no command is without one and that each can be typed as it is written.

use clap::Command;

/// The words behind `windlass` that name a command, and one or two ways to type it.
type Examples = (&'static str, &'static [&'static str]);

const EXAMPLES: &[Examples] = &[
    ("", &["windlass demo", "windlass init && windlass run"]),
    ("demo", &["windlass demo", "windlass demo --for 20s --json"]),
    ("devnet", &["windlass devnet", "windlass devnet --block-time 2s --faults 429=0.1,latency=20ms"]),
    (
        "init",
        &[
            "windlass init",
            "windlass init --rpc env:POLYGON_RPC --contract 0xbD6C7B0d2f68c2b7805d88388319cfB6EcB50eA9 --abi FeeCollector.json",
        ],
    ),
    ("run", &["windlass run", "windlass run --role pay,api"]),
    ("doctor", &["windlass doctor", "windlass doctor --json"]),
    ("status", &["windlass status", "windlass status --json"]),
    ("index", &["windlass index list", "windlass index show fees"]),
    ("index list", &["windlass index list", "windlass index list --json"]),
    ("index show", &["windlass index show fees"]),
    ("index misfits", &["windlass index misfits fees --limit 10"]),
    (
        "index add",
        &[
            "windlass index add fees --contract 0xbD6C7B0d2f68c2b7805d88388319cfB6EcB50eA9 --abi FeeCollector.json",
            "windlass index add usdc --contract 0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359 --event 'Transfer(address indexed from, address indexed to, uint256 value)' --start 50000000",
        ],
    ),
    ("index pause", &["windlass index pause fees"]),
    ("index resume", &["windlass index resume fees"]),
    ("index drop", &["windlass index drop fees --data --yes"]),
    ("index rewind", &["windlass index rewind --chain polygon --to 78600000 --yes"]),
    (
        "export",
        &[
            "windlass export fees --format parquet --output fees.parquet",
            "windlass export fees --from 2025-11-01 --to 2025-12-01 > november.csv",
        ],
    ),
    (
        "sql",
        &[
            "windlass sql 'SELECT token, sum(integrator_fee) FROM fees_fees_collected GROUP BY 1'",
            "windlass sql --csv --limit 100000 'SELECT * FROM fees_fees_collected_view' > fees.csv",
        ],
    ),
    ("audit", &["windlass audit", "windlass audit --chain polygon --from 78600000 --to 78700000 --repair"]),
    ("payout", &["windlass payout list", "windlass payout show 019a9c1e-6f00-7d3a-8f0e-5b7c2a9d4e10"]),
    (
        "payout create",
        &[
            "windlass payout create --to 0x00000000000000000000000000000000000000a1 --amount \"12.5 USDC\" --key invoice-2041",
            "windlass payout create --csv november.csv --dry-run",
        ],
    ),
    (
        "payout list",
        &[
            "windlass payout list --state pending_risk --limit 10",
            "windlass payout list --token USDC --from 2025-11-01 --until 2025-12-01",
        ],
    ),
    (
        "payout export",
        &[
            "windlass payout export --from 2025-11-01 --until 2025-12-01 > november.csv",
            "windlass payout export --state confirmed --format parquet --output payouts.parquet",
        ],
    ),
    ("payout show", &["windlass payout show 5b7c2a9d4e10 --trail", "windlass payout show invoice-2041"]),
    (
        "payout approve",
        &["windlass payout approve 5b7c2a9d4e10 --dry-run", "windlass payout approve 5b7c2a9d4e10"],
    ),
    (
        "payout reject",
        &["windlass payout reject 019a9c1e-6f00-7d3a-8f0e-5b7c2a9d4e10 --reason \"wrong amount\""],
    ),
    (
        "payout cancel",
        &["windlass payout cancel 019a9c1e-6f00-7d3a-8f0e-5b7c2a9d4e10 --reason \"invoice withdrawn\""],
    ),
    (
        "payout resend",
        &[
            "windlass payout resend 019a9c1e-6f00-7d3a-8f0e-5b7c2a9d4e10 --dry-run",
            "windlass payout resend 019a9c1e-6f00-7d3a-8f0e-5b7c2a9d4e10 --yes",
        ],
    ),
    ("payout retry", &["windlass payout retry 019a9c1e-6f00-7d3a-8f0e-5b7c2a9d4e10 --dry-run"]),
    ("pay", &["windlass pay init", "windlass pay reconcile"]),
    (
        "pay init",
        &[
            "windlass pay init",
            "windlass pay init --rpc env:POLYGON_RPC --token USDC --max-per-payout 25000 --dry-run",
        ],
    ),
    ("pay accept-chain", &["windlass pay accept-chain --dry-run", "windlass pay accept-chain --yes"]),
    ("pay reconcile", &["windlass pay reconcile", "windlass pay reconcile --recent --json"]),
    ("risk", &["windlass risk check --to 0x00000000000000000000000000000000000000a1 --amount \"12.5 USDC\""]),
    (
        "risk check",
        &["windlass risk check --to 0x00000000000000000000000000000000000000a1 --amount \"12.5 USDC\""],
    ),
    ("signer", &["windlass signer list"]),
    (
        "signer create",
        &[
            "windlass signer create --keystore keys/ops.json --passphrase file:keys/ops.pass",
            "windlass signer create --keystore ops.json --passphrase env:OPS_PASS --import env:OPS_KEY",
        ],
    ),
    ("signer list", &["windlass signer list"]),
    ("signer resume", &["windlass signer resume ops --yes"]),
    ("key", &["windlass key create --role operator --name billing", "windlass key list"]),
    ("key create", &["windlass key create --role operator --name billing"]),
    ("key list", &["windlass key list"]),
    ("key revoke", &["windlass key revoke billing"]),
    ("audit-log", &["windlass audit-log verify"]),
    ("audit-log verify", &["windlass audit-log verify"]),
    ("audit-log list", &["windlass audit-log list --subject 019a9c1e-6f00-7d3a-8f0e-5b7c2a9d4e10"]),
    ("audit-log head", &["windlass audit-log head"]),
    ("audit-log accept", &["windlass audit-log accept --yes"]),
    (
        "audit-log repair",
        &[
            "windlass audit-log repair",
            "windlass audit-log repair payout:019a9c1e-6f00-7d3a-8f0e-5b7c2a9d4e10 --yes",
        ],
    ),
    (
        "vault",
        &["windlass vault show", "windlass vault set-limit --token USDC --per-payout 1000 --per-day 25000"],
    ),
    (
        "vault deploy",
        &[
            "windlass vault deploy --chain polygon --operator 0x00000000000000000000000000000000000000a1 --treasury 0x00000000000000000000000000000000000000b2 --dry-run",
        ],
    ),
    ("vault show", &["windlass vault show", "windlass vault show --no-events --json"]),
    ("vault pause", &["windlass vault pause", "windlass vault pause --calldata pause.json"]),
    ("vault unpause", &["windlass vault unpause"]),
    (
        "vault set-limit",
        &[
            "windlass vault set-limit --token USDC --per-payout 1000 --per-day 25000",
            "windlass vault set-limit --token USDC --disable",
        ],
    ),
    ("vault deny", &["windlass vault deny 0x00000000000000000000000000000000000000de"]),
    ("vault allow", &["windlass vault allow 0x00000000000000000000000000000000000000de"]),
    (
        "vault cancel",
        &["windlass vault cancel 019a9c1e-6f00-7d3a-8f0e-5b7c2a9d4e10", "windlass vault cancel risk-signer"],
    ),
    ("vault grant", &["windlass vault grant operator 0x00000000000000000000000000000000000000a1"]),
    ("vault revoke", &["windlass vault revoke operator 0x00000000000000000000000000000000000000a1 --yes"]),
    (
        "vault set-risk-signer",
        &[
            "windlass vault set-risk-signer 0x00000000000000000000000000000000000000c3",
            "windlass vault set-risk-signer none",
        ],
    ),
    ("vault revoke-risk-signer", &["windlass vault revoke-risk-signer --yes"]),
    ("vault begin-admin", &["windlass vault begin-admin 0x00000000000000000000000000000000000000d4 --yes"]),
    ("vault accept-admin", &["windlass vault accept-admin --signer new_admin --yes"]),
    (
        "vault sweep",
        &[
            "windlass vault sweep --token 0x00000000000000000000000000000000000000e5 --to 0x00000000000000000000000000000000000000a1 --yes",
        ],
    ),
    ("vault emergency-withdraw", &["windlass vault emergency-withdraw --token USDC --yes"]),
    (
        "vault execute",
        &[
            "windlass vault execute risk-signer --yes",
            "windlass vault execute emergency-withdrawal --token USDC --yes",
        ],
    ),
    ("jobs", &["windlass jobs dead", "windlass jobs retry --all"]),
    ("jobs list", &["windlass jobs list --limit 10"]),
    ("jobs dead", &["windlass jobs dead"]),
    ("jobs show", &["windlass jobs show 12-3"]),
    ("jobs retry", &["windlass jobs retry 12-3", "windlass jobs retry --all"]),
    ("config", &["windlass config check", "windlass config show"]),
    ("config show", &["windlass config show"]),
    ("config check", &["windlass config check", "windlass config check --config production.toml"]),
    ("config schema", &["windlass config schema > windlass.schema.json"]),
    ("config example", &["windlass config example > windlass.toml"]),
    ("explain", &["windlass explain W0608", "windlass explain"]),
    ("completions", &["windlass completions bash > windlass.bash"]),
    ("version", &["windlass version", "windlass version --json"]),
];

/// The command with examples at the end of its help, and so everything below it.
pub(super) fn add(command: Command) -> Command {
    add_below(command, "")
}

fn add_below(command: Command, path: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| {
        let below = format!("{path} {name}");
        command.mut_subcommand(name, |command| add_below(command, below.trim_start()))
    });
    let Some((_, lines)) = EXAMPLES.iter().find(|(known, _)| *known == path) else { return command };
    let examples: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
    // Not for the long help alone: a command that has one shows each option on two lines and more.
    let before = command.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
    command.after_help(format!("{before}Examples:\n{}", examples.join("\n")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every command, by the words that name it.
    fn paths(command: &Command, path: &str, all: &mut BTreeSet<String>) {
        all.insert(path.to_owned());
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            paths(below, format!("{path} {}", below.get_name()).trim_start(), all);
        }
    }

    /// The words of a line as a shell would give them to the program, up to a redirection or another command.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
        for c in line.chars().chain([' ']) {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '"' | '\'') => quote = Some(c),
                (None, ' ') if !word.is_empty() => words.push(std::mem::take(&mut word)),
                (None, ' ') => {}
                (_, c) => word.push(c),
            }
        }
        words.into_iter().take_while(|word| word != ">" && word != "&&").collect()
    }

    #[test]
    fn every_command_has_examples_and_each_can_be_typed() {
        let command = crate::cli::command();
        let mut wanted = BTreeSet::new();
        paths(&command, "", &mut wanted);
        let known: BTreeSet<String> = EXAMPLES.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(known, wanted);
        for (path, lines) in EXAMPLES {
            assert!(matches!(lines.len(), 1 | 2), "{path}");
            for line in *lines {
                assert!(line.starts_with(format!("windlass {path}").trim_end()), "{line}");
                let typed = command.clone().try_get_matches_from(words(line));
                assert!(typed.is_ok(), "{line}: {}", typed.expect_err("refused"));
            }
        }
    }
}
