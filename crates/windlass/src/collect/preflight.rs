//! What is checked before anything is written: every chain is the one that it should
//! be, and every contract is there.

use std::collections::BTreeSet;

use futures_util::{TryStreamExt, stream};
use windlass_core::chain::{Address, ChainId};
use windlass_core::code::Code;
use windlass_core::plan::Plan;
use windlass_core::reader::{BlockTag, ChainReader};
use windlass_engine::collect::names::ChainNames;

use super::draft::Draft;
use super::endpoints::Endpoints;
use crate::compose::store::{self, Access};
use crate::config::database::Database;
use crate::failure::Failure;

/// The most contracts that are asked about at a time.
const MAX_ASKED: usize = 16;

/// Contracts that were collected before: nobody needs to ask for them again.
pub(crate) type Known = BTreeSet<(ChainId, Address)>;

/// Checks chains and contracts.
pub(crate) async fn check(chains: &[Endpoints], drafts: &[Draft], known: &Known) -> Result<(), Failure> {
    for chain in chains {
        chain.check_chain().await?;
        let named = drafts
            .iter()
            .filter(|draft| draft.chain() == chain.id)
            .flat_map(|draft| draft.contracts().iter().map(move |contract| (draft, *contract)));
        let unknown = named.filter(|(_, contract)| !known.contains(&(chain.id, *contract)));
        stream::iter(unknown.map(Ok))
            .try_for_each_concurrent(MAX_ASKED, |(draft, contract)| check_code(chain, draft, contract))
            .await?;
    }
    Ok(())
}

/// Whether there is a contract at the address.
async fn check_code(chain: &Endpoints, draft: &Draft, contract: Address) -> Result<(), Failure> {
    if chain.pool.code(contract, BlockTag::Latest).await?.is_empty() {
        return Err(no_contract(contract, chain, draft));
    }
    Ok(())
}

/// There is nothing at the address.
pub(crate) fn no_contract(contract: Address, chain: &Endpoints, draft: &Draft) -> Failure {
    let message = format!("there is no contract at {contract} on chain {} ({})", chain.name, chain.id);
    Failure::coded(Code::ContractMissing, message).hint(format_args!(
        "compare `contract` in `[index.{}]` with a block explorer of that chain",
        draft.name
    ))
}

/// What the store knows, if there is one already and it can be looked at. Trouble with
/// it is told when it is opened for work.
pub(crate) async fn known(database: &Database, chains: &[Endpoints]) -> Known {
    let mut known = Known::new();
    let Ok(store) = store::open(database, Access::Look).await else { return known };
    for chain in chains {
        let Ok(names) = ChainNames::new(chain.id) else { continue };
        let plan = store.state(&names.plan).await.ok().flatten();
        let plan: Plan = plan.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        known.extend(plan.sources.keys().filter_map(|source| Some((chain.id, source.contract?))));
    }
    store.close().await;
    known
}
