//! What `init` asks on a terminal for, where no flag says it: an endpoint, a contract, its events.

use windlass_core::abi::EventShape;
use windlass_core::chain::Address;

use super::Args;
use crate::config::address::parse_address;
use crate::failure::Failure;
use crate::output::prompt::Prompt;

/// The event that most contracts of interest have.
const EVENT: &str = "Transfer(address indexed from, address indexed to, uint256 value)";

/// Fills in what was not typed.
pub(super) fn ask(mut args: Args, prompt: Prompt) -> Result<Args, Failure> {
    if args.rpc.is_none() {
        let question = "URL of an RPC endpoint, best as env:NAME or file:PATH (empty: a commented example)";
        args.rpc = prompt.ask(question, None, |text| Ok(optional(text)))?;
    }
    if args.rpc.is_none() {
        return Ok(args);
    }
    if args.contracts.is_empty() {
        let question = "address of a contract to collect (empty: none yet)";
        let contract: Option<Address> =
            prompt.ask(question, None, |text| optional(text).map(|text| parse_address(&text)).transpose())?;
        args.contracts.extend(contract);
    }
    if !args.contracts.is_empty() && args.index.events.is_empty() && args.index.abi.is_none() {
        let event = prompt.ask("event, as the contract declares it", Some(EVENT), |text| {
            text.parse::<EventShape>().map(|_| text.to_owned()).map_err(|error| error.to_string())
        })?;
        args.index.events.push(event);
    }
    Ok(args)
}

fn optional(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
