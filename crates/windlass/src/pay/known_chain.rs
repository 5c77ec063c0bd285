//! Whether the endpoints serve the chain on which payouts were made, asked where a command or the start
//! of `run` finds no vault: on a chain that began anew under the same id that is the reason, and not a
//! wrong address.

use windlass_core::code::Code;
use windlass_core::payout::ledger::ChainIdentity;
use windlass_core::payout::request::VaultRef;
use windlass_core::reader::{BlockTag, ChainReader};
use windlass_engine::pay::identity::{self, Known};
use windlass_engine::pay::ledger::Ledger;

use crate::failure::Failure;

/// What to do where the endpoints serve another chain.
pub(crate) const HINT: &str =
    "correct `rpc`, or, if the chain was replaced on purpose, `windlass pay accept-chain`";

/// The blocks by which the chain of the payouts is known, and how the endpoints' chain stands to them;
/// nothing before any block is known.
pub(crate) async fn compare(
    chain: &dyn ChainReader,
    ledger: &Ledger,
    vault: VaultRef,
) -> Result<Option<(ChainIdentity, Known)>, Failure> {
    let Some(identity) = ledger.chain_identity(vault).await? else { return Ok(None) };
    let newest = chain.header(BlockTag::Latest).await?.map_or(0, |header| header.block.number);
    let known = identity::compare(chain, &identity, newest).await?;
    Ok(Some((identity, known)))
}

/// The failure to report instead of one that says that there is no vault: that the chain is another one,
/// where it is. Trouble with the endpoints or the store leaves the first failure as it is.
pub(crate) async fn explain(
    found: Failure,
    chain: &dyn ChainReader,
    ledger: &Ledger,
    vault: VaultRef,
) -> Failure {
    match compare(chain, ledger, vault).await {
        Ok(Some((_, Known::Other(why)))) => without_vault(&why, vault),
        _ => found,
    }
}

/// The endpoints serve another chain, and the vault is not on it.
pub(crate) fn without_vault(why: &str, vault: VaultRef) -> Failure {
    let message = format!(
        "payouts were made on another chain of the same id: {why}; there, no vault is at {}, and nothing is paid",
        vault.address
    );
    Failure::coded(Code::FinalityViolated, message).hint(
        "correct `rpc`. If the chain was replaced on purpose, as a development chain that began anew, begin with a \
         new database and `windlass vault deploy`, or deploy the vault at the same address, then \
         `windlass pay accept-chain`",
    )
}
