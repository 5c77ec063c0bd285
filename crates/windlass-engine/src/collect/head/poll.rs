//! When the chain is asked for its newest block.
//!
//! The pace follows the distance between blocks: a little more than twice in that time,
//! measured from the start of one poll to the start of the next. The distance is first taken
//! from the blocks' own times, then from when they are seen. Time is an argument.
//!
//! A poll runs beside the step, so that reading one block does not delay the sight of the
//! next; the step after it takes its answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use windlass_core::chain::BlockHeader;
use windlass_core::reader::{ChainError, Header};

use crate::collect::chain::CollectedChain;
use crate::collect::sight::{KnownFinal, Sight};

/// The time between two polls, in percent of the time between two blocks.
const INTERVAL_PERCENT: u32 = 45;
/// The shortest time between two polls that is learned.
const MIN_INTERVAL: Duration = Duration::from_millis(50);
/// The longest.
const MAX_INTERVAL: Duration = Duration::from_secs(5);
/// Until something is known of the chain.
const FIRST_INTERVAL: Duration = Duration::from_secs(1);
/// A follower that is behind the last poll has other questions: polls are so many times rarer …
const BEHIND_FACTOR: u32 = 4;
/// … from so many blocks on.
const BEHIND_BLOCKS: u64 = 16;
/// The weight of a new distance between two blocks.
const WEIGHT: f64 = 0.2;
/// A pause of the chain counts as no more than so many times the distance known.
const MAX_SLOWER: u32 = 4;
/// A poll that finds so many new blocks came much too late: the distance known was too long, and
/// the one that was seen replaces it …
const LATE_BLOCKS: u32 = 4;
/// … by so much at once, because a height that one endpoint made up looks the same.
const MAX_FASTER: u32 = 8;
/// A height that was told once and not again for so long is not the newest any more.
const MAX_UNCONFIRMED: Duration = Duration::from_secs(10);
/// The final block is asked for once in so many polls, since it moves slowly …
const POLLS_PER_FINALITY: u32 = 8;
/// … and no more often than this.
const MIN_FINALITY_INTERVAL: Duration = Duration::from_secs(4);

/// A poll for the newest block that is under way, or starts soon.
pub(super) struct Poll {
    pub(super) starts: Instant,
    pub(super) answer: AbortOnDropHandle<Result<(Sight, Header), ChainError>>,
}

impl Poll {
    /// A poll that starts at this time.
    pub(super) fn start(chain: Arc<CollectedChain>, starts: Instant, finalized: BlockHeader) -> Self {
        let answer = AbortOnDropHandle::new(tokio::spawn(async move {
            tokio::time::sleep_until(starts).await;
            chain.look(KnownFinal::Enough(finalized)).await
        }));
        Self { starts, answer }
    }
}

/// A look at what is final, under way beside all polls: every endpoint is asked, and the newest
/// block waits for none of them.
pub(super) type FinalityPoll = AbortOnDropHandle<Result<BlockHeader, ChainError>>;

/// Starts to look at what is final on a chain with this newest block.
pub(super) fn poll_finality(chain: Arc<CollectedChain>, newest: Header, last: BlockHeader) -> FinalityPoll {
    AbortOnDropHandle::new(tokio::spawn(async move { chain.look_at_finality(&newest, last).await }))
}

/// What is known of a chain's pace, and when it was polled.
#[derive(Debug, Default)]
pub(super) struct Polls {
    /// A fixed time between two polls, where one is configured.
    configured: Option<Duration>,
    block_time: Option<Duration>,
    /// The newest block, and when it was seen first.
    newest: Option<(u64, Instant)>,
    polled: Option<Instant>,
    finality_polled: Option<Instant>,
    /// Whether many blocks that were seen are not stored.
    is_behind: bool,
}

impl Polls {
    pub(super) fn new(configured: Option<Duration>) -> Self {
        Self { configured, ..Self::default() }
    }

    /// The time from the start of a poll to the start of the next.
    pub(super) fn interval(&self) -> Duration {
        let learned = self.block_time.map(|apart| apart * INTERVAL_PERCENT / 100);
        let learned = learned.map_or(FIRST_INTERVAL, |learned| learned.clamp(MIN_INTERVAL, MAX_INTERVAL));
        self.configured.unwrap_or(learned)
    }

    /// How far blocks are apart.
    pub(super) fn block_time(&self) -> Duration {
        self.block_time.unwrap_or(FIRST_INTERVAL)
    }

    /// When the next poll is due.
    pub(super) fn due(&self, now: Instant) -> Instant {
        let interval = match self.is_behind && self.configured.is_none() {
            true => (self.interval() * BEHIND_FACTOR).min(MAX_INTERVAL),
            false => self.interval(),
        };
        self.polled.map_or(now, |polled| polled + interval).max(now)
    }

    /// Blocks are stored up to this one.
    pub(super) fn stored(&mut self, up_to: u64) {
        let newest = self.newest.map_or(0, |(newest, _)| newest);
        self.is_behind = newest.saturating_sub(up_to) >= BEHIND_BLOCKS;
    }

    /// Whether the last poll is older than that.
    pub(super) fn is_older(&self, age: Duration, now: Instant) -> bool {
        self.polled.is_none_or(|polled| now.duration_since(polled) > age)
    }

    /// Whether the final block should be asked for as well.
    pub(super) fn wants_finality(&self, now: Instant) -> bool {
        let pause = match self.configured {
            Some(configured) => configured,
            None => (self.interval() * POLLS_PER_FINALITY).max(MIN_FINALITY_INTERVAL),
        };
        self.finality_polled.is_none_or(|polled| now.duration_since(polled) >= pause)
    }

    /// A poll starts.
    pub(super) fn start(&mut self, now: Instant) {
        self.polled = Some(now);
    }

    /// A look at what is final starts.
    pub(super) fn start_finality(&mut self, now: Instant) {
        self.finality_polled = Some(now);
    }

    /// The next poll is due at once.
    pub(super) fn wake(&mut self) {
        self.polled = None;
    }

    /// A poll was answered.
    pub(super) fn seen(&mut self, sight: &Sight, now: Instant) {
        let number = sight.latest.number;
        let Some((before, at)) = self.newest else {
            self.block_time = by_timestamps(sight);
            self.newest = Some((number, now));
            return;
        };
        if number <= before {
            // A height that nobody tells of any more was made up, or is of a branch that is gone.
            if number < before && now.duration_since(at) > MAX_UNCONFIRMED {
                self.newest = Some((number, now));
            }
            return;
        }
        let blocks = u32::try_from(number - before).unwrap_or(u32::MAX);
        let apart = now.duration_since(at) / blocks;
        let known = self.block_time.unwrap_or(apart);
        let apart = apart.min(known.saturating_mul(MAX_SLOWER).max(MIN_INTERVAL));
        self.block_time = Some(match blocks >= LATE_BLOCKS && apart < known {
            true => apart.max(known / MAX_FASTER),
            false => known.mul_f64(1.0 - WEIGHT) + apart.mul_f64(WEIGHT),
        });
        self.newest = Some((number, now));
    }
}

/// How far blocks are apart, on average over those that are not final.
fn by_timestamps(sight: &Sight) -> Option<Duration> {
    let blocks = sight.latest.number.saturating_sub(sight.finalized.number);
    let seconds = sight.latest_s.saturating_sub(sight.finalized.timestamp_s);
    let ms = seconds.saturating_mul(1_000).checked_div(blocks)?;
    (ms > 0).then(|| Duration::from_millis(ms))
}

#[cfg(test)]
mod tests {
    use windlass_core::chain::{B256, BlockHeader, BlockRef};

    use super::*;

    fn sight(number: u64, latest_s: u64) -> Sight {
        let finalized = BlockHeader { number: 0, hash: B256::ZERO, parent_hash: B256::ZERO, timestamp_s: 0 };
        Sight { latest: BlockRef { number, hash: B256::ZERO }, finalized, latest_s }
    }

    #[test]
    fn the_pace_comes_from_timestamps_first_and_from_what_is_seen_then() {
        let (mut polls, start) = (Polls::new(None), Instant::now());
        assert_eq!(polls.interval(), FIRST_INTERVAL);
        polls.seen(&sight(100, 200), start);
        assert_eq!(polls.interval(), Duration::from_millis(900), "blocks are two seconds apart");
        for block in 1..60_u32 {
            polls.seen(&sight(100 + u64::from(block), 200), start + Duration::from_millis(250) * block);
        }
        assert_eq!(polls.interval().as_millis(), 112);
    }

    #[test]
    fn a_chain_that_rests_does_not_stop_the_polls() {
        let (mut polls, start) = (Polls::new(None), Instant::now());
        polls.seen(&sight(100, 100), start);
        for hour in 1..50_u32 {
            polls.seen(&sight(100 + u64::from(hour), 100), start + Duration::from_secs(3_600) * hour);
        }
        assert_eq!(polls.interval(), MAX_INTERVAL);
    }

    #[test]
    fn one_who_is_behind_polls_less_often() {
        let (mut polls, start) = (Polls::new(None), Instant::now());
        polls.seen(&sight(100, 100), start);
        polls.start(start);
        polls.stored(84);
        assert_eq!(polls.due(start), start + Duration::from_millis(1_800));
        polls.stored(85);
        assert_eq!(polls.due(start), start + Duration::from_millis(450));
    }

    #[test]
    fn a_height_that_nobody_tells_of_again_slows_nothing_down() {
        let (mut polls, start) = (Polls::new(None), Instant::now());
        polls.seen(&sight(100, 100), start);
        polls.seen(&sight(1 << 40, 100), start + Duration::from_secs(1));
        for second in 2..30_u32 {
            polls.seen(&sight(100 + u64::from(second), 100), start + Duration::from_secs(1) * second);
        }
        polls.start(start);
        polls.stored(129);
        assert_eq!(polls.due(start), start + polls.interval());
        assert!(polls.interval() >= Duration::from_millis(300), "{:?}", polls.interval());
    }

    #[test]
    fn a_false_block_time_is_corrected_by_a_few_polls() {
        let (mut polls, start) = (Polls::new(None), Instant::now());
        polls.seen(&sight(100, 3_600 * 100), start);
        assert_eq!(polls.interval(), MAX_INTERVAL, "an hour between blocks, as the endpoint says");
        for poll in 1..=5_u32 {
            // The chain has a block a second: a poll after five seconds finds five of them.
            polls.seen(&sight(100 + u64::from(poll) * 5, 100), start + MAX_INTERVAL * poll);
        }
        assert!(polls.interval() <= Duration::from_millis(450), "{:?}", polls.interval());
    }

    #[test]
    fn what_is_configured_is_kept() {
        let mut polls = Polls::new(Some(Duration::from_secs(60)));
        let start = Instant::now();
        polls.seen(&sight(100, 100), start);
        polls.start(start);
        assert_eq!(polls.due(start + Duration::from_secs(20)), start + Duration::from_secs(60));
        polls.wake();
        assert_eq!(polls.due(start), start);
    }

    #[test]
    fn polls_are_counted_from_start_to_start() {
        let (mut polls, start) = (Polls::new(None), Instant::now());
        assert!(polls.wants_finality(start));
        polls.start(start);
        polls.start_finality(start);
        polls.seen(&sight(100, 200), start);
        assert_eq!(polls.due(start + Duration::from_millis(100)), start + Duration::from_millis(900));
        assert!(!polls.wants_finality(start + Duration::from_millis(7_100)));
        assert!(polls.wants_finality(start + Duration::from_millis(7_200)));
    }
}
