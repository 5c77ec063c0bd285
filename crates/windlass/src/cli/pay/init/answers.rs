//! What `pay init` has to know: from its flags, from a terminal, or by default.

use secrecy::ExposeSecret;
use windlass_chain::evm::EvmRpc;
use windlass_core::chain::ChainId;
use windlass_core::code::Code;
use windlass_core::money::{Amount, Token};

use super::Args;
use super::text;
use super::tokens::{self, TokenChoice};
use crate::cli::global::Global;
use crate::cli::init::{may_hold_key, name_of, said};
use crate::collect::retry::retrying;
use crate::config::Loaded;
use crate::config::chain::{ChainName, RpcUrl};
use crate::config::secret::Secret;
use crate::failure::Failure;
use crate::output::prompt::Prompt;
use crate::vault::site::Site;

/// The endpoint of a local devnet or anvil.
const LOCAL_RPC: &str = "http://127.0.0.1:8545";
const PER_PAYOUT: &str = "25000";
const PER_DAY: &str = "100000";
const APPROVALS: &str = "1";
/// The most approvals that a payout can need.
const MAX_APPROVALS: u64 = 20;
/// The ids of chains on which nothing has a price: anvil's, Hardhat's and the devnet's, and geth's.
const TEST_CHAINS: [u64; 2] = [31_337, 1_337];

/// The answers.
#[derive(Debug, Clone)]
pub(super) struct Answers {
    pub(super) chain: ChainName,
    /// Whether nothing on the chain has a price.
    pub(super) is_test: bool,
    /// Without a contract where it is still to be made.
    pub(super) token: Token,
    pub(super) per_payout: Amount,
    pub(super) per_day: Amount,
    pub(super) approvals: u64,
    /// The section of the chain, where the file has none.
    pub(super) new_chain: Option<NewChain>,
}

/// A chain that the configuration gets.
#[derive(Debug, Clone)]
pub(super) struct NewChain {
    pub(super) section: String,
    /// Whether its URL may hold a key.
    pub(super) is_private: bool,
}

/// Whether nothing on a chain has a price.
pub(super) fn is_test_chain(id: ChainId) -> bool {
    TEST_CHAINS.contains(&id.as_u64())
}

/// Asks for whatever no flag says. `before` is the text of the configuration file.
pub(super) async fn collect(
    args: &Args,
    (global, loaded): (&Global, &Loaded),
    path: &std::path::Path,
    before: &str,
) -> Result<Answers, Failure> {
    let prompt = Prompt::open();
    let (chain, new_chain) = chain(args, loaded, prompt).await?;
    let more = new_chain.as_ref().map_or("", |new| new.section.as_str());
    let config = global.read(path, &text::appended(before, more))?;
    let site = Site::open(&config, Some(&chain)).await?;
    let is_test = is_test_chain(site.id);
    let token = token(args, &site, is_test, prompt).await?;
    let limit = |text: &str| tokens::limit(text, &token);
    let per_payout = answer(
        prompt,
        (args.max_per_payout.as_deref(), "--max-per-payout"),
        &format!("the most of one payout, in {}", token.symbol),
        Some(PER_PAYOUT),
        limit,
    )?;
    let per_day = answer(
        prompt,
        (args.max_per_day.as_deref(), "--max-per-day"),
        &format!("the most of a day, in {}", token.symbol),
        Some(PER_DAY),
        |text| match tokens::limit(text, &token)? {
            day if day.units < per_payout.units => Err(format!("a day's limit is at least {per_payout}")),
            day => Ok(day),
        },
    )?;
    let typed = args.approvals.map(|count| count.to_string());
    let approvals = answer(
        prompt,
        (typed.as_deref(), "--approvals"),
        "how many have to approve a payout",
        Some(APPROVALS),
        |text| {
            let count = text.parse().ok().filter(|count| (1..=MAX_APPROVALS).contains(count));
            count.ok_or_else(|| format!("a number from 1 to {MAX_APPROVALS}"))
        },
    )?;
    Ok(Answers { chain, is_test, token, per_payout, per_day, approvals, new_chain })
}

/// One answer: the flag's, the terminal's, or the default.
fn answer<T>(
    prompt: Option<Prompt>,
    (typed, flag): (Option<&str>, &str),
    question: &str,
    default: Option<&str>,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, Failure> {
    match (typed, prompt, default) {
        (Some(typed), ..) => read(typed).map_err(|trouble| Failure::usage(format_args!("{flag}: {trouble}"))),
        (None, Some(prompt), default) => prompt.ask(question, default, read),
        (None, None, Some(default)) => read(default).map_err(Failure::usage),
        (None, None, None) => Err(Failure::usage(format_args!("{flag} is missing: {question}"))
            .hint("on a terminal the command asks for it")),
    }
}

/// The chain of the configuration that was named, the only one, or a new one.
async fn chain(
    args: &Args,
    loaded: &Loaded,
    prompt: Option<Prompt>,
) -> Result<(ChainName, Option<NewChain>), Failure> {
    let chains = &loaded.config.chain;
    let names: Vec<String> = chains.keys().map(ToString::to_string).collect();
    let known = |text: &str| {
        let found = chains.keys().find(|name| name.to_string() == text).cloned();
        found.ok_or_else(|| format!("there is no `[chain.{text}]`; known: {}", names.join(", ")))
    };
    if let Some(rpc) = &args.rpc {
        return new_chain(rpc, args.chain.as_deref(), loaded).await;
    }
    match (&args.chain, names.as_slice()) {
        (Some(name), _) => Ok((known(name).map_err(Failure::usage)?, None)),
        (None, [only]) => Ok((known(only).map_err(Failure::usage)?, None)),
        (None, []) => {
            let question = "the URL of the chain's RPC endpoint; best as env:NAME or file:PATH";
            let rpc = answer(prompt, (None, "--rpc"), question, prompt.map(|_| LOCAL_RPC), |text| {
                if text.is_empty() { Err("a URL is wanted".to_owned()) } else { Ok(text.to_owned()) }
            })?;
            new_chain(&rpc, None, loaded).await
        }
        (None, _) => {
            let question = format!("which chain: {}", names.join(", "));
            Ok((answer(prompt, (None, "--chain"), &question, None, known)?, None))
        }
    }
}

/// A chain by an endpoint, which is asked for the chain's id.
async fn new_chain(
    rpc: &str,
    name: Option<&str>,
    loaded: &Loaded,
) -> Result<(ChainName, Option<NewChain>), Failure> {
    let secret = Secret::try_from(rpc.to_owned()).map_err(Failure::usage)?;
    let url = RpcUrl::try_from(secret).map_err(Failure::usage)?;
    let resolved = url.resolve().map_err(|error| {
        let hint = format!("{}, then try again", error.advice());
        Failure::coded(Code::SecretMissing, error).hint(hint)
    })?;
    let client = EvmRpc::new(resolved.expose_secret())?;
    let id = retrying(|| client.chain_id()).await?;
    let name = name.map_or_else(|| name_of(id), str::to_owned);
    let name = ChainName::try_from(name).map_err(Failure::usage)?;
    if loaded.config.chain.contains_key(&name) {
        return Err(Failure::refused(format_args!("there is a `[chain.{name}]` already")).hint(
            format_args!("use it with --chain {name}, without --rpc; or give the new one another name"),
        ));
    }
    let section = text::chain_section(&name.to_string(), id.as_u64(), rpc);
    Ok((name, Some(NewChain { section, is_private: may_hold_key(rpc) })))
}

async fn token(args: &Args, site: &Site, is_test: bool, prompt: Option<Prompt>) -> Result<Token, Failure> {
    let new = if is_test { format!(", or `{}` for a new test token", tokens::NEW) } else { String::new() };
    let question = format!("the token to pay: its address, or USDC{new}");
    let default = TokenChoice::default(site.id, is_test);
    let read = |text: &str| TokenChoice::read(text, site.id, is_test);
    if let (None, Some(prompt)) = (&args.token, prompt) {
        // An address without a token is likely a slip: it is asked for again.
        let look_up = async |text: &str| read(text)?.look_up(site).await.map_err(|failure| said(&failure));
        return prompt.ask_and_check(&question, default, look_up).await;
    }
    let named = answer(None, (args.token.as_deref(), "--token"), &question, default, read)?;
    named.look_up(site).await
}
