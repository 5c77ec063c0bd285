//! The table that synthetic chains fill, and the collector that fills it, composed
//! as `windlass run` does.

use std::sync::Arc;

use windlass_chain::evm::{EvmPool, PoolOptions};
use windlass_core::abi::{Decoder, EventShape};
use windlass_core::chain::{BlockRef, ChainId};
use windlass_core::name::Owner;
use windlass_core::store::Store;
use windlass_core::table::{EventRow, Identifier, RowHead, TableSpec, Value};
use windlass_devnet::synthetic::{SyntheticLog, SyntheticOptions};
use windlass_engine::collect::catalog::{Catalog, CatalogEntry, Emitter};
use windlass_engine::collect::chain::{CollectOptions, CollectedChain};

type Broken = Box<dyn std::error::Error>;

/// The event that synthetic chains are full of.
pub(crate) const EVENT: &str = "FeesCollected(address indexed token, address indexed integrator, uint256 integratorFee, uint256 lifiFee)";
/// The index and the event, as the API names them.
pub(crate) const PATH: &str = "fees/FeesCollected";

/// The index that has the event.
pub(crate) const INDEX: &str = "fees";

/// The table of an index of that name.
pub(crate) fn table() -> Result<TableSpec, Broken> {
    let shape: EventShape = EVENT.parse()?;
    let chain = ChainId::new(SyntheticOptions::default().chain_id)?;
    Ok(shape.table(&Identifier::new(INDEX)?, chain, &[]))
}

/// Makes the table, unless it is there.
pub(crate) async fn create_table(store: &dyn Store) -> Result<Arc<TableSpec>, Broken> {
    let table = Arc::new(table()?);
    store.create_tables(std::slice::from_ref(&table)).await?;
    Ok(table)
}

/// The row that a log has to become.
pub(crate) fn row(log: &SyntheticLog) -> EventRow {
    let head = RowHead {
        block: BlockRef { number: log.block_number, hash: log.block_hash },
        log_index: u32::try_from(log.log_index).expect("a place in a block"),
        timestamp_s: log.block_time_s,
        transaction_hash: log.transaction_hash,
        address: log.address,
    };
    let values = vec![
        Value::Address(log.token),
        Value::Address(log.integrator),
        Value::Uint(log.integrator_fee),
        Value::Uint(log.lifi_fee),
    ];
    EventRow { head, values }
}

/// The settings of `windlass run` where nothing is configured.
pub(crate) fn options() -> Result<CollectOptions, Broken> {
    let chain = ChainId::new(SyntheticOptions::default().chain_id)?;
    Ok(CollectOptions::new(chain, Owner::new("bench")?))
}

/// Everything a process needs to collect the synthetic chain at a URL.
pub(crate) async fn compose(
    store: &Arc<dyn Store>,
    url: &str,
    options: CollectOptions,
) -> Result<Arc<CollectedChain>, Broken> {
    let entry = CatalogEntry {
        table: create_table(&**store).await?,
        decoder: Arc::new(Decoder::new(&EVENT.parse()?)),
        emitter: Emitter::Contract(SyntheticOptions::default().contract),
        start: 0,
    };
    let pool = EvmPool::new(&[url.to_owned()], options.chain, PoolOptions::default())?;
    let catalog = Catalog::new(options.chain, [entry]);
    Ok(Arc::new(CollectedChain::new(options, store.clone(), Arc::new(pool), catalog)?))
}
