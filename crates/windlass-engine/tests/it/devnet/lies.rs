//! A pool of two endpoints of which one lies on the wire: everything is collected as it is,
//! and the liar is named.

use std::sync::Arc;

use windlass_chain::evm::{EvmPool, PoolOptions};
use windlass_core::reader::ChainReader;
use windlass_devnet::faults::{Faults, Plan};
use windlass_devnet::rpc::{Server, ServerHandle, ServerOptions};
use windlass_engine::collect::verify::{Verifier, VerifyStep};
use windlass_testkit::harness::Harness;

use super::world::{World, reach_head};

/// So many steps without an end mean that there is none.
const MAX_STEPS: u32 = 200;

/// An endpoint of the world's chain with faults of its own.
async fn endpoint(world: &World, faults: &str) -> ServerHandle {
    let plan: Plan = faults.parse().expect("a plan");
    let options = ServerOptions { faults: Some(Faults::new(7, plan)), ..ServerOptions::default() };
    Server::start(Arc::new(world.chain.clone()), options).await.expect("a server")
}

/// Collects a chain through a liar and an honest endpoint; gives the liar's status.
async fn collected_despite(lie: &str) -> windlass_chain::evm::EndpointStatus {
    let world = World::new(1).await;
    let store = world.database().await.open().await;
    (0..90).for_each(|_| world.mine(2));
    let logged = world.chain.head().number();
    let (liar, honest) = (endpoint(&world, lie).await, endpoint(&world, "").await);
    let urls = [liar.http_url(), honest.http_url()];
    let pool = Arc::new(EvmPool::new(&urls, world.chain_id(), PoolOptions::default()).expect("a pool"));
    let mut worker = world.worker_with("a", store.clone(), pool.clone());
    assert!(reach_head(&mut worker).await, "{lie}");
    // A log that is left out of a block at the head is found once the block is final.
    while world.chain.finalized() < logged {
        world.mine(0);
    }
    assert!(reach_head(&mut worker).await, "{lie}");
    let reader: Arc<dyn ChainReader> = pool.clone();
    let mut verifier = Verifier::new(world.verified_chain("a", store.clone(), reader), 5);
    let mut steps = 0;
    while verifier.step().await.expect("a step") != VerifyStep::Idle {
        steps += 1;
        assert!(steps < MAX_STEPS, "{lie}: there is no end");
    }
    assert_eq!(world.difference(&*store).await, None, "{lie}");
    for row in world.rows(&*store).await {
        let block = world.chain.block(row.head.block.number).expect("a block");
        assert_eq!(row.head.timestamp_s, block.header.timestamp, "{lie}: block {}", row.head.block);
    }
    pool.status().swap_remove(0)
}

#[tokio::test]
async fn a_liar_of_two_endpoints_changes_nothing_and_is_named() {
    for lie in ["lie=empty", "lie=missing"] {
        let status = collected_despite(lie).await;
        assert!(status.false_answers > 0, "{lie}: {status:?}");
        assert!(status.false_answer.is_some_and(|words| words.contains("logs of block")), "{lie}");
    }
}

#[tokio::test]
async fn wrong_hashes_times_numbers_and_repeats_on_the_wire_are_not_stored() {
    for lie in ["lie=hash", "lie=time", "lie=number", "lie=repeat"] {
        collected_despite(lie).await;
    }
}
