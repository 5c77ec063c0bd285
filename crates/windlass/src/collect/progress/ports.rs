//! The read model behind the API's ports: how far the indexes are, and why the
//! process is not ready.

use async_trait::async_trait;
use tokio::sync::watch;
use windlass_api::ports::{Gap, IndexProgress, IndexState as Shown, ProgressSource, Readiness, Reason};

use super::{ChainView, IndexState, IndexView, Overview};

/// What was seen last, for whoever asks.
#[derive(Debug, Clone)]
pub(crate) struct Told(watch::Receiver<Overview>);

impl Told {
    /// Tells what a watcher sees.
    pub(crate) const fn new(seen: watch::Receiver<Overview>) -> Self {
        Self(seen)
    }
}

#[async_trait]
impl ProgressSource for Told {
    async fn progress(&self) -> Vec<IndexProgress> {
        self.0.borrow().indexes.iter().filter_map(progress).collect()
    }
}

/// An index as the API tells it; one that was removed does nothing that could be told.
fn progress(index: &IndexView) -> Option<IndexProgress> {
    let state = match index.state {
        IndexState::New | IndexState::Historical => Shown::Historical,
        IndexState::Realtime => Shown::Realtime,
        IndexState::Paused => Shown::Paused,
        IndexState::Stopped => Shown::Stopped,
        IndexState::Removed => return None,
    };
    Some(IndexProgress {
        index: index.name.clone(),
        chain: index.chain,
        state,
        start: index.start?,
        collected_through: index.collected_through,
        head: index.head,
        finalized: index.finalized,
        lag_blocks: index.lag_blocks,
        events_per_s: index.events_per_s,
        gaps: index.gaps.iter().map(|range| Gap { from: range.from, to: range.to }).collect(),
        eta_s: index.eta_s,
    })
}

#[async_trait]
impl Readiness for Told {
    async fn reasons(&self) -> Vec<Reason> {
        self.0.borrow().chains.iter().flat_map(reasons).collect()
    }
}

/// Why a chain is not as it should be.
fn reasons(chain: &ChainView) -> Vec<Reason> {
    let reason = |(code, message)| Reason { code, message, subject: format!("chain {}", chain.label()) };
    chain.troubles().map(reason).collect()
}

#[cfg(test)]
mod tests {
    use windlass_core::chain::{B256, BlockRef, ChainId};
    use windlass_core::code::Code;

    use super::super::HaltView;
    use super::super::example as index;
    use super::*;

    fn chain() -> ChainView {
        ChainView {
            name: Some("polygon".to_owned()),
            id: ChainId::new(137).expect("an id"),
            head: None,
            finalized: None,
            followed: None,
            lag_blocks: None,
            follower: None,
            reorgs: 0,
            open_ranges: 0,
            dead_ranges: 0,
            misfits: 0,
            halt: None,
        }
    }

    #[test]
    fn a_halt_and_dead_ranges_are_reasons_not_to_be_ready() {
        assert_eq!(reasons(&chain()), []);
        let block = BlockRef { number: 7, hash: B256::ZERO };
        let halt = Some(HaltView { block, reason: "it is gone".to_owned() });
        let told = reasons(&ChainView { halt, dead_ranges: 2, ..chain() });
        let told: Vec<_> = told.iter().map(|reason| (reason.code, reason.message.as_str())).collect();
        assert_eq!(
            told,
            [(Code::FinalityViolated, "it is gone"), (Code::RangesMissing, "2 block ranges were given up")]
        );
    }

    #[test]
    fn an_index_that_was_removed_is_not_told() {
        let known = IndexView { start: Some(3), ..index("fees") };
        assert_eq!(progress(&known).expect("told").start, 3);
        assert_eq!(progress(&IndexView { state: IndexState::Removed, ..known }), None);
    }
}
