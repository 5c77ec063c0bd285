//! A chain's plan as it stands in the store.

use windlass_core::chain::ChainId;
use windlass_core::name::NameError;
use windlass_core::plan::Plan;
use windlass_core::store::Store;
use windlass_engine::collect::ledger;
use windlass_engine::collect::names::ChainNames;

use super::hurdle::Hurdle;
use crate::failure::Failure;

/// Under which names a chain's collecting keeps its things.
pub(crate) fn names(chain: ChainId) -> Result<ChainNames, Failure> {
    ChainNames::new(chain).map_err(unnamed)
}

/// The plan; an empty one where nobody has begun.
pub(crate) async fn plan(store: &dyn Store, chain: ChainId) -> Result<Plan, Hurdle> {
    Ok(ledger::plan(store, &names(chain)?).await?)
}

/// A name of our own making that is none.
pub(crate) fn unnamed(error: NameError) -> Failure {
    Failure::unexpected(error)
}
