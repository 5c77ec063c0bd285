//! How far collecting is: one read model for the terminal, `status`, `index`, the
//! API, readiness and metrics.
//!
//! Everything is read from the store, so whoever can read it can tell, whichever
//! process does the work; only how fast it goes takes two looks.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this | the views: [`Overview`], [`ChainView`], [`IndexView`] |
//! | `known` | what the configuration says there is |
//! | `coverage` | which blocks are collected: pure |
//! | `health` | how collecting a chain goes: pure |
//! | `proven` | how much of it was proven, and how: pure |
//! | `read` | a look at the store |
//! | `look` | one index |
//! | [`rate`] | paces, from two looks |
//! | [`watch`] | a task that looks again and again |
//! | `ports` | the same for the API: progress and readiness |

mod coverage;
mod health;
mod known;
mod look;
mod ports;
mod proven;
pub(crate) mod rate;
mod read;
pub(crate) mod watch;

use serde::Serialize;
use windlass_core::chain::{BlockRef, ChainId};
use windlass_core::code::Code;
use windlass_core::range::BlockRange;
use windlass_core::table::Identifier;
use windlass_engine::collect::chain::{Halt, way_back};
use windlass_engine::collect::doubts::FalseEndpoint;

use crate::output::time;

pub(crate) use health::{HealthState, HealthView};
pub(crate) use known::{Known, KnownSource};
pub(crate) use ports::Told;
pub(crate) use proven::ProvenView;
pub(crate) use read::read;

/// How far everything is.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Overview {
    /// The chains that are configured, or of which something is stored.
    pub(crate) chains: Vec<ChainView>,
    /// The indexes that are configured, or of which something is stored.
    pub(crate) indexes: Vec<IndexView>,
}

/// How far a chain is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ChainView {
    /// Its name in the configuration.
    pub(crate) name: Option<String>,
    /// Its id.
    pub(crate) id: ChainId,
    /// Its newest block, as its endpoints know it.
    pub(crate) head: Option<u64>,
    /// How long ago an endpoint was last heard, in milliseconds.
    pub(crate) head_age_ms: Option<u64>,
    /// Its newest final block, as it was last seen.
    pub(crate) finalized: Option<u64>,
    /// The last block that the head has behind it.
    pub(crate) followed: Option<u64>,
    /// How many blocks that is behind the newest.
    pub(crate) lag_blocks: Option<u64>,
    /// Who follows its head now.
    pub(crate) follower: Option<String>,
    /// How often stored blocks were taken back.
    pub(crate) reorgs: u64,
    /// Ranges that are under way or wait.
    pub(crate) open_ranges: u64,
    /// Ranges that were given up.
    pub(crate) dead_ranges: u64,
    /// Logs that do not fit their event, kept as they came; counted no further than a store does.
    pub(crate) misfits: u64,
    /// How much of what is stored was proven, and how.
    pub(crate) proven: Option<ProvenView>,
    /// Endpoints whose answers were proven false in the last day.
    pub(crate) false_endpoints: Vec<FalseEndpoint>,
    /// Why collecting it has stopped.
    pub(crate) halt: Option<HaltView>,
    /// How collecting it goes.
    pub(crate) health: HealthView,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Concern {
    /// Under which code it is explained.
    pub(crate) code: Code,
    /// In a sentence.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<&'static str>,
    /// Whether it is a reason not to be ready.
    pub(crate) is_urgent: bool,
}

impl ChainView {
    /// The chain as people call it.
    pub(crate) fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.id.to_string())
    }

    /// What is not as it should be.
    pub(crate) fn concerns(&self) -> impl Iterator<Item = Concern> {
        let HealthView { state, code, is_urgent, .. } = self.health;
        let told = code.zip(self.health.message.clone());
        let health = told.map(|(code, message)| Concern { code, message, hint: state.hint(), is_urgent });
        let ranges = self.dead_ranges;
        let plural = if ranges == 1 { " was" } else { "s were" };
        let dead = (ranges > 0).then(|| Concern {
            code: Code::RangesMissing,
            message: format!("{ranges} block range{plural} given up"),
            hint: Some("`windlass jobs dead` says why, `windlass jobs retry --all` tries them again"),
            is_urgent: true,
        });
        health.into_iter().chain(dead).chain(self.doubtful()).chain(self.false_answers())
    }

    fn doubtful(&self) -> Option<Concern> {
        let blocks = self.proven.map_or(0, |proven| proven.doubtful_blocks);
        let plural = if blocks == 1 { " is" } else { "s are" };
        (blocks > 0).then(|| Concern {
            code: Code::BlocksInDoubt,
            message: format!("{blocks} block{plural} in doubt: endpoints contradict what is stored, and nothing proves them right"),
            hint: Some("name another endpoint in `rpc`; they are asked again by themselves"),
            is_urgent: false,
        })
    }

    fn false_answers(&self) -> impl Iterator<Item = Concern> {
        self.false_endpoints.iter().map(|one| Concern {
            code: Code::EndpointFalse,
            message: format!("{} {} at {}", one.endpoint, one.answer, time::instant(one.at)),
            hint: Some("it is not asked about logs for a while; replace it if that happens again"),
            is_urgent: false,
        })
    }
}

/// Why collecting a chain has stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct HaltView {
    /// The lowest stored block that is no longer on the chain.
    pub(crate) block: BlockRef,
    /// Where an operator can go back to.
    pub(crate) rewind_to: Option<u64>,
    /// In words, with the way back.
    pub(crate) reason: String,
}

impl HaltView {
    /// What a process noted, for a chain of this name.
    fn of(halt: Halt, chain: Option<&str>) -> Self {
        let Halt { block, rewind_to, mut reason } = halt;
        if let (Some(to), Some(chain)) = (rewind_to, chain) {
            reason += &way_back(chain, to);
        }
        Self { block, rewind_to, reason }
    }
}

/// How far an index is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct IndexView {
    /// Its name.
    pub(crate) name: Identifier,
    /// The chain's id.
    pub(crate) chain: ChainId,
    /// The chain's name in the configuration.
    pub(crate) chain_name: Option<String>,
    /// What it does.
    pub(crate) state: IndexState,
    /// Its first block, once that is known.
    pub(crate) start: Option<u64>,
    /// Everything from the first block to this one is collected.
    pub(crate) collected_through: Option<u64>,
    /// The chain's newest block.
    pub(crate) head: Option<u64>,
    /// The chain's newest final block.
    pub(crate) finalized: Option<u64>,
    /// How many blocks are missing from [`Self::collected_through`] to the head.
    pub(crate) lag_blocks: Option<u64>,
    /// Blocks from the first to the head that are collected.
    pub(crate) blocks_done: u64,
    /// Blocks from the first to the head.
    pub(crate) blocks_total: u64,
    /// Rows in its tables.
    pub(crate) events: u64,
    /// How fast rows come, where that is known.
    pub(crate) events_per_s: Option<f64>,
    /// When it will have caught up, in seconds from now.
    pub(crate) eta_s: Option<u64>,
    /// Ranges that were given up.
    pub(crate) gaps: Vec<BlockRange>,
    /// How much of what is stored was proven, and how.
    pub(crate) proven: Option<ProvenView>,
    /// How collecting its chain goes.
    pub(crate) health: HealthView,
    /// Its tables.
    pub(crate) tables: Vec<TableView>,
}

/// A table of an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct TableView {
    /// Its name.
    pub(crate) name: Identifier,
    /// The event's name.
    pub(crate) event: String,
    /// The event with its types.
    pub(crate) signature: String,
    /// How many rows it has.
    pub(crate) rows: u64,
}

/// What an index does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IndexState {
    /// It is configured, and nobody has begun with it.
    New,
    /// It collects the past.
    Historical,
    /// It follows the head.
    Realtime,
    /// Somebody has paused it.
    Paused,
    /// It cannot go on.
    Stopped,
    /// It is not configured any more; its data is kept.
    Removed,
}

impl IndexState {
    /// The state as it is shown.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Historical => "historical",
            Self::Realtime => "realtime",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
            Self::Removed => "removed",
        }
    }
}

impl IndexView {
    /// Whether it has a past to catch up with, and does.
    pub(crate) const fn is_catching_up(&self) -> bool {
        matches!(self.state, IndexState::New | IndexState::Historical)
    }

    /// How much of it is collected, in percent.
    pub(crate) fn percent(&self) -> Option<f64> {
        let total = self.blocks_total;
        (total > 0).then(|| self.blocks_done as f64 * 100.0 / total as f64)
    }
}

impl Overview {
    /// An index by its name.
    pub(crate) fn index(&self, name: &Identifier) -> Option<&IndexView> {
        self.indexes.iter().find(|index| index.name == *name)
    }

    /// Whether somebody is at work on something that has not caught up: then a second look shows how fast.
    pub(crate) fn is_moving(&self) -> bool {
        let followed = |index: &IndexView| {
            self.chains.iter().any(|chain| chain.id == index.chain && chain.follower.is_some())
        };
        self.indexes.iter().any(|index| index.is_catching_up() && followed(index))
    }
}

#[cfg(test)]
pub(crate) use {ports::tests::chain as example_chain, tests::index as example};

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of which nothing is known.
    pub(crate) fn index(name: &str) -> IndexView {
        IndexView {
            name: Identifier::new(name).expect("a name"),
            chain: ChainId::new(1).expect("an id"),
            chain_name: None,
            state: IndexState::Historical,
            start: None,
            collected_through: None,
            head: None,
            finalized: None,
            lag_blocks: None,
            blocks_done: 0,
            blocks_total: 0,
            events: 0,
            events_per_s: None,
            eta_s: None,
            gaps: Vec::new(),
            proven: None,
            health: HealthView::default(),
            tables: Vec::new(),
        }
    }

    #[test]
    fn percents_are_of_something() {
        assert_eq!(index("a").percent(), None);
        let half = IndexView { blocks_done: 1, blocks_total: 2, ..index("a") };
        assert_eq!(half.percent(), Some(50.0));
    }
}
