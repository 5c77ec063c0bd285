//! What the configuration says there is.

use std::time::Duration;

use windlass_core::chain::{Address, ChainId};
use windlass_core::table::Identifier;

use crate::collect::draft::Draft;
use crate::config::Config;
use crate::config::chain::Chain;
use crate::config::index::start::Start;
use crate::config::index::{Index, IndexName};

/// Trouble that is over sooner is none that anybody should be woken for.
const MIN_GRACE: Duration = Duration::from_secs(2);
/// However seldom a chain is asked.
const MAX_GRACE: Duration = Duration::from_secs(120);
/// So many times the poll interval is how long nobody would notice anyway.
const GRACE_INTERVALS: u32 = 2;
/// The same where the interval is learned.
const AUTO_GRACE: Duration = Duration::from_secs(10);

/// What the configuration says there is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    pub(crate) chains: Vec<KnownChain>,
    pub(crate) indexes: Vec<KnownIndex>,
}

/// A configured chain.
#[derive(Debug, Clone)]
pub(crate) struct KnownChain {
    pub(crate) name: String,
    pub(crate) id: ChainId,
    pub(crate) batch_size: u64,
    /// How long trouble may last before the chain is not as it should be.
    pub(crate) grace: Duration,
}

/// A configured index.
#[derive(Debug, Clone)]
pub(crate) struct KnownIndex {
    pub(crate) name: Identifier,
    pub(crate) chain: ChainId,
    /// Its first block, if that is written down.
    pub(crate) start: Option<u64>,
    /// What fills its tables; nothing where its events cannot be read.
    pub(crate) sources: Option<Vec<KnownSource>>,
}

/// An event, and who emits it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownSource {
    /// The event with its types: its table is found by it.
    pub(crate) signature: String,
    /// The contract; `None` for those that a factory creates.
    pub(crate) contract: Option<Address>,
}

impl Known {
    /// What a configuration says.
    pub(crate) fn of(config: &Config) -> Self {
        let chains = config.chain.iter().map(|(name, chain)| KnownChain {
            name: name.to_string(),
            id: chain.id,
            batch_size: chain.batch_size.get(),
            grace: grace(chain),
        });
        let index = |(name, section): (&IndexName, &Index)| {
            let start = if let Start::Block(block) = section.start { Some(block) } else { None };
            let chain = config.chain.get(&section.chain)?.id;
            let sources = Draft::new(config, name, section).ok().map(|draft| draft.sources());
            Some(KnownIndex { name: name.identifier().clone(), chain, start, sources })
        };
        Self { chains: chains.collect(), indexes: config.index.iter().filter_map(index).collect() }
    }

    /// A chain by its id, if it is configured.
    pub(super) fn chain(&self, id: ChainId) -> Option<&KnownChain> {
        self.chains.iter().find(|chain| chain.id == id)
    }

    /// Whether something is to be collected of a chain.
    pub(super) fn has_index_on(&self, id: ChainId) -> bool {
        self.indexes.iter().any(|index| index.chain == id)
    }
}

/// How long trouble with a chain may last before it is not as it should be.
fn grace(chain: &Chain) -> Duration {
    let fixed = chain.realtime_poll_interval.fixed();
    fixed.map_or(AUTO_GRACE, |interval| (interval * GRACE_INTERVALS).clamp(MIN_GRACE, MAX_GRACE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grace_of(interval: &str) -> Duration {
        let text = format!("id = 1\nrpc = [\"http://h\"]\nrealtime_poll_interval = \"{interval}\"");
        grace(&toml::from_str(&text).expect("a chain"))
    }

    #[test]
    fn the_grace_is_two_poll_intervals_within_bounds() {
        let seconds = ["10ms", "1500ms", "30s", "24h"].map(|text| grace_of(text).as_millis());
        assert_eq!(seconds, [2_000, 3_000, 60_000, 120_000]);
        assert_eq!(grace_of("auto"), AUTO_GRACE);
    }
}
