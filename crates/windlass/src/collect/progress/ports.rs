//! The read model behind the API's ports: how far the indexes are, and why the
//! process is not ready.

use async_trait::async_trait;
use tokio::sync::watch;
use tokio::time::Instant;
use windlass_api::ports::{
    Gap, HealthState as ShownHealth, IndexHealth, IndexProgress, IndexProven, IndexState as Shown,
    ProgressSource, Readiness, Reason,
};

use super::{ChainView, HealthState, HealthView, IndexState, IndexView, Overview, ProvenView};
use crate::collect::metrics::Collected;

/// What was seen last, for whoever asks.
#[derive(Clone)]
pub(crate) struct Told {
    seen: watch::Receiver<Overview>,
    /// The chains that this process collects.
    collected: Vec<Collected>,
}

impl Told {
    /// Tells what a watcher sees, and what this process cannot write.
    pub(crate) const fn new(seen: watch::Receiver<Overview>, collected: Vec<Collected>) -> Self {
        Self { seen, collected }
    }
}

#[async_trait]
impl ProgressSource for Told {
    async fn progress(&self) -> Vec<IndexProgress> {
        self.seen.borrow().indexes.iter().filter_map(progress).collect()
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
        proven: index.proven.map(proven),
        health: health(&index.health),
    })
}

const fn proven(view: ProvenView) -> IndexProven {
    let ProvenView { total_blocks, head_blocks, sampled_blocks, full_blocks, doubtful_blocks } = view;
    IndexProven { total_blocks, head_blocks, sampled_blocks, full_blocks, doubtful_blocks }
}

fn health(view: &HealthView) -> IndexHealth {
    let state = match view.state {
        HealthState::Idle => ShownHealth::Idle,
        HealthState::Starting => ShownHealth::Starting,
        HealthState::Collecting => ShownHealth::Collecting,
        HealthState::Behind => ShownHealth::Behind,
        HealthState::RateLimited => ShownHealth::RateLimited,
        HealthState::RpcDown => ShownHealth::RpcDown,
        HealthState::Failing => ShownHealth::Failing,
        HealthState::Stopped => ShownHealth::Stopped,
        HealthState::Waiting => ShownHealth::Waiting,
        HealthState::Unattended => ShownHealth::Unattended,
    };
    IndexHealth {
        state,
        message: view.message.clone(),
        code: view.code.map(|code| code.to_string()),
        since_ms: view.since_ms.map(|since| since.as_ms()),
    }
}

#[async_trait]
impl Readiness for Told {
    async fn reasons(&self) -> Vec<Reason> {
        let mut reasons: Vec<Reason> = self.seen.borrow().chains.iter().flat_map(reasons).collect();
        let unwritten = self.collected.iter().filter_map(unwritten);
        reasons.extend(
            unwritten.filter(|new| !reasons.iter().any(|old| old.subject == new.subject)).collect::<Vec<_>>(),
        );
        reasons
    }
}

/// Why a chain is not as it should be.
fn reasons(chain: &ChainView) -> Vec<Reason> {
    let subject = format!("chain {}", chain.label());
    let urgent = chain.concerns().filter(|concern| concern.is_urgent);
    urgent
        .map(|concern| Reason { code: concern.code, message: concern.message, subject: subject.clone() })
        .collect()
}

/// A store that refuses what this process writes: then no record says so.
fn unwritten(collected: &Collected) -> Option<Reason> {
    let chain = collected.chain.borrow().clone()?;
    let failing = chain.pulse().trouble(Instant::now())?;
    failing.code.as_str().starts_with("W01").then(|| Reason {
        code: failing.code,
        message: format!("what is collected cannot be stored: {}", failing.message),
        subject: format!("chain {}", collected.name),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use windlass_core::chain::ChainId;
    use windlass_core::code::Code;

    use super::super::example as index;
    use super::*;

    /// A chain of which nothing is known.
    pub(crate) fn chain() -> ChainView {
        ChainView {
            name: Some("polygon".to_owned()),
            id: ChainId::new(137).expect("an id"),
            head_age_ms: None,
            head: None,
            finalized: None,
            followed: None,
            lag_blocks: None,
            follower: None,
            reorgs: 0,
            open_ranges: 0,
            dead_ranges: 0,
            misfits: 0,
            proven: None,
            false_endpoints: Vec::new(),
            halt: None,
            health: HealthView::default(),
        }
    }

    #[test]
    fn a_halt_and_dead_ranges_are_reasons_not_to_be_ready() {
        assert_eq!(reasons(&chain()), []);
        let (code, message) = (Some(Code::FinalityViolated), Some("it is gone".to_owned()));
        let is_urgent = true;
        let health =
            HealthView { state: HealthState::Stopped, code, message, is_urgent, ..HealthView::default() };
        let told = reasons(&ChainView { health: health.clone(), dead_ranges: 2, ..chain() });
        let told: Vec<_> = told.iter().map(|reason| (reason.code, reason.message.as_str())).collect();
        assert_eq!(
            told,
            [(Code::FinalityViolated, "it is gone"), (Code::RangesMissing, "2 block ranges were given up")]
        );
        let passing = HealthView { is_urgent: false, ..health };
        assert_eq!(reasons(&ChainView { health: passing, ..chain() }), []);
    }

    #[test]
    fn an_index_that_was_removed_is_not_told() {
        let known = IndexView { start: Some(3), ..index("fees") };
        assert_eq!(progress(&known).expect("told").start, 3);
        assert_eq!(progress(&IndexView { state: IndexState::Removed, ..known }), None);
    }
}
