//! What `init` asks on a terminal for, where no flag says it: an endpoint, a contract, its events. The
//! endpoint comes first and is asked at once, so that whatever is wrong is said at its own question.

use std::path::Path;

use windlass_core::abi::EventShape;
use windlass_core::chain::Address;
use windlass_core::code::Code;
use windlass_core::reader::{BlockTag, ChainReader};
use windlass_engine::collect::deployment::{self, DeploymentError};

use super::template::Template;
use super::{Args, with_endpoint};
use crate::cli::global::Global;
use crate::collect::endpoints::Endpoints;
use crate::collect::retry::RetryingReader;
use crate::config::address::parse_address;
use crate::config::index::start::Start;
use crate::failure::Failure;
use crate::output;
use crate::output::human;
use crate::output::prompt::Prompt;

/// The event that most contracts of interest have.
const EVENT: &str = "Transfer(address indexed from, address indexed to, uint256 value)";

/// Fills in what was not typed. `file` is where the configuration will be.
pub(super) async fn ask(
    mut args: Args,
    prompt: Prompt,
    (global, file): (&Global, &Path),
) -> Result<Args, Failure> {
    let name = args.chain_name.clone();
    let look = async |rpc: &str| look_at_endpoint(rpc, name.clone(), (global, file)).await;
    let endpoints = match &args.rpc {
        Some(rpc) => look(rpc).await?,
        None => {
            let question =
                "URL of an RPC endpoint, best as env:NAME or file:PATH (empty: a commented example)";
            let typed = prompt.ask_and_check(question, None, async |text| match text {
                "" => Ok(None),
                rpc => {
                    look(rpc).await.map(|found| Some((rpc.to_owned(), found))).map_err(|error| said(&error))
                }
            });
            let Some((rpc, endpoints)) = typed.await? else { return Ok(args) };
            args.rpc = Some(rpc);
            endpoints
        }
    };
    if args.contracts.is_empty() {
        let question = "address of a contract to collect (empty: none yet)";
        let typed = prompt.ask_and_check(question, None, async |text| match text {
            "" => Ok(None),
            text => {
                let contract = parse_address(text)?;
                Ok(Some((contract, look_at_contract(&endpoints, contract).await?)))
            }
        });
        if let Some((contract, first_block)) = typed.await? {
            args.contracts.push(contract);
            args.index.start = args.index.start.or(first_block);
        }
    }
    if !args.contracts.is_empty() && args.index.events.is_empty() && args.index.abi.is_none() {
        args.index.events.push(event(prompt, EVENT)?);
    }
    Ok(args)
}

/// Asks for an event.
fn event(prompt: Prompt, default: &str) -> Result<String, Failure> {
    prompt.ask("event, as the contract declares it", Some(default), |text| {
        text.parse::<EventShape>().map(|_| text.to_owned()).map_err(|error| error.to_string())
    })
}

/// Asks what to do about events that none of the contract's logs has: whether they are written down all
/// the same, which is false, or another one is asked for.
pub(super) fn ask_for_another_event(prompt: Prompt, args: &mut Args) -> Result<bool, Failure> {
    if prompt.confirm("write it all the same")? {
        return Ok(false);
    }
    match args.index.events.as_mut_slice() {
        [one] if args.index.abi.is_none() => *one = event(prompt, one)?,
        _ => {
            return Err(Failure::refused("nothing was written")
                .hint("correct the events that --event or --abi names, then try again"));
        }
    }
    Ok(true)
}

/// Asks an endpoint for its chain and its newest block, and says what it has answered.
async fn look_at_endpoint(
    rpc: &str,
    chain_name: Option<String>,
    (global, file): (&Global, &Path),
) -> Result<Endpoints, Failure> {
    let mut template = Template::example();
    let name = with_endpoint(&mut template, rpc, chain_name).await?;
    let config = global.read(file, &template.text())?;
    let Some(chain) = config.chain.get(&name) else {
        let message = format!("`[chain.{name}]` is not in force: something else overrides it");
        return Err(Failure::coded(Code::ConfigInvalid, message).hint("`windlass config show` says what is"));
    };
    let endpoints = Endpoints::open(&name, chain)?;
    let newest = RetryingReader(&*endpoints.pool).header(BlockTag::Latest).await?;
    let newest = newest.map_or_else(
        || "has no blocks yet".to_owned(),
        |header| format!("has {} as its newest block", human::count(header.block.number)),
    );
    output::note(&format!("the endpoint serves chain {}, `{name}`, and {newest}", chain.id));
    Ok(endpoints)
}

/// Looks for the block in which a contract was deployed, and says it. An address without a contract is
/// refused; a search that fails is made again once everything is known.
async fn look_at_contract(endpoints: &Endpoints, contract: Address) -> Result<Option<Start>, String> {
    let reader = RetryingReader(&*endpoints.pool);
    match deployment::first_block(&reader, contract, endpoints.finality).await {
        Ok(block) => {
            output::note(&format!(
                "the contract is there; collecting begins at block {}",
                human::count(block)
            ));
            Ok(Some(Start::Block(block)))
        }
        Err(DeploymentError::NoContract { contract }) => {
            Err(format!("there is no contract at {contract} on chain `{}`", endpoints.name))
        }
        Err(error) => {
            output::note(&format!("the block of its deployment was not found yet: {error}"));
            Ok(None)
        }
    }
}

/// A failure in one line, with what to do.
pub(in crate::cli) fn said(failure: &Failure) -> String {
    let hint = failure.hint.as_ref().map(|hint| format!("; {hint}"));
    format!("{}{}", failure.message, hint.unwrap_or_default())
}
