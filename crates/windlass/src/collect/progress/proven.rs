//! How much of what is stored was proven, and how: pure arithmetic on sets of blocks.

use serde::Serialize;
use windlass_core::block_set::BlockSet;
use windlass_core::plan::Plan;
use windlass_core::range::BlockRange;
use windlass_core::time::Timestamp;
use windlass_engine::collect::doubts::{Doubts, FalseEndpoint};
use windlass_engine::collect::verify::Verified;

/// An endpoint that was proven wrong longer ago is not told any more.
const NEWS_MS: i64 = 24 * 3_600 * 1_000;

/// How much was proven, in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(crate) struct ProvenView {
    /// From the first block to the last final one that was followed.
    pub(crate) total_blocks: u64,
    /// Followed at the head, each header and logs by its hash, and held against what every other
    /// endpoint says once they were final.
    pub(crate) head_blocks: u64,
    /// Headers of some blocks of each segment fit what is stored.
    pub(crate) sampled_blocks: u64,
    /// Every header and all logs fit what is stored.
    pub(crate) full_blocks: u64,
    /// Nobody can tell whether what is stored is right.
    pub(crate) doubtful_blocks: u64,
}

impl ProvenView {
    /// How much of it is proven, in percent; nothing where there is nothing to prove.
    pub(crate) fn percent(&self) -> Option<f64> {
        let proven = self.head_blocks + self.sampled_blocks + self.full_blocks;
        (self.total_blocks > 0).then(|| proven as f64 * 100.0 / self.total_blocks as f64)
    }
}

/// What is stored about the trust in a chain's blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Trust {
    pub(super) verified: Verified,
    pub(super) doubts: Doubts,
    /// The head has stored every source's logs from this block on.
    pub(super) head_from: Option<u64>,
    /// The last final block that the head has behind it.
    pub(super) followed: Option<u64>,
    /// The last block that was looked at again.
    pub(super) rechecked: Option<u64>,
    /// Blocks that were held against more than one endpoint when they were looked at again: the
    /// others were held against nothing but the word of who told them.
    pub(super) compared: BlockSet,
}

impl Trust {
    pub(super) fn new(
        verified: Verified,
        doubts: Doubts,
        plan: &Plan,
        (followed, rechecked): (Option<u64>, Option<u64>),
        compared: BlockSet,
    ) -> Self {
        let head_from = plan.collected().filter_map(|(_, source)| source.head_from).max();
        Self { verified, doubts, head_from, followed, rechecked, compared }
    }

    /// What is proven from a block on.
    pub(super) fn proven(&self, start: Option<u64>) -> Option<ProvenView> {
        let blocks = BlockRange { from: start?, to: self.followed? };
        if blocks.from > blocks.to {
            return None;
        }
        let all = [&self.doubts, &self.verified.doubts];
        let mut doubtful = BlockSet::EMPTY;
        for block in all.iter().flat_map(|doubts| &doubts.blocks).filter(|block| block.number >= blocks.from)
        {
            doubtful.insert(BlockRange { from: block.number, to: block.number });
        }
        // What is in doubt is not proven, whatever was said of it before.
        let within = |set: &BlockSet| {
            let outside = set.minus(&BlockSet::from(blocks));
            set.minus(&outside).minus(&doubtful)
        };
        let head_to = self.rechecked.map_or(0, |rechecked| rechecked.min(blocks.to));
        let head = self.head_from.map(|from| BlockRange { from: from.max(blocks.from), to: head_to });
        let head = head.filter(|head| head.from <= head.to).map_or(BlockSet::EMPTY, BlockSet::from);
        let head = head.minus(&head.minus(&self.compared)).minus(&self.verified.full);
        let sampled = self.verified.sampled.minus(&head);
        Some(ProvenView {
            total_blocks: blocks.count(),
            head_blocks: within(&head).count(),
            sampled_blocks: within(&sampled).count(),
            full_blocks: within(&self.verified.full).count(),
            doubtful_blocks: doubtful.count(),
        })
    }

    /// The endpoints whose answers were proven false of late, the last first.
    pub(super) fn false_endpoints(&self, now: Timestamp) -> Vec<FalseEndpoint> {
        let all =
            [&self.doubts, &self.verified.doubts].into_iter().flat_map(|doubts| &doubts.false_endpoints);
        let is_news = |one: &&FalseEndpoint| now.as_ms().saturating_sub(one.at.as_ms()) < NEWS_MS;
        let mut news: Vec<FalseEndpoint> = all.filter(is_news).cloned().collect();
        news.sort_by_key(|one| std::cmp::Reverse(one.at));
        let mut named = Vec::new();
        news.retain(|one| {
            !named.contains(&one.endpoint) && {
                named.push(one.endpoint.clone());
                true
            }
        });
        news
    }
}

#[cfg(test)]
mod tests {
    use windlass_engine::collect::doubts::{Doubt, DoubtfulBlock};

    use super::*;

    fn range(from: u64, to: u64) -> BlockRange {
        BlockRange { from, to }
    }

    #[test]
    fn what_is_proven_is_counted_from_the_start_on() {
        let verified = Verified {
            sampled: BlockSet::from(range(0, 49)),
            full: BlockSet::from(range(50, 59)),
            ..Verified::default()
        };
        let trust = Trust {
            verified,
            head_from: Some(90),
            followed: Some(109),
            rechecked: Some(109),
            compared: BlockSet::from(range(50, 109)),
            ..Trust::default()
        };
        let all = trust.proven(Some(10)).expect("something");
        let expected = ProvenView {
            total_blocks: 100,
            head_blocks: 20,
            sampled_blocks: 40,
            full_blocks: 10,
            doubtful_blocks: 0,
        };
        assert_eq!((all, all.percent()), (expected, Some(70.0)));
        assert_eq!(trust.proven(Some(100)).map(|view| (view.total_blocks, view.head_blocks)), Some((10, 10)));
        assert_eq!((trust.proven(None), trust.proven(Some(200))), (None, None));
    }

    /// Its own word again is no proof; what was verified is.
    #[test]
    fn what_the_head_has_is_proven_only_where_it_was_compared_or_verified() {
        let verified = Verified { sampled: BlockSet::from(range(0, 99)), ..Verified::default() };
        let (head_from, followed, rechecked) = (Some(90), Some(109), Some(109));
        let mut trust = Trust { verified, head_from, followed, rechecked, ..Trust::default() };
        let counts = |trust: &Trust| {
            let all = trust.proven(Some(10)).expect("something");
            (all.head_blocks, all.sampled_blocks, all.percent())
        };
        assert_eq!(counts(&trust), (0, 90, Some(90.0)));
        trust.compared = BlockSet::from(range(90, 109));
        assert_eq!(counts(&trust), (20, 80, Some(100.0)), "no block is counted twice");
    }

    #[test]
    fn what_is_in_doubt_is_not_proven() {
        let doubt = |number| DoubtfulBlock {
            number,
            doubt: Doubt::Unheard,
            since: Timestamp::from_ms(0),
            tries: 1,
            due: Timestamp::from_ms(0),
        };
        let doubts = Doubts { blocks: vec![doubt(7), doubt(30), doubt(99)], ..Doubts::default() };
        let verified = Verified { sampled: BlockSet::from(range(0, 49)), ..Verified::default() };
        let (head_from, followed, rechecked) = (Some(90), Some(109), Some(104));
        let compared = BlockSet::from(range(0, 200));
        let trust = Trust { verified, doubts, head_from, followed, rechecked, compared };
        let all = trust.proven(Some(10)).expect("something");
        assert_eq!((all.head_blocks, all.sampled_blocks, all.doubtful_blocks), (14, 39, 2));
    }

    #[test]
    fn an_endpoint_is_named_once_and_not_for_ever() {
        let named = |endpoint: &str, at| FalseEndpoint {
            endpoint: endpoint.to_owned(),
            answer: "left out logs of block 3".to_owned(),
            at: Timestamp::from_ms(at),
            count: 1,
        };
        let mut trust = Trust::default();
        trust.doubts.false_endpoints = vec![named("a", 5), named("b", 1)];
        trust.verified.doubts.false_endpoints = vec![named("a", 9)];
        let at = |ms| {
            let told = trust.false_endpoints(Timestamp::from_ms(ms));
            told.into_iter().map(|one| (one.endpoint, one.at.as_ms())).collect::<Vec<_>>()
        };
        assert_eq!(at(10), [("a".to_owned(), 9), ("b".to_owned(), 1)]);
        assert_eq!(at(NEWS_MS + 5), [("a".to_owned(), 9)]);
    }
}
