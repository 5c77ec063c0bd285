//! From checked configuration to what the loops run on: first blocks, tables, and a
//! catalog of sources for each chain.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::chain::{Address, ChainId};
use windlass_core::code::Code;
use windlass_core::commit::{Commit, Write};
use windlass_core::error::StoreError;
use windlass_core::finality::Finality;
use windlass_core::index::{IndexSpec, Start};
use windlass_core::name::Owner;
use windlass_core::store::{Store, TableInfo};
use windlass_core::table::TableSpec;
use windlass_engine::collect::catalog::{Catalog, CatalogEntry};
use windlass_engine::collect::chain::CollectOptions;
use windlass_engine::collect::deployment::{DeploymentError, deployment_key, first_block};
use windlass_engine::collect::verify::{VerifyMode, VerifyOptions};

use super::draft::Draft;
use super::endpoints::Endpoints;
use super::hurdle::Hurdle;
use super::ledger::{self, unnamed};
use super::retry::RetryingReader;
use super::{change, preflight};
use crate::config::chain::{self, Chain};
use crate::failure::Failure;

/// Refuses what does not fit what was collected of a chain; asks no endpoint anything.
pub(crate) async fn fit(store: &dyn Store, chain: ChainId, drafts: &[Draft]) -> Result<(), Hurdle> {
    let stored = store.list_tables().await?;
    let plan = ledger::plan(store, chain).await?;
    for draft in drafts.iter().filter(|draft| draft.chain() == chain) {
        if let Some(conflict) = change::conflict(draft, &stored, &plan) {
            return Err(change::refusal(draft, conflict).into());
        }
    }
    Ok(())
}

/// What is collected of one chain.
pub(crate) async fn catalog(
    store: &dyn Store,
    endpoints: &Endpoints,
    drafts: &[Draft],
) -> Result<Catalog, Hurdle> {
    fit(store, endpoints.id, drafts).await?;
    let stored = store.list_tables().await?;
    let drafts: Vec<&Draft> = drafts.iter().filter(|draft| draft.chain() == endpoints.id).collect();
    let specs = specs(&drafts, &stored)?;
    let mut entries = Vec::new();
    for (draft, spec) in drafts.iter().zip(&specs) {
        let mut starts = BTreeMap::new();
        for contract in draft.contracts() {
            starts.insert(*contract, start(store, endpoints, draft, *contract).await?);
        }
        entries.extend(CatalogEntry::of_index(spec, |contract| starts.get(&contract).copied().unwrap_or(0)));
    }
    let tables: Vec<Arc<TableSpec>> = specs.iter().flat_map(IndexSpec::tables).collect();
    let made = store.create_tables(&tables).await.map_err(|error| not_made(error, &tables))?;
    for table in made {
        tracing::info!(%table, "a table was made");
    }
    Ok(Catalog::new(endpoints.id, entries))
}

/// How a chain is collected, as it is configured.
pub(crate) fn options(chain: &Chain, owner: Owner) -> CollectOptions {
    CollectOptions {
        finality: finality(chain),
        lease_ttl: chain.lease_ttl.get(),
        batch_size: chain.batch_size.get(),
        historical_interval: chain.historical_poll_interval.get(),
        realtime_interval: chain.realtime_poll_interval.fixed(),
        max_range_blocks: chain.max_range.get(),
        verify: verify(chain),
        ..CollectOptions::new(chain.id, owner)
    }
}

/// How the past is verified, as it is configured.
const fn verify(chain: &Chain) -> VerifyOptions {
    let mode = match chain.verify {
        chain::Verify::Off => VerifyMode::Off,
        chain::Verify::Sample => VerifyMode::Sample,
        chain::Verify::Full => VerifyMode::Full,
    };
    VerifyOptions { mode, share_ppm: chain.verify_share.ppm() }
}

/// From when on a block is final, as it is configured.
pub(crate) fn finality(chain: &Chain) -> Finality {
    match chain.finality {
        chain::Finality::Finalized => Finality::Finalized,
        chain::Finality::Safe => Finality::Safe,
        chain::Finality::Depth(blocks) => Finality::Depth(blocks.into()),
    }
}

/// The indexes with their tables. Those that exist keep their names.
fn specs(drafts: &[&Draft], stored: &[TableInfo]) -> Result<Vec<IndexSpec>, Failure> {
    let mut taken: Vec<Arc<TableSpec>> = stored.iter().map(|info| info.spec.clone()).collect();
    let mut specs = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let spec = draft.named(&taken)?;
        taken.extend(spec.tables());
        specs.push(spec);
    }
    Ok(specs)
}

/// The first block of a contract. A deployment is searched for once, and kept.
async fn start(
    store: &dyn Store,
    endpoints: &Endpoints,
    draft: &Draft,
    contract: Address,
) -> Result<u64, Hurdle> {
    if let Start::Block(block) = draft.start() {
        return Ok(block);
    }
    let key = deployment_key(draft.name.identifier().as_str(), endpoints.id, contract).map_err(unnamed)?;
    if let Some(block) = store.state(&key).await?.and_then(|text| text.parse().ok()) {
        return Ok(block);
    }
    let reader = RetryingReader(&*endpoints.pool);
    let found = first_block(&reader, contract, endpoints.finality).await;
    let block = found.map_err(|error| not_found(error, endpoints, draft))?;
    let write = Write::PutState { key, value: Some(block.to_string()) };
    store.commit(Commit::of(vec![write])).await?;
    tracing::info!(index = %draft.name, %contract, block, "the contract's deployment was found");
    Ok(block)
}

/// Why a contract's first block is not known.
pub(crate) fn not_found(error: DeploymentError, endpoints: &Endpoints, draft: &Draft) -> Hurdle {
    match error {
        DeploymentError::NoContract { contract } => preflight::no_contract(contract, endpoints, draft).into(),
        DeploymentError::Chain(error) => error.into(),
        DeploymentError::NoState { .. } => Failure::coded(Code::RpcFailed, error)
            .hint(format_args!(
                "an archive node can tell; or write the block into `start` of `[index.{}]`",
                draft.name
            ))
            .into(),
    }
}

fn not_made(error: StoreError, tables: &[Arc<TableSpec>]) -> Hurdle {
    let StoreError::TableConflict { table, .. } = &error else { return error.into() };
    let index = tables.iter().find(|wanted| wanted.name == *table).map(|wanted| wanted.index.to_string());
    let hint = format!(
        "give the index another name, or remove what was collected: `windlass index drop {} --data --yes`",
        index.unwrap_or_else(|| "NAME".to_owned())
    );
    Failure::from(error).hint(hint).into()
}
