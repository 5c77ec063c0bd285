//! What is checked before anything is written: every chain is the one that it should
//! be, and every contract is there.

use std::collections::BTreeSet;

use futures_util::{StreamExt, TryStreamExt, stream};
use windlass_core::chain::{Address, ChainId};
use windlass_core::code::Code;
use windlass_core::plan::Plan;
use windlass_core::reader::{BlockTag, ChainReader};
use windlass_engine::collect::names::ChainNames;

use super::draft::Draft;
use super::endpoints::Endpoints;
use super::hurdle::Hurdle;
use crate::compose::store::{self, Access};
use crate::config::database::Database;
use crate::failure::Failure;

/// The most contracts that are asked about at a time.
const MAX_ASKED: usize = 16;
/// The most chains that are looked at at a time.
const MAX_CHAINS: usize = 16;

/// What was collected before.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Chains.
    pub(crate) chains: BTreeSet<ChainId>,
    /// Contracts: nobody needs to ask for them again.
    contracts: BTreeSet<(ChainId, Address)>,
}

/// Checks a chain and its contracts.
pub(crate) async fn check(chain: &Endpoints, drafts: &[Draft], known: &Known) -> Result<(), Hurdle> {
    chain.check_chain().await?;
    let mut unknown = Vec::new();
    for draft in drafts.iter().filter(|draft| draft.chain() == chain.id) {
        let contracts = draft.contracts().iter().copied();
        let contracts = contracts.filter(|contract| !known.contracts.contains(&(chain.id, *contract)));
        unknown.extend(contracts.map(|contract| Ok((draft, contract))));
    }
    stream::iter(unknown)
        .try_for_each_concurrent(MAX_ASKED, |(draft, contract)| check_code(chain, draft, contract))
        .await
}

/// Checks many chains; one that is slow holds no other up. What stands in the way of
/// each, in their order.
pub(crate) async fn check_all(
    chains: &[impl AsRef<Endpoints>],
    drafts: &[Draft],
    known: &Known,
) -> Vec<Option<Hurdle>> {
    let checks: Vec<_> = chains.iter().map(|chain| check(chain.as_ref(), drafts, known)).collect();
    stream::iter(checks).buffered(MAX_CHAINS).map(Result::err).collect().await
}

/// Whether there is a contract at the address.
async fn check_code(chain: &Endpoints, draft: &Draft, contract: Address) -> Result<(), Hurdle> {
    if chain.pool.code(contract, BlockTag::Latest).await?.is_empty() {
        return Err(no_contract(contract, chain, draft).into());
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
pub(crate) async fn known(database: &Database, chains: impl IntoIterator<Item = ChainId>) -> Known {
    let mut known = Known::default();
    let Ok(store) = store::open(database, Access::Look).await else { return known };
    for chain in chains {
        let Ok(names) = ChainNames::new(chain) else { continue };
        let plan = store.state(&names.plan).await.ok().flatten();
        let Some(plan) = plan.and_then(|text| serde_json::from_str::<Plan>(&text).ok()) else { continue };
        known.chains.insert(chain);
        known.contracts.extend(plan.sources.keys().filter_map(|source| Some((chain, source.contract?))));
    }
    store.close().await;
    known
}

/// Whether a process that was to collect these chains may begin although not all of them
/// could be looked at. One that must be mended ends it; one whose endpoints refuse or fail in
/// passing is waited for. One whose endpoints are silent otherwise is waited for if there is
/// something else to do or if it was collected before: then it is the endpoints that changed,
/// not what somebody has just typed.
pub(crate) fn verdict(
    chains: &[ChainId],
    hurdles: Vec<Option<Hurdle>>,
    known: &Known,
) -> Result<Vec<Option<Hurdle>>, Failure> {
    let is_silent = |hurdle: &Option<Hurdle>| matches!(hurdle, Some(Hurdle::Silent(_)));
    let is_hopeless = hurdles.iter().all(is_silent) && known.chains.is_empty();
    let may_wait = |chain: &ChainId| (chains.len() > 1 || known.chains.contains(chain)) && !is_hopeless;
    let (mut waiting, mut refused) = (Vec::with_capacity(chains.len()), None);
    for (chain, hurdle) in chains.iter().zip(hurdles) {
        match hurdle {
            Some(passing @ Hurdle::Passing { .. }) => waiting.push(Some(passing)),
            Some(Hurdle::Silent(failure)) if may_wait(chain) => waiting.push(Some(Hurdle::Silent(failure))),
            Some(Hurdle::Silent(failure)) => refused = refused.or(Some(failure)),
            Some(wrong) => return Err(wrong.into()),
            None => waiting.push(None),
        }
    }
    refused.map_or(Ok(waiting), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(id: u64) -> ChainId {
        ChainId::new(id).expect("an id")
    }

    fn silent() -> Option<Hurdle> {
        Some(Hurdle::Silent(Failure::coded(Code::RpcUnreachable, "silent")))
    }

    fn passing() -> Option<Hurdle> {
        let failure = Failure::coded(Code::RpcLimited, "slow down");
        Some(Hurdle::Passing { failure, pause: std::time::Duration::ZERO, tries: 1 })
    }

    fn wrong() -> Option<Hurdle> {
        Some(Hurdle::Wrong(Failure::coded(Code::RpcWrongChain, "wrong")))
    }

    /// Which chains are waited for, or the code that ends it.
    fn judged(hurdles: Vec<Option<Hurdle>>, known: &[u64]) -> Result<Vec<bool>, Option<Code>> {
        let chains: Vec<ChainId> = (1..).map(chain).take(hurdles.len()).collect();
        let known = Known { chains: known.iter().copied().map(chain).collect(), ..Known::default() };
        let judged = verdict(&chains, hurdles, &known);
        judged.map(|waiting| waiting.iter().map(Option::is_some).collect()).map_err(|failure| failure.code)
    }

    #[test]
    fn what_must_be_mended_ends_it_whatever_else_there_is() {
        assert_eq!(judged(vec![wrong()], &[1]), Err(Some(Code::RpcWrongChain)));
        assert_eq!(judged(vec![silent(), None, wrong()], &[1, 2, 3]), Err(Some(Code::RpcWrongChain)));
        let store = Some(Hurdle::Store(windlass_core::error::StoreError::ReadOnly));
        assert_eq!(judged(vec![store, None], &[]), Err(Some(Code::DatabaseReadOnly)));
    }

    #[test]
    fn silence_is_waited_out_beside_others_or_where_something_was_collected() {
        assert_eq!(judged(vec![silent(), None], &[]), Ok(vec![true, false]));
        assert_eq!(judged(vec![silent()], &[1]), Ok(vec![true]));
        assert_eq!(judged(vec![silent(), silent()], &[2]), Ok(vec![true, true]));
    }

    #[test]
    fn refusals_that_pass_are_waited_out_at_the_first_start_too() {
        assert_eq!(judged(vec![passing()], &[]), Ok(vec![true]));
        assert_eq!(judged(vec![passing(), passing()], &[]), Ok(vec![true, true]));
        assert_eq!(judged(vec![passing(), silent()], &[]), Ok(vec![true, true]));
        assert_eq!(judged(vec![passing(), wrong()], &[]), Err(Some(Code::RpcWrongChain)));
    }

    #[test]
    fn the_first_start_of_all_ends_where_nothing_answers() {
        let refused = Err(Some(Code::RpcUnreachable));
        assert_eq!(judged(vec![silent()], &[]), refused);
        assert_eq!(judged(vec![silent(), silent()], &[]), refused);
        assert_eq!(judged(vec![], &[]), Ok(vec![]));
    }
}
