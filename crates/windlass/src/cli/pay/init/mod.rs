//! `windlass pay init`: from nothing to a configuration that pays.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this | what was typed, and the order: answers, keys, configuration, chain |
//! | [`answers`] | what has to be known |
//! | [`tokens`] | the token, as it was named |
//! | [`keys`] | keystores, passphrases and the audit log's key |
//! | [`text`] | what is written into the configuration |
//! | [`steps`] | what has to happen on the chain |
//! | [`setup`] | doing it |
//! | [`faucet`] | coins and tokens on a test chain |
//!
//! Nothing that exists is replaced, and each part is whole before the next one begins. A vault's
//! address follows from the account that deploys it, so the configuration is complete before
//! anything is sent, and a second run finds on the chain what is left to do.

mod answers;
mod faucet;
mod keys;
mod setup;
mod steps;
mod text;
mod tokens;

use std::path::{Path, PathBuf};

use windlass_core::chain::Address;
use windlass_core::code::Code;
use windlass_core::payout::submit::NonceTag;
use windlass_core::reader::BlockTag;

use crate::cli::global::Global;
use crate::cli::init::{Written, write};
use crate::config::address::parse_address;
use crate::config::load::invalid;
use crate::config::{Config, FILE_NAME};
use crate::failure::Failure;
use crate::output;
use crate::vault::site::Site;
use answers::{Answers, is_test_chain};
use keys::KeyFiles;
use text::{ADMIN, Addresses, SIGNERS};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The chain: its name in the configuration, or with --rpc the name that it gets
    #[arg(long, value_name = "NAME")]
    chain: Option<String>,
    /// An endpoint of a chain that is not configured yet; best as env:NAME or file:PATH
    #[arg(long, value_name = "URL")]
    rpc: Option<String>,
    /// What is paid: a token's address, USDC, or `new` for a new token on a test chain
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// The most of one payout, in whole tokens [default: 25000]
    #[arg(long, value_name = "AMOUNT")]
    max_per_payout: Option<String>,
    /// The most of all payouts of a UTC day [default: 100000]
    #[arg(long, value_name = "AMOUNT")]
    max_per_day: Option<String>,
    /// How many have to approve a payout [default: 1]
    #[arg(long, value_name = "COUNT")]
    approvals: Option<u64>,
    /// Where emergency withdrawals of the vault go; it can never be changed [default: the account of `admin`]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    treasury: Option<Address>,
    /// The folder for keystores, passphrases and the audit log's key, beside the configuration
    #[arg(long, value_name = "FOLDER", default_value = "keys")]
    keys: PathBuf,
    /// The passphrase of every keystore: env:NAME or file:PATH [default: generated, each in a file of its own]
    #[arg(long, value_name = "WHERE")]
    passphrase: Option<String>,
    /// Show what would be written and sent, without doing it
    #[arg(long)]
    dry_run: bool,
    /// Deploy the vault and set its limits on a chain that is no test chain too
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let (loaded, problems) = global.examine()?;
    if !problems.is_empty() {
        return Err(invalid(problems));
    }
    let path = loaded.file.clone().or_else(|| global.file().cloned()).unwrap_or_else(|| FILE_NAME.into());
    let config = match &loaded.config.pay {
        Some(_) => {
            output::note(&format!("`[pay]` of {} is used as it is", path.display()));
            loaded.config
        }
        None => {
            refuse_signers(&loaded.config)?;
            let before = read(&path)?;
            let answers = answers::collect(&args, (global, &loaded), &path, &before).await?;
            let keys = KeyFiles::new(&path, args.keys.clone(), args.passphrase.clone())?;
            if args.dry_run {
                return preview(&answers, &keys);
            }
            configure(global, &path, &before, &answers, &keys).await?
        }
    };
    if args.dry_run {
        return preview_steps(&config, &args).await;
    }
    let left = setup::run(&config, &args).await?;
    conclude(&config, &left)
}

/// The names that it gives to signers have to be free.
fn refuse_signers(config: &Config) -> Result<(), Failure> {
    let taken = config.signer.keys().find(|name| SIGNERS.contains(&name.to_string().as_str()));
    match taken {
        None => Ok(()),
        Some(name) => {
            Err(Failure::coded(Code::ConfigExists, format_args!("there is a `[signer.{name}]` already"))
                .hint("rename it, or write `[pay]` by hand: docs/pay.md shows how"))
        }
    }
}

/// The file as it is; its head where there is none yet.
fn read(path: &Path) -> Result<String, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(text::HEAD.to_owned()),
        Err(error) => Err(Failure::coded(
            Code::ConfigUnreadable,
            format_args!("cannot read `{}`: {error}", path.display()),
        )),
    }
}

/// Makes the keys and adds to the configuration; gives what is in force then.
async fn configure(
    global: &Global,
    path: &Path,
    before: &str,
    answers: &Answers,
    keys: &KeyFiles,
) -> Result<Config, Failure> {
    let chain = answers.new_chain.as_ref().map_or("", |new| new.section.as_str());
    let with_chain = text::appended(before, chain);
    let site = Site::open(&global.read(path, &with_chain)?, Some(&answers.chain)).await?;
    keys.make_audit_key()?;
    let mut admin = Address::ZERO;
    for name in SIGNERS {
        let account = keys.make_keystore(name).await?;
        if name == ADMIN {
            admin = account;
        }
    }
    let nonce = site.chain.nonce(admin, NonceTag::Block(BlockTag::Latest)).await?;
    // A test token is made first, then the vault.
    let (token, nonce) = match answers.token.contract {
        Some(token) => (token, nonce),
        None => (admin.create(nonce), nonce + 1),
    };
    let addresses =
        Addresses { vault: Some(admin.create(nonce).to_string()), token: Some(token.to_string()) };
    let text = text::appended(&with_chain, &text::sections(answers, keys, &addresses));
    let config = global.read(path, &text)?;
    let private = answers.new_chain.as_ref().is_some_and(|new| new.is_private);
    if before == text::HEAD {
        write(path, &Written { text, private }, false)?;
        output::note(&format!("wrote {}", path.display()));
    } else {
        crate::cli::index::replace(path, &text)?;
        output::note(&format!("added `[pay]` and its signers to {}", path.display()));
    }
    Ok(config)
}

/// What would be written, on standard output; nothing is.
fn preview(answers: &Answers, keys: &KeyFiles) -> Result<(), Failure> {
    for file in keys.all(&SIGNERS) {
        output::note(&format!("would make {file}"));
    }
    let chain = answers.new_chain.as_ref().map_or(String::new(), |new| format!("{}\n", new.section));
    let addresses =
        Addresses { token: answers.token.contract.map(|token| token.to_string()), ..Addresses::default() };
    output::print(&format!("{chain}{}", text::sections(answers, keys, &addresses)))?;
    let what = match answers.is_test {
        true => {
            "would fund the accounts, make the token if it is new, deploy the vault, set its limits and fill it"
        }
        false => "would then deploy the vault and set its limits, after a yes and once the accounts have gas",
    };
    output::note(what);
    Ok(())
}

/// What is left to do on the chain; nothing is done.
async fn preview_steps(config: &Config, args: &Args) -> Result<(), Failure> {
    let left = setup::left(config, args).await?;
    Ok(output::print(&listed("left to do", &left))?)
}

/// Says what is left, or what to type next.
fn conclude(config: &Config, left: &[String]) -> Result<(), Failure> {
    if !left.is_empty() {
        output::print(&listed("left to do, in this order", left))?;
        output::note("then run `windlass pay init` again: it looks whether everything is done");
        return Ok(());
    }
    let is_test = config
        .pay
        .as_ref()
        .and_then(|pay| config.chain.get(&pay.chain))
        .is_some_and(|chain| is_test_chain(chain.id));
    let symbol = config.pay.as_ref().and_then(|pay| pay.token.keys().next()).map(ToString::to_string);
    let symbol = symbol.unwrap_or_default();
    let create = format!("windlass payout create --to 0x… --amount \"12.5 {symbol}\" --key invoice-1");
    output::note("everything is ready");
    output::note(&match is_test {
        true => format!(
            "next: windlass run\nthen, in another terminal:\n  {create}\n  windlass payout approve ID"
        ),
        false => format!(
            "next: windlass key create --role admin --name NAME\nthen keys for an operator and an approver, windlass run, and with those keys:\n  {create}\n  windlass payout approve ID"
        ),
    });
    Ok(())
}

fn listed(title: &str, lines: &[String]) -> String {
    match lines {
        [] => "nothing is left to do\n".to_owned(),
        lines => format!("{title}:\n{}", lines.iter().map(|line| format!("  {line}\n")).collect::<String>()),
    }
}
