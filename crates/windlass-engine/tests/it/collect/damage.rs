//! What was damaged is found and mended by an audit, whatever was lost.

use std::sync::Arc;

use rand::Rng;
use rand::rngs::StdRng;
use windlass_core::commit::Commit;
use windlass_core::error::RetryAdvice;
use windlass_core::range::BlockRange;
use windlass_core::store::Store;
use windlass_engine::collect::audit::Audit;

use super::world::{Choice, World};

/// Takes some blocks away and has them repaired; says what differs after that.
pub(super) async fn repaired(world: &World, store: &Arc<dyn Store>, random: &mut StdRng) -> Option<String> {
    let chain = world.collected_chain("auditor", store.clone(), Choice::ALL);
    let audit = Audit::new(chain, None).await.expect("an audit");
    let extent = audit.extent().await.expect("an extent")?;
    let from = random.random_range(extent.from..=extent.to);
    let lost = BlockRange { from, to: extent.to.min(from + random.random_range(0..20)) };
    // A lost answer is as good as none: it is tried until it is seen.
    while store.commit(Commit::of(world.erasing(lost))).await.is_err() {}
    let was_lost = world.difference(&**store).await.is_some();
    let (mut next, mut repaired, mut unheard) = (extent.from, 0, 0);
    while let Some(page) = audit.next_page(next, extent.to).await.expect("a page").page {
        match audit.page(page, true).await {
            Ok(audited) => {
                repaired += audited.repaired;
                next = page.to + 1;
            }
            // It may have been done all the same; the page is looked at again.
            Err(error) => {
                assert_ne!(error.retry(), RetryAdvice::Never, "{error}");
                unheard += 1;
            }
        }
        if next > extent.to {
            break;
        }
    }
    if was_lost && repaired + unheard == 0 {
        return Some(format!("nothing was repaired of {lost:?}"));
    }
    world.difference(&**store).await
}
