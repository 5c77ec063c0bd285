//! Blocks whose stored logs nobody can prove right or wrong now. What is stored of them stays;
//! endpoints are asked again later, each time after a longer pause.
//!
//! Beside them stand the endpoints whose answers were proven false, for `status`.
//!
//! Invariants: both lists are bounded. A doubtful block never holds up the loop that found it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_core::block_set::BlockSet;
use windlass_core::commit::Write;
use windlass_core::error::StoreResult;
use windlass_core::name::StateKey;
use windlass_core::range::BlockRange;
use windlass_core::reader::FalseAnswer;
use windlass_core::store::Store;
use windlass_core::time::{Timestamp, duration_ms};

use super::error::CollectError;
pub use super::evidence::Doubt;

/// At most so many doubtful blocks are kept. Who finds more looks at them again later.
const MAX_BLOCKS: usize = 1_000;
/// So many doubtful blocks are asked about again in one step.
const ASKED_AGAIN: usize = 16;
/// At most so many endpoints are named.
const MAX_ENDPOINTS: usize = 16;
/// At most so many ranges of false answers are kept.
const MAX_FALSE_RANGES: usize = 1_000;
/// A doubtful block is asked about again after this; the pause doubles each time.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(6 * 3_600);
/// The most doublings.
const MAX_DOUBLINGS: u32 = 16;

/// What a loop is in doubt about.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Doubts {
    /// Blocks, in the order in which they were found.
    pub blocks: Vec<DoubtfulBlock>,
    /// Endpoints whose answers were proven false, the last one last.
    pub false_endpoints: Vec<FalseEndpoint>,
    /// The blocks that those answers were about.
    #[serde(default)]
    pub false_ranges: BlockSet,
}

/// A block whose stored logs nobody can prove right or wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoubtfulBlock {
    /// Its number.
    pub number: u64,
    /// Why nobody can tell.
    pub doubt: Doubt,
    /// Since when.
    pub since: Timestamp,
    /// How often endpoints were asked about it.
    pub tries: u32,
    /// When they are asked again.
    pub due: Timestamp,
}

/// An endpoint whose answer was proven false.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FalseEndpoint {
    /// Which one: what may be printed of its URL.
    pub endpoint: String,
    /// What its last false answer was.
    pub answer: String,
    /// When that was found.
    pub at: Timestamp,
    /// How often its answers were proven false.
    pub count: u64,
}

impl Doubts {
    /// What is stored; nothing where it makes no sense, as when another version wrote it.
    pub async fn read(store: &dyn Store, key: &StateKey) -> StoreResult<Self> {
        let text = store.state(key).await?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    /// What keeps it.
    pub(super) fn write(&self, key: &StateKey) -> Result<Write, CollectError> {
        let text = serde_json::to_string(self).map_err(|error| CollectError::strange(key, error))?;
        Ok(Write::PutState { key: key.clone(), value: Some(text) })
    }

    /// The lowest block that is due to be asked about again.
    pub(super) fn due(&self, now: Timestamp) -> Option<u64> {
        self.blocks.iter().filter(|block| block.due <= now).map(|block| block.number).min()
    }

    /// Blocks within these that are due, in their order: as many as are asked about in one step.
    pub(super) fn due_within(&self, blocks: BlockRange, now: Timestamp) -> Vec<u64> {
        let is_due = |block: &&DoubtfulBlock| block.due <= now && blocks.contains(block.number);
        let mut due: Vec<u64> = self.blocks.iter().filter(is_due).map(|block| block.number).collect();
        due.sort_unstable();
        due.truncate(ASKED_AGAIN);
        due
    }

    /// Endpoints were asked about a block, and nobody can tell.
    pub(super) fn doubt(&mut self, number: u64, doubt: Doubt, now: Timestamp) {
        let known = self.blocks.iter().position(|block| block.number == number);
        let tries = known.map_or(0, |place| self.blocks[place].tries);
        let pause = FIRST_PAUSE.saturating_mul(1 << tries.min(MAX_DOUBLINGS)).min(LONGEST_PAUSE);
        let due = Timestamp::from_ms(now.as_ms().saturating_add(duration_ms(pause)));
        match known {
            Some(place) => {
                let block = &mut self.blocks[place];
                (block.doubt, block.tries, block.due) = (doubt, tries + 1, due);
            }
            // Whoever finds more than there is room for looks again later.
            None if self.is_full() => {}
            None => self.blocks.push(DoubtfulBlock { number, doubt, since: now, tries: 1, due }),
        }
    }

    /// Endpoints could not be asked about a block: they are asked later.
    pub(super) fn postpone(&mut self, number: u64, now: Timestamp) {
        if let Some(doubt) = self.blocks.iter().find(|block| block.number == number).map(|block| block.doubt)
        {
            self.doubt(number, doubt, now);
        }
    }

    /// A block is in doubt no longer.
    pub(super) fn settle(&mut self, number: u64) {
        self.blocks.retain(|block| block.number != number);
    }

    /// Names an endpoint whose answer was proven false.
    pub(super) fn name(&mut self, endpoint: &str, answer: &FalseAnswer, now: Timestamp) {
        let known = self.false_endpoints.iter().position(|one| one.endpoint == endpoint);
        let count = known.map_or(0, |place| self.false_endpoints.remove(place).count);
        if self.false_endpoints.len() >= MAX_ENDPOINTS {
            self.false_endpoints.remove(0);
        }
        self.false_ranges.insert(answer.blocks);
        self.false_ranges.keep_largest(MAX_FALSE_RANGES);
        self.false_endpoints.push(FalseEndpoint {
            endpoint: endpoint.to_owned(),
            answer: answer.to_string(),
            at: now,
            count: count + 1,
        });
    }

    /// How many more blocks can be listed.
    pub(super) fn room(&self) -> usize {
        MAX_BLOCKS.saturating_sub(self.blocks.len())
    }

    /// Whether no more blocks are listed.
    pub(super) fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// How many blocks are in doubt.
    pub fn count(&self) -> u64 {
        self.blocks.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::reader::AnswerFault;

    use super::*;

    fn at(s: i64) -> Timestamp {
        Timestamp::from_ms(s * 1_000)
    }

    #[test]
    fn a_doubtful_block_is_asked_about_later_and_later() {
        let mut doubts = Doubts::default();
        doubts.doubt(7, Doubt::OneEndpoint, at(0));
        assert_eq!((doubts.due(at(29)), doubts.due(at(30))), (None, Some(7)));
        doubts.doubt(7, Doubt::Disagreement, at(30));
        assert_eq!((doubts.due(at(89)), doubts.due(at(90))), (None, Some(7)));
        assert_eq!((doubts.blocks[0].tries, doubts.blocks[0].since), (2, at(0)));
        for _ in 0..100 {
            doubts.doubt(7, Doubt::Disagreement, at(0));
        }
        assert_eq!(doubts.due(at(6 * 3_600)), Some(7), "the pause has an end");
        doubts.settle(7);
        assert_eq!((doubts.due(at(i64::MAX / 1_000)), doubts.count()), (None, 0));
    }

    /// A process of another version may take over: what it does not know stays in doubt.
    #[test]
    fn a_reason_of_another_version_is_kept_as_a_doubt() {
        let mut doubts = Doubts::default();
        doubts.doubt(7, Doubt::Headers, at(0));
        let text = serde_json::to_string(&doubts).expect("a text").replace("headers", "something_newer");
        let read: Doubts = serde_json::from_str(&text).expect("readable");
        assert_eq!((read.blocks[0].number, read.blocks[0].doubt), (7, Doubt::Unknown));
    }

    #[test]
    fn lists_are_bounded() {
        let mut doubts = Doubts::default();
        for number in 0..MAX_BLOCKS as u64 + 5 {
            doubts.doubt(number, Doubt::Headers, at(0));
        }
        assert_eq!((doubts.count(), doubts.room()), (MAX_BLOCKS as u64, 0));
        let answer = FalseAnswer { blocks: BlockRange { from: 3, to: 3 }, fault: AnswerFault::MissingLogs };
        for number in 0..MAX_ENDPOINTS + 1 {
            doubts.name(&format!("http://{number}"), &answer, at(0));
        }
        doubts.name("http://5", &answer, at(9));
        assert_eq!(doubts.false_endpoints.len(), MAX_ENDPOINTS);
        let last = doubts.false_endpoints.last().expect("one");
        assert_eq!(
            (last.endpoint.as_str(), last.count, last.answer.as_str()),
            ("http://5", 2, "left out logs of block 3")
        );
    }
}
