//! The collector as `windlass run` composes it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_chain::evm::{EvmPool, PoolOptions};
use windlass_core::abi::{Decoder, EventShape};
use windlass_core::chain::ChainId;
use windlass_core::name::Owner;
use windlass_core::store::Store;
use windlass_core::table::Identifier;
use windlass_devnet::synthetic::SyntheticOptions;
use windlass_engine::collect::backfill::{Backfilled, Backfiller};
use windlass_engine::collect::catalog::{Catalog, CatalogEntry};
use windlass_engine::collect::chain::{CollectOptions, CollectedChain};
use windlass_engine::collect::head::{Followed, Follower};

use crate::report::Measured;

/// The event that synthetic chains are full of.
pub(super) const FEES: &str =
    "FeesCollected(address indexed token, address indexed integrator, uint256 integratorFee, uint256 lifiFee)";

/// What was collected.
pub(super) struct Collected {
    pub(super) measured: Measured,
    pub(super) ranges: u64,
}

/// Collects everything there is, from an empty store on.
pub(super) async fn measure(
    store: &Arc<dyn Store>,
    url: &str,
    workers: u32,
) -> Result<Collected, Box<dyn std::error::Error>> {
    let chain = compose(store, url).await?;
    let begun = Instant::now();
    let mut follower = Follower::new(chain.clone(), None);
    while follower.step().await? != Followed::Planned {}
    let running: Vec<_> = (0..workers)
        .map(|number| {
            let owner = Owner::new(format!("bench-{number}")).expect("an owner");
            tokio::spawn(drain(Backfiller::new(chain.clone(), owner)))
        })
        .collect();
    let (mut n, mut ranges) = (0, 0);
    for worker in running {
        let (events, done) = worker.await??;
        n += events;
        ranges += done;
    }
    let measured = Measured { n, seconds: begun.elapsed().as_secs_f64() };
    let stored: u64 = store.list_tables().await?.iter().map(|table| table.rows).sum();
    if stored != n {
        return Err(format!("{n} events were collected and {stored} are stored").into());
    }
    Ok(Collected { measured, ranges })
}

/// Everything a process needs to collect the synthetic chain.
pub(super) async fn compose(
    store: &Arc<dyn Store>,
    url: &str,
) -> Result<Arc<CollectedChain>, Box<dyn std::error::Error>> {
    let synthetic = SyntheticOptions::default();
    let id = ChainId::new(synthetic.chain_id)?;
    let shape: EventShape = FEES.parse()?;
    let table = Arc::new(shape.table(&Identifier::new("fees")?, id, &[]));
    store.create_tables(&[table.clone()]).await?;
    let entry = CatalogEntry {
        table,
        decoder: Arc::new(Decoder::new(&shape)),
        contract: synthetic.contract,
        start: 0,
    };
    let pool = EvmPool::new(&[url.to_owned()], id, PoolOptions::default())?;
    let options = CollectOptions {
        historical_interval: Duration::from_millis(1),
        ..CollectOptions::new(id, Owner::new("bench")?)
    };
    let catalog = Catalog::new(id, [entry]);
    Ok(Arc::new(CollectedChain::new(options, store.clone(), Arc::new(pool), catalog)?))
}

/// Works until no range is left; says how many events and ranges it had.
async fn drain(mut worker: Backfiller) -> Result<(u64, u64), windlass_engine::collect::error::CollectError> {
    let (mut events, mut ranges) = (0, 0);
    loop {
        match worker.step().await? {
            Backfilled::Collected { events: more, .. } => {
                events += more;
                ranges += 1;
            }
            Backfilled::Idle => return Ok((events, ranges)),
            _ => {}
        }
    }
}
