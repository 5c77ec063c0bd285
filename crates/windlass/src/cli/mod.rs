//! What can be typed: a folder per noun, a file per verb.
//!
//! Every verb has two types: its `Args`, which is what was typed, and what that
//! means, which is what it runs on.

mod audit;
mod audit_log;
mod completions;
mod config;
mod demo;
mod devnet;
mod doctor;
mod examples;
mod explain;
mod export;
pub(crate) mod global;
pub(crate) mod index;
mod init;
mod jobs;
mod key;
mod pay;
mod payout;
mod risk;
mod run;
mod signer;
mod sql;
mod status;
mod vault;
mod version;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::Failure;
use crate::output::style;

/// A crash-safe back office for blockchains.
#[derive(Debug, Parser)]
#[command(
    name = "windlass",
    version,
    styles = style::HELP,
    max_term_width = 100,
    after_help = "Exit codes: 0 done, 1 the answer is no or the input is wrong, 2 wrong usage, 130 interrupted twice."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: global::GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a demo: collect and pay out on a local test chain
    Demo(demo::Args),
    /// Run a local development chain
    Devnet(devnet::Args),
    /// Write a starter configuration
    Init(init::Args),
    /// Run all configured roles until stopped
    Run(run::Args),
    /// Check configuration, database, endpoints and disk
    Doctor(doctor::Args),
    /// Show status
    Status(status::Args),
    /// List, add, pause and remove indexes
    Index(index::Args),
    /// Export collected events to a file
    Export(export::Args),
    /// Run a read-only SQL statement over collected events
    Sql(sql::Args),
    /// Verify collected events against the chain
    Audit(audit::Args),
    /// Create, approve and inspect payouts
    Payout(payout::Args),
    /// Set up payouts and reconcile them with the vault
    Pay(pay::Args),
    /// Evaluate the risk rules for a payout
    Risk(risk::Args),
    /// Create, check and resume signers
    Signer(signer::Args),
    /// Create and revoke API keys
    Key(key::Args),
    /// Verify, list and repair the audit log
    #[command(name = "audit-log")]
    AuditLog(audit_log::Args),
    /// Deploy, inspect and administer a vault
    Vault(vault::Args),
    /// List jobs and retry dead ones
    Jobs(jobs::Args),
    /// Show, check and document the configuration
    Config(config::Args),
    /// Explain an error code
    Explain(explain::Args),
    /// Print a shell completion script
    Completions(completions::Args),
    /// Show the version
    Version(version::Args),
}

/// Everything that can be typed, with its help.
fn command() -> clap::Command {
    examples::add(Cli::command())
}

impl Cli {
    /// What was typed; where that is nothing that can be done, says so and ends the process.
    pub(crate) fn read() -> Self {
        let matches = command().get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command()).exit())
    }

    /// Decides about colour, before anything is printed.
    pub(crate) fn colour(&self) {
        self.global.colour();
    }

    /// Does what was asked.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let global = self.global.options();
        match self.command {
            Command::Demo(args) => demo::run(args, &global).await,
            Command::Devnet(args) => devnet::run(args, &global).await,
            Command::Init(args) => init::run(args, &global).await,
            Command::Run(args) => run::run(args, &global).await,
            Command::Doctor(args) => doctor::run(args, &global).await,
            Command::Status(args) => status::run(args, &global).await,
            Command::Index(args) => index::run(args, &global).await,
            Command::Export(args) => export::run(args, &global).await,
            Command::Sql(args) => sql::run(args, &global).await,
            Command::Audit(args) => audit::run(args, &global).await,
            Command::Payout(args) => payout::run(args, &global).await,
            Command::Pay(args) => pay::run(args, &global).await,
            Command::Risk(args) => risk::run(args, &global).await,
            Command::Signer(args) => signer::run(args, &global).await,
            Command::Key(args) => key::run(args, &global).await,
            Command::AuditLog(args) => audit_log::run(args, &global).await,
            Command::Vault(args) => vault::run(args, &global).await,
            Command::Jobs(args) => jobs::run(args, &global).await,
            Command::Config(args) => config::run(args, &global),
            Command::Explain(args) => explain::run(args),
            Command::Completions(args) => completions::run(args),
            Command::Version(args) => version::run(args),
        }
    }
}
