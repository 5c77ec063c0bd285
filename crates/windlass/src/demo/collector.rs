//! The demo's collector: the same loop and the same HTTP client as a user's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_chain::evm::{EvmReader, EvmRpc};
use windlass_core::chain::ChainId;
use windlass_core::code::Code;
use windlass_core::commit::{Commit, Write};
use windlass_core::name::{CursorName, Owner, StateKey};
use windlass_core::reader::LogFilter;
use windlass_core::store::Store;
use windlass_engine::collect::follow::{FollowError, FollowOptions, Follower};

use super::world::World;
use crate::failure::Failure;

/// How often the collector looks for a new block.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// As much as a block of the demo writes, and more.
const PROBE_BYTES: usize = 512 << 10;
/// How deep a reorg the collector believes; the demo's are shallower.
const MAX_REORG_DEPTH: u32 = 64;

/// A follower of the demo's chain.
pub(super) fn new(world: &World, store: Arc<dyn Store>) -> Result<Follower, Failure> {
    let chain = chain_id(world)?;
    let reader = EvmReader::new(EvmRpc::new(&world.http_url())?, chain);
    let options = FollowOptions {
        chain,
        start_block: 0,
        filter: LogFilter { addresses: vec![world.contract], topics: vec![vec![World::topic()]] },
        owner: Owner::new(format!("demo-{}", std::process::id())).map_err(unexpected)?,
        lease_ttl: Duration::from_secs(30),
        poll_interval: POLL_INTERVAL,
        max_blocks_per_step: 32,
        max_reorg_depth: MAX_REORG_DEPTH,
    };
    Ok(Follower::new(options, store, Arc::new(reader))?)
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

impl From<FollowError> for Failure {
    fn from(error: FollowError) -> Self {
        match error {
            FollowError::Store(error) => error.into(),
            FollowError::Chain(error) => Self::coded(Code::RpcFailed, error),
            other => Self::coded(Code::StoreDiffers, other),
        }
    }
}
