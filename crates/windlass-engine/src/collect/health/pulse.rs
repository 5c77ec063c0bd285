//! What the loops of a chain see while they ask: when an endpoint last answered, since
//! when the head cannot be followed, how old the newest block is. In memory, behind a
//! lock that nobody holds while waiting; time is an argument.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::code::Code;
use windlass_core::error::StoreError;
use windlass_core::lease::Lease;
use windlass_core::name::Owner;
use windlass_core::time::{Timestamp, duration_ms};

use super::{ChainHealth, Phase, SeenHead, Trouble};
use crate::collect::error::CollectError;
use crate::collect::finality_wait::FinalityWaited;
use crate::collect::sight::Sight;

/// Trouble that is over sooner is no news: an endpoint fails now and then.
const NEWS_AFTER: Duration = Duration::from_secs(1);
/// A question about a block that waits longer is silence.
const SILENT_AFTER: Duration = Duration::from_secs(5);
/// No head is old before this age, whatever the chain.
const OLD_HEAD_S: u64 = 120;
/// So many times the usual distance between two blocks is old.
const OLD_HEAD_BLOCKS: u64 = 10;
/// A head that does not move for so many times the distance between blocks is news.
const OBSTACLE_BLOCKS: u32 = 2;
/// A head that stands below the newest block for so long is news, whatever its steps say.
const STALLED_AFTER: Duration = Duration::from_secs(10);
/// What is said of a question that waits.
const SILENCE: &str = "the endpoints have been asked and do not answer";

/// What was seen of one chain by one process.
#[derive(Debug, Default)]
pub struct Pulse {
    seen: Mutex<Seen>,
    /// Held while the record is written: the last word is the last.
    pub(super) writing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Seen {
    lease: Option<Lease>,
    heard: Option<Instant>,
    /// Questions about blocks that wait for an answer.
    asking: BTreeMap<u64, Instant>,
    asked: u64,
    head: Option<Head>,
    /// Since when no step of the head comes to its end.
    following: Option<Failing>,
    /// What keeps the head where it is though its steps end well, and how long that is no news.
    obstacle: Option<(Failing, Duration)>,
    /// The last block that is stored.
    position: Option<u64>,
    /// Since when newer blocks are known than that one, and it is that one.
    behind_since: Option<Instant>,
    /// The last failure of a step since the head moved.
    last_failure: Option<(Code, String)>,
    /// Since when ranges fail, with nothing heard in between.
    backfilling: Option<Failing>,
    /// In which words endpoints disagree about what is final.
    dispute: Option<String>,
}

#[derive(Debug, Clone, Copy)]
struct Head {
    number: u64,
    timestamp_s: u64,
    since: Instant,
    seen: Instant,
    old_after_s: u64,
}

/// Something that fails again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failing {
    /// Since when.
    pub since: Instant,
    /// Under which code the last failure is explained.
    pub code: Code,
    /// The last failure in words.
    pub message: String,
}

impl Pulse {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This process holds the chain, or does not any more.
    pub(in crate::collect) fn hold(&self, lease: Option<Lease>) {
        let mut seen = self.seen();
        if lease.is_none() {
            // Another process moves the head meanwhile.
            (seen.position, seen.behind_since) = (None, None);
        }
        seen.lease = lease;
    }

    /// What the chain is held by, if this process holds it.
    pub(super) fn lease(&self) -> Option<Lease> {
        self.seen().lease.clone()
    }

    /// A question about a block begins; gives the number under which it ends.
    pub(super) fn ask(&self, now: Instant) -> u64 {
        let mut seen = self.seen();
        seen.asked += 1;
        let number = seen.asked;
        seen.asking.insert(number, now);
        number
    }

    /// It is over, however.
    pub(super) fn stop_asking(&self, number: u64) {
        self.seen().asking.remove(&number);
    }

    /// An endpoint has answered.
    pub(super) fn hear(&self, now: Instant) {
        let mut seen = self.seen();
        seen.heard = Some(now);
        seen.backfilling = None;
    }

    /// The chain was seen.
    pub(in crate::collect) fn see(&self, sight: &Sight, now: Instant) {
        let mut seen = self.seen();
        let is_news = seen.head.is_none_or(|head| sight.latest.number > head.number);
        let since = seen.head.filter(|_| !is_news).map_or(now, |head| head.since);
        let old_after_s = OLD_HEAD_S.max(block_time_s(sight).saturating_mul(OLD_HEAD_BLOCKS));
        let (number, timestamp_s) = (sight.latest.number, sight.latest_s);
        seen.head = Some(Head { number, timestamp_s, since, seen: now, old_after_s });
        seen.compare_with_head(now);
    }

    /// Endpoints disagree about what is final, or do not. Says whether they did before.
    pub(in crate::collect) fn disputed(&self, dispute: Option<String>) -> bool {
        std::mem::replace(&mut self.seen().dispute, dispute).is_some()
    }

    /// In which words they disagree, if they do.
    pub(super) fn dispute(&self) -> Option<String> {
        self.seen().dispute.clone()
    }

    /// A step of the head that began then has come to its end, or not.
    pub(in crate::collect) fn followed(&self, began: Instant, error: Option<&CollectError>) {
        let mut seen = self.seen();
        if matches!(error, Some(CollectError::FinalityViolated { .. })) {
            // The chain's halt says why its head stands still.
            (seen.position, seen.behind_since) = (None, None);
        }
        let trouble = error.and_then(CollectError::trouble);
        if trouble.is_some() {
            seen.last_failure.clone_from(&trouble);
        }
        seen.following = trouble.map(|(code, message)| {
            let since = seen.following.as_ref().map_or(began, |failing| failing.since);
            Failing { since, code, message }
        });
    }

    /// The last stored block is this one.
    pub(in crate::collect) fn stands_at(&self, number: u64, now: Instant) {
        let mut seen = self.seen();
        if seen.position != Some(number) {
            (seen.position, seen.behind_since) = (Some(number), None);
            seen.last_failure = None;
        }
        seen.compare_with_head(now);
    }

    /// A step of the head has come to its end without a way on, for this reason.
    pub(in crate::collect) fn obstructed(&self, began: Instant, message: String, block_time: Duration) {
        let mut seen = self.seen();
        let since = seen.obstacle.as_ref().map_or(began, |(obstacle, _)| obstacle.since);
        let obstacle = Failing { since, code: Code::ChainBehind, message };
        seen.obstacle = Some((obstacle, block_time * OBSTACLE_BLOCKS));
    }

    /// The head has moved, or has nowhere to go.
    pub(in crate::collect) fn cleared(&self) {
        self.seen().obstacle = None;
    }

    /// The newest block that endpoints know.
    pub(super) fn head_number(&self) -> Option<u64> {
        self.seen().head.map(|head| head.number)
    }

    /// The endpoints were no help with a range.
    pub(in crate::collect) fn failed_in_past(&self, began: Instant, error: &CollectError) {
        let mut seen = self.seen();
        if let Some((code, message)) = error.trouble() {
            let since = seen.backfilling.as_ref().map_or(began, |failing| failing.since);
            seen.backfilling = Some(Failing { since, code, message });
        }
    }

    /// What keeps the chain from being collected by this process, for a while already.
    pub fn trouble(&self, now: Instant) -> Option<Failing> {
        let seen = self.seen();
        let has_lasted = |failing: &Failing, limit| now.duration_since(failing.since) >= limit;
        let obstacle = seen.obstacle.as_ref();
        let obstacle = obstacle.filter(|(failing, limit)| has_lasted(failing, NEWS_AFTER.max(*limit)));
        let failing = seen.following.clone().or_else(|| seen.silence(now));
        failing
            .or_else(|| obstacle.map(|(failing, _)| failing.clone()))
            .or_else(|| seen.stall(now))
            .or_else(|| seen.backfilling.clone())
            .filter(|failing| has_lasted(failing, NEWS_AFTER))
    }

    /// The record, for now. `wall` is the same instant by the store's clock.
    pub(super) fn record(
        &self,
        owner: Owner,
        (now, wall): (Instant, Timestamp),
        stale_after: Duration,
    ) -> ChainHealth {
        let by_store = |then: Instant| {
            Timestamp::from_ms(wall.as_ms().saturating_sub(duration_ms(now.duration_since(then))))
        };
        let trouble = self.trouble(now);
        let seen = self.seen();
        ChainHealth {
            owner,
            phase: Phase::Collecting,
            at: wall,
            stale_at: wall.after(stale_after),
            heard_at: seen.heard.map(by_store),
            head: seen.head.map(|head| SeenHead {
                number: head.number,
                timestamp_s: head.timestamp_s,
                since: by_store(head.since),
                seen_at: Some(by_store(head.seen)),
                old_after_s: head.old_after_s,
            }),
            trouble: trouble
                .map(|failing| Trouble::new(by_store(failing.since), failing.code, &failing.message)),
            endpoints: Vec::new(),
            finality_waited: FinalityWaited::default(),
        }
    }
}

impl Seen {
    /// Notes since when newer blocks are known than the last one that is stored. More of them change
    /// nothing about that.
    fn compare_with_head(&mut self, now: Instant) {
        let is_behind = self.position.zip(self.head).is_some_and(|(position, head)| head.number > position);
        self.behind_since = if is_behind { self.behind_since.or(Some(now)) } else { None };
    }

    /// A head that does not move although there are newer blocks. Steps that fail and steps that end
    /// well in turn are no progress.
    fn stall(&self, now: Instant) -> Option<Failing> {
        let (position, head) = self.position.zip(self.head)?;
        let since = self.behind_since.filter(|since| now.duration_since(*since) >= STALLED_AFTER)?;
        let (code, message) = self.last_failure.clone().unwrap_or_else(|| {
            let message =
                format!("block {position} is stored, and no newer one although {} is known", head.number);
            (Code::ChainBehind, message)
        });
        Some(Failing { since, code, message })
    }

    /// A question that waits for too long, with nothing heard since it was put.
    fn silence(&self, now: Instant) -> Option<Failing> {
        let since = *self.asking.values().min()?;
        let is_silent =
            now.duration_since(since) >= SILENT_AFTER && self.heard.is_none_or(|heard| heard < since);
        is_silent.then(|| Failing { since, code: Code::RpcUnreachable, message: SILENCE.to_owned() })
    }
}

/// How far blocks are apart, on average over those that are not final.
fn block_time_s(sight: &Sight) -> u64 {
    let blocks = sight.latest.number.saturating_sub(sight.finalized.number);
    let seconds = sight.latest_s.saturating_sub(sight.finalized.timestamp_s);
    seconds.checked_div(blocks).unwrap_or(0)
}

impl CollectError {
    /// What keeps the chain from being collected, with its code. Nothing where another
    /// has taken over, or where the chain's halt says it.
    pub(in crate::collect) fn trouble(&self) -> Option<(Code, String)> {
        match self {
            Self::FinalityViolated { .. }
            | Self::Store(StoreError::Fenced { .. } | StoreError::CursorConflict { .. }) => None,
            other => Some((other.code(), other.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::chain::{B256, BlockHeader, BlockRef};
    use windlass_core::reader::{ChainError, ChainErrorKind};

    use super::*;

    fn away() -> CollectError {
        ChainError::new(ChainErrorKind::Unreachable, "it is away").into()
    }

    fn sight(number: u64, latest_s: u64) -> Sight {
        let finalized =
            BlockHeader { number: 10, hash: B256::ZERO, parent_hash: B256::ZERO, timestamp_s: 1_000 };
        Sight { latest: BlockRef { number, hash: B256::ZERO }, finalized, latest_s }
    }

    fn record(pulse: &Pulse, now: Instant) -> ChainHealth {
        let owner = Owner::new("a").expect("a name");
        pulse.record(owner, (now, Timestamp::from_ms(100_000)), Duration::from_secs(30))
    }

    #[test]
    fn trouble_is_told_since_its_first_failure_once_it_lasts_and_until_it_is_over() {
        let (pulse, begun) = (Pulse::default(), Instant::now());
        pulse.followed(begun, Some(&away()));
        assert_eq!(pulse.trouble(begun + NEWS_AFTER / 2), None, "too short to speak of");
        pulse.followed(begun + NEWS_AFTER, Some(&away()));
        let later = begun + Duration::from_secs(3);
        let told = record(&pulse, later).trouble.expect("trouble");
        assert_eq!((told.since, told.code.as_str()), (Timestamp::from_ms(97_000), "W0201"));
        pulse.followed(later, None);
        assert_eq!(record(&pulse, later).trouble, None);
    }

    #[test]
    fn silence_is_trouble_unless_something_was_heard_since() {
        let (pulse, begun) = (Pulse::default(), Instant::now());
        let question = pulse.ask(begun);
        let later = begun + SILENT_AFTER;
        assert_eq!(pulse.trouble(later - Duration::from_millis(1)), None);
        assert_eq!(pulse.trouble(later).map(|failing| failing.since), Some(begun));
        pulse.hear(begun + Duration::from_secs(1));
        assert_eq!(pulse.trouble(later), None, "another question was answered");
        pulse.ask(begun + Duration::from_secs(2));
        pulse.stop_asking(question);
        assert!(pulse.trouble(later + SILENT_AFTER).is_some());
    }

    #[test]
    fn ranges_that_fail_are_trouble_until_something_is_heard() {
        let (pulse, begun) = (Pulse::default(), Instant::now());
        pulse.failed_in_past(begun, &away());
        assert!(pulse.trouble(begun + NEWS_AFTER).is_some());
        pulse.hear(begun);
        assert_eq!(pulse.trouble(begun + NEWS_AFTER), None);
    }

    #[test]
    fn a_head_that_stands_still_is_trouble_whatever_its_steps_say_in_turn() {
        let (pulse, begun) = (Pulse::default(), Instant::now());
        pulse.see(&sight(20, 1_120), begun);
        pulse.stands_at(20, begun);
        let second = |number| begun + Duration::from_secs(number);
        assert_eq!(pulse.trouble(second(60)), None, "there is nothing newer");
        for at in 60..70 {
            // The chain goes on meanwhile.
            pulse.see(&sight(at, 1_100 + at), second(at));
            pulse.followed(second(at), Some(&away()));
            pulse.followed(second(at), None);
            pulse.stands_at(20, second(at));
            assert_eq!(pulse.trouble(second(at)), None, "too short to speak of");
        }
        let told = pulse.trouble(second(70)).expect("trouble");
        assert_eq!((told.code.as_str(), told.message.as_str()), ("W0201", away().to_string().as_str()));
        pulse.stands_at(21, second(70));
        assert_eq!(pulse.trouble(second(79)), None, "it moves");
        let chain = windlass_core::chain::ChainId::new(1).expect("an id");
        let block = BlockRef { number: 1, hash: B256::ZERO };
        pulse.followed(second(80), Some(&CollectError::final_block_gone(chain, block)));
        assert_eq!(pulse.trouble(second(100)), None, "the halt says it");
    }

    #[test]
    fn a_halt_and_a_lost_lease_are_no_trouble_of_endpoints() {
        let (pulse, begun) = (Pulse::default(), Instant::now());
        let chain = windlass_core::chain::ChainId::new(1).expect("an id");
        let block = BlockRef { number: 1, hash: B256::ZERO };
        pulse.followed(begun, Some(&CollectError::final_block_gone(chain, block)));
        let fenced = StoreError::Fenced { what: "it".to_owned(), epoch: 1 };
        pulse.followed(begun, Some(&fenced.into()));
        assert_eq!(pulse.trouble(begun + NEWS_AFTER), None);
        pulse.followed(begun, Some(&StoreError::ReadOnly.into()));
        assert_eq!(
            pulse.trouble(begun + NEWS_AFTER).map(|failing| failing.code),
            Some(Code::DatabaseReadOnly)
        );
    }

    #[test]
    fn a_head_is_new_as_long_as_its_number_grows_and_old_by_the_chains_own_measure() {
        let (pulse, begun) = (Pulse::default(), Instant::now());
        pulse.see(&sight(20, 1_120), begun);
        let later = begun + Duration::from_secs(50);
        pulse.see(&sight(20, 1_120), later);
        let head = record(&pulse, later).head.expect("a head");
        assert_eq!((head.number, head.since), (20, Timestamp::from_ms(50_000)));
        assert_eq!(head.old_after_s, 120, "blocks are 12 s apart");
        pulse.see(&sight(21, 2_100), later);
        let head = record(&pulse, later).head.expect("a head");
        assert_eq!((head.since, head.old_after_s), (Timestamp::from_ms(100_000), 1_000));
    }
}
