//! Pools of endpoints that are made up, in time that passes only when nothing else happens.

mod behind;
mod compare;
mod fake;
mod heads;
mod load;
mod transactions;
mod trouble;

use std::sync::Arc;

use windlass_core::chain::ChainId;

use super::{EvmPool, PoolOptions, Source};
use fake::Fake;

fn chain() -> ChainId {
    ChainId::new(137).expect("an id")
}

/// A pool of endpoints `a`, `b`, `c` and so on, and the way to them.
fn pool(count: usize) -> (EvmPool, Vec<Arc<Fake>>) {
    pool_with(count, PoolOptions::default())
}

fn pool_with(count: usize, options: PoolOptions) -> (EvmPool, Vec<Arc<Fake>>) {
    let fakes: Vec<Arc<Fake>> =
        (b'a'..).take(count).map(|name| Arc::new(Fake::new(char::from(name)))).collect();
    let sources = fakes.iter().map(|fake| Arc::clone(fake) as Arc<dyn Source>).collect();
    (EvmPool::of(sources, chain(), options), fakes)
}
