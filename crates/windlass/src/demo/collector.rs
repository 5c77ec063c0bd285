//! The demo's collector: the same loop and the same HTTP client as a user's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use windlass_chain::evm::{EvmReader, EvmRpc};
use windlass_core::abi::{Decoder, EventShape};
use windlass_core::chain::ChainId;
use windlass_core::code::Code;
use windlass_core::commit::{Commit, Write};
use windlass_core::finality::Finality;
use windlass_core::name::{CursorName, Owner, StateKey};
use windlass_core::store::Store;
use windlass_core::table::{Identifier, TableSpec};
use windlass_engine::collect::backfill::Backfiller;
use windlass_engine::collect::catalog::{Catalog, CatalogEntry, Emitter};
use windlass_engine::collect::chain::{CollectOptions, CollectedChain};
use windlass_engine::collect::error::CollectError;
use windlass_engine::collect::head::Follower;
use windlass_engine::collect::health::report::Reporter;

use super::world::World;
use crate::failure::Failure;

/// How often the collector looks for a new block.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// As much as a block of the demo writes, and more.
const PROBE_BYTES: usize = 512 << 10;
/// How deep a reorg the collector believes; the demo's are shallower.
const MAX_REORG_DEPTH: u64 = 64;
/// What is collected.
const EVENT: &str = "FeesCollected(address indexed token, address indexed integrator, uint256 integratorFee, uint256 lifiFee)";

/// The loops that collect the demo's chain.
pub(super) struct Collector {
    follower: Follower,
    backfiller: Backfiller,
    reporter: Reporter,
}

impl Collector {
    /// Collects until told to stop.
    pub(super) async fn run(self, shutdown: CancellationToken) -> Result<(), CollectError> {
        let reported = async {
            self.reporter.run(shutdown.clone()).await;
            Ok(())
        };
        let collected = tokio::try_join!(
            self.follower.run(shutdown.clone()),
            self.backfiller.run(shutdown.clone()),
            reported
        );
        collected.map(drop)
    }
}

/// The demo's event.
pub(super) fn event() -> Result<EventShape, Failure> {
    EVENT.parse().map_err(unexpected)
}

/// The table that its logs go to.
pub(super) fn table(world: &World) -> Result<TableSpec, Failure> {
    Ok(event()?.table(&Identifier::new("fees").map_err(unexpected)?, chain_id(world)?, &[]))
}

/// A collector of the demo's chain, and its table.
pub(super) async fn new(world: &World, store: Arc<dyn Store>) -> Result<Collector, Failure> {
    let (chain, table) = (chain_id(world)?, Arc::new(table(world)?));
    store.create_tables(std::slice::from_ref(&table)).await?;
    let decoder = Arc::new(Decoder::new(&event()?));
    let entry = CatalogEntry { table, decoder, emitter: Emitter::Contract(world.contract), start: 0 };
    let owner = |part: &str| Owner::new(format!("demo-{}/{part}", std::process::id())).map_err(unexpected);
    let options = CollectOptions {
        finality: Finality::Depth(MAX_REORG_DEPTH),
        lease_ttl: Duration::from_secs(30),
        historical_interval: POLL_INTERVAL,
        realtime_interval: Some(POLL_INTERVAL),
        ..CollectOptions::new(chain, owner("head")?)
    };
    let reader = Arc::new(EvmReader::new(EvmRpc::new(&world.http_url())?, chain));
    let collected =
        CollectedChain::new(options, store, reader, Catalog::new(chain, [entry])).map_err(unexpected)?;
    let collected = Arc::new(collected);
    let backfiller = Backfiller::new(collected.clone(), owner("past")?);
    let reporter = Reporter::new(collected.clone());
    Ok(Collector { follower: Follower::new(collected, None), backfiller, reporter })
}

/// The demo's chain id.
pub(super) fn chain_id(world: &World) -> Result<ChainId, Failure> {
    ChainId::new(world.chain.chain_id()).map_err(unexpected)
}

/// How far the collector is: the number of the last stored block.
pub(super) async fn position(world: &World, store: &dyn Store) -> Result<Option<u64>, Failure> {
    let name = CursorName::new(format!("collect/{}/head", world.chain.chain_id())).map_err(unexpected)?;
    Ok(store.cursor(&name).await?.and_then(|cursor| u64::try_from(cursor.primary()).ok()))
}

/// Waits until the collector stands at the head, which no longer moves.
pub(super) async fn catch_up(world: &World, store: &dyn Store, limit: Duration) -> Result<(), Failure> {
    let begun = Instant::now();
    let head = world.chain.head();
    let name = CursorName::new(format!("collect/{}/head", world.chain.chain_id())).map_err(unexpected)?;
    while begun.elapsed() < limit {
        let at_head = |cursor: windlass_core::cursor::Cursor| cursor.secondary() == head.hash().to_string();
        if store.cursor(&name).await?.is_some_and(at_head) {
            return Ok(());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    // A store that takes no writes is the likeliest reason, and knows its own.
    let key = StateKey::new("demo/probe").map_err(unexpected)?;
    for value in [Some("0".repeat(PROBE_BYTES)), None] {
        store.commit(Commit::of(vec![Write::PutState { key: key.clone(), value }])).await?;
    }
    let message = format!("the collector did not reach block {} in time", head.number());
    Err(Failure::coded(Code::StoreDiffers, message).hint("run it again with the same --seed and report it"))
}

fn unexpected(error: impl std::fmt::Display) -> Failure {
    super::world::devnet_failed(error)
}
