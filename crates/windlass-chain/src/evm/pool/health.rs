//! What is known of an endpoint, and what follows: how much it is asked, and when not.
//!
//! ```text
//! good answers ─► more at once, up to a maximum
//! 429          ─► half at once, left out as long as it asked for
//! failures     ─► after three in a row left out, each time for twice as long; then one try
//! ```
//!
//! What happened to questions that were under way together counts once: whatever began
//! before the last cut or pause says nothing new.

use std::time::Duration;

use tokio::time::Instant;
use windlass_core::reader::ChainErrorKind;

use super::latency::{Average, Share};
use super::options::PoolOptions;
use super::question::Kind;
use super::rate::Rate;
use super::refusals::Refusals;

/// How many questions an endpoint gets at once at first.
const FIRST_LIMIT: f64 = 4.0;
/// Where all endpoints are left out, one is tried again after this, or after as long as it has
/// asked for: nothing is gained by waiting longer.
const LAST_RESORT_PAUSE: Duration = Duration::from_secs(3);
/// Questions about heads may exceed the limit by so many: they are few, and must not wait
/// behind history.
const HEAD_RESERVE: u32 = 2;
/// After so many failures in a row an endpoint is left out.
const MAX_FAILURES: u32 = 3;
/// The most doublings of a pause.
const MAX_DOUBLINGS: u32 = 16;
/// How much worse an endpoint looks that only fails.
const ERROR_PENALTY: f64 = 3.0;
/// An answer that takes so many times as long as usual says that more at once would not help.
const SLOW_FACTOR: f64 = 3.0;

/// A single refusal among good answers is no rate limit.
const MIN_LIMITED: u32 = 2;
/// How long an endpoint is left out that has other blocks than those that are final.
const OTHER_CHAIN_PAUSE: Duration = Duration::from_secs(60);
/// An answer is of late for so long.
const LATE: Duration = Duration::from_secs(5);
/// So long an endpoint is called rate limiting after it wanted fewer requests.
const LIMITED_FOR: Duration = Duration::from_secs(10);
/// What an endpoint had so long ago it is asked about again before it is relied on.
const MAX_HEAD_AGE: Duration = Duration::from_secs(60);
/// So long an endpoint that did not have a block is not asked about it again.
const LACKS_FOR: Duration = Duration::from_secs(2);

/// An endpoint that was found behind another so many times in a row is told to be.
const MIN_BEHIND: u32 = 2;
/// How long a comparison of heads says something about the present.
const BEHIND_FOR: Duration = Duration::from_secs(60);

/// One endpoint's state.
#[derive(Debug)]
pub(super) struct Health {
    max_concurrency: f64,
    first_pause: Duration,
    longest_pause: Duration,
    in_flight: u32,
    /// How many questions at once, for now.
    limit: f64,
    /// Whether the limit still grows fast: nothing has spoken against it yet.
    fast_growth: bool,
    /// When the limit was last cut.
    cut_at: Option<Instant>,
    /// Whether it has named the right chain since it last failed.
    proven: bool,
    /// Whether the log says that it serves another chain.
    has_logged_wrong_chain: bool,
    failures: u32,
    pauses: u32,
    limited_in_a_row: u32,
    /// How often it did of late.
    limited_of_late: u32,
    /// When it last wanted fewer requests.
    limited_at: Option<Instant>,
    left_out: Option<LeftOut>,
    /// When it last gave a good answer.
    good_at: Option<Instant>,
    errors: Share,
    latency: [Average; Kind::COUNT],
    /// Which questions it has answered.
    answered: [bool; Kind::COUNT],
    /// Refusals in its own words, of questions that every endpoint serves.
    refusals: [Refusals; Kind::COUNT],
    pub(super) overall: Average,
    pub(super) counts: Counts,
    /// The highest block that it is known to have, and when that was seen.
    head: Option<(u64, Instant)>,
    /// By how many blocks its head was behind another's when they were compared last, when that
    /// was, and how often in a row.
    behind: Option<(u64, Instant, u32)>,
    /// Its last trouble, in words, and since when there is some; none after a good answer.
    trouble: Option<(String, Instant)>,
    /// How many calls a second it takes.
    pub(super) rate: Rate,
}

/// How often what happened.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) requests: u64,
    pub(super) errors: u64,
    pub(super) limited: u64,
    pub(super) hedged: u64,
}

/// Why and how long an endpoint is not asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeftOut {
    pub(super) since: Instant,
    pub(super) until: Instant,
    /// Until when at least, if all others are left out too.
    last_resort: Instant,
    pub(super) kind: ChainErrorKind,
    /// Whether no answer brings it back before.
    pub(super) is_firm: bool,
}

impl Health {
    pub(super) fn new(options: &PoolOptions) -> Self {
        let max_concurrency = f64::from(options.max_concurrency.max(1));
        Self {
            max_concurrency,
            first_pause: options.first_pause,
            longest_pause: options.longest_pause,
            in_flight: 0,
            limit: FIRST_LIMIT.min(max_concurrency),
            fast_growth: true,
            cut_at: None,
            proven: false,
            has_logged_wrong_chain: false,
            failures: 0,
            pauses: 0,
            limited_in_a_row: 0,
            limited_of_late: 0,
            limited_at: None,
            left_out: None,
            good_at: None,
            errors: Share::default(),
            latency: Default::default(),
            answered: Default::default(),
            refusals: Default::default(),
            overall: Average::default(),
            counts: Counts::default(),
            head: None,
            behind: None,
            trouble: None,
            rate: Rate::default(),
        }
    }

    /// Its last trouble in words.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_ref().map(|(words, _)| words.as_str())
    }

    /// How long it has not given a good answer, if it has failed since the last one.
    pub(super) fn troubled_for(&self, now: Instant) -> Option<Duration> {
        self.trouble.as_ref().map(|(_, since)| now.duration_since(*since))
    }

    /// It has failed, in these words.
    pub(super) fn tell_trouble(&mut self, words: String, now: Instant) {
        let since = self.trouble.as_ref().map_or(now, |(_, since)| *since);
        self.trouble = Some((words, since));
    }

    pub(super) fn is_proven(&self) -> bool {
        self.proven
    }

    /// It has named the right chain.
    pub(super) fn prove(&mut self) {
        self.proven = true;
        self.has_logged_wrong_chain = false;
    }

    /// Whether it is news that it serves another chain: then it is logged.
    pub(super) fn is_wrong_chain_news(&mut self) -> bool {
        !std::mem::replace(&mut self.has_logged_wrong_chain, true)
    }

    pub(super) fn left_out(&self, now: Instant) -> Option<LeftOut> {
        self.left_out.filter(|left_out| now < left_out.until)
    }

    /// Whether it asks for fewer requests: its rate is limited, or it said so of late. A limit that
    /// was learned from refusals is one once such questions were answered again.
    pub(super) fn is_limited(&self, now: Instant) -> bool {
        let is_late = |at: Instant| now.duration_since(at) < LIMITED_FOR;
        let is_repeated = self.limited_of_late >= MIN_LIMITED;
        let is_confirmed = |learned| self.refusals.iter().all(|refusals| refusals.began_after(learned));
        self.rate.limited_since().is_some_and(is_confirmed)
            || (is_repeated && self.limited_at.is_some_and(is_late))
    }

    pub(super) fn is_available(&self, now: Instant) -> bool {
        self.left_out(now).is_none()
    }

    /// When it can be asked again, if it cannot now.
    pub(super) fn back(&self, is_last_resort: bool, now: Instant) -> Option<Instant> {
        let left_out = self.left_out(now)?;
        let back = if is_last_resort { left_out.last_resort.min(left_out.until) } else { left_out.until };
        (back > now).then_some(back)
    }

    pub(super) fn can_be_asked(&self, is_last_resort: bool, now: Instant) -> bool {
        self.back(is_last_resort, now).is_none()
    }

    /// Whether nothing speaks against it: it did not fail last, and is not on trial.
    pub(super) fn is_well(&self, now: Instant) -> bool {
        self.is_available(now) && self.failures == 0 && self.pauses == 0
    }

    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// How many questions it gets at once.
    pub(super) fn concurrency(&self, now: Instant) -> u32 {
        match (self.is_available(now), self.proven) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => self.limit as u32,
        }
    }

    pub(super) fn has_room(&self, is_urgent: bool, now: Instant) -> bool {
        let reserve = if is_urgent && self.proven { HEAD_RESERVE } else { 0 };
        self.in_flight < self.concurrency(now) + reserve
    }

    /// How long an answer takes, about, its rate limit included, and how likely it is none: the
    /// least is asked.
    pub(super) fn score(&self, kind: Kind, now: Instant) -> f64 {
        let usual_ms = self.latency[kind as usize].faded_ms(now).unwrap_or(0.0) + 1.0;
        let load = 1.0 + f64::from(self.in_flight) / self.limit;
        let wait_ms = self.rate.expected_wait(self.in_flight, now).as_secs_f64() * 1_000.0;
        wait_ms + usual_ms * load * (1.0 + ERROR_PENALTY * self.errors.faded(now))
    }

    /// The highest block that it is known to have.
    pub(super) fn head(&self) -> Option<u64> {
        self.head.map(|(head, _)| head)
    }

    /// It has shown that it has a block.
    pub(super) fn has_block(&mut self, number: u64, now: Instant) {
        if self.head().is_none_or(|head| head <= number) {
            self.head = Some((number, now));
        }
    }

    /// It was asked for its newest block, which may lie below one that it once had.
    pub(super) fn told_head(&mut self, number: u64, now: Instant) {
        self.head = Some((number, now));
    }

    /// Its head was compared with another's, and is behind it by so many blocks, if at all.
    pub(super) fn compared(&mut self, behind_blocks: u64, now: Instant) {
        let times = self.behind.map_or(0, |(_, _, times)| times);
        self.behind = (behind_blocks > 0).then_some((behind_blocks, now, times.saturating_add(1)));
    }

    /// By how many blocks it is behind another, again and again.
    pub(super) fn blocks_behind(&self, now: Instant) -> Option<u64> {
        let behind = self.behind.filter(|(_, at, times)| *times >= MIN_BEHIND && now - *at < BEHIND_FOR);
        behind.map(|(blocks, ..)| blocks)
    }

    /// Whether it is known to have a block: what it had long ago it may have lost.
    pub(super) fn reaches(&self, block: u64, now: Instant) -> bool {
        self.head.is_some_and(|(head, at)| head >= block && now - at < MAX_HEAD_AGE)
    }

    /// Whether it has just been seen not to have a block yet.
    pub(super) fn lacks(&self, block: u64, now: Instant) -> bool {
        self.head.is_some_and(|(head, at)| head < block && now - at < LACKS_FOR)
    }

    /// A question begins.
    pub(super) fn admit(&mut self) {
        self.in_flight += 1;
        self.counts.requests += 1;
    }

    /// A question is over, however.
    pub(super) fn release(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// A good answer.
    pub(super) fn succeeded(&mut self, kind: Kind, began: Instant, now: Instant) {
        if kind == Kind::ChainId {
            return self.answered();
        }
        self.good_at = Some(now);
        let took = now - began;
        let usual_ms = self.latency[kind as usize].ms();
        let slow = usual_ms.is_some_and(|usual| took.as_secs_f64() * 1_000.0 > usual * SLOW_FACTOR);
        self.latency[kind as usize].add(took, now);
        self.answered[kind as usize] = true;
        self.refusals[kind as usize].answered();
        self.overall.add(took, now);
        self.errors.add(false, now);
        self.answered();
        if !slow {
            self.grow();
        }
    }

    /// Whether it has never answered such a question, though it has answered others: it does not
    /// serve it.
    pub(super) fn never_answers(&self, kind: Kind) -> bool {
        !self.answered[kind as usize] && self.answered.contains(&true)
    }

    /// It refused calls of a kind in words of its own. What nobody has a reason to refuse is refused
    /// because it is too much, unless it was never served, or is not any more.
    pub(super) fn refused(&mut self, (kind, calls): (Kind, u32), began: Instant, now: Instant) {
        self.counts.errors += 1;
        if !kind.is_always_served() || self.never_answers(kind) {
            return;
        }
        let refusals = &mut self.refusals[kind as usize];
        refusals.refused(now);
        if !refusals.are_lasting(now) {
            self.rate.refused(calls, began, now);
        } else if let Some(since) = refusals.since().filter(|_| refusals.conclude()) {
            self.rate.forget_refusals(since);
        }
    }

    /// Whether its rate is limited, and questions of a kind have been answered since that was
    /// learned: what it refuses of them is too much.
    pub(super) fn is_rate_limited_at(&self, kind: Kind, now: Instant) -> bool {
        let refusals = &self.refusals[kind as usize];
        self.rate.limited_since().is_some_and(|learned| refusals.began_after(learned))
            && !refusals.are_lasting(now)
    }

    /// Whether it has given a good answer in the last seconds.
    pub(super) fn has_answered_of_late(&self, now: Instant) -> bool {
        self.good_at.is_some_and(|at| now.duration_since(at) < LATE)
    }

    /// An answer of whatever content: it is alive and well.
    pub(super) fn answered(&mut self) {
        (self.failures, self.pauses, self.limited_in_a_row) = (0, 0, 0);
        if !self.left_out.is_some_and(|left_out| left_out.is_firm) {
            (self.left_out, self.trouble) = (None, None);
        }
    }

    /// More at once, if what is allowed is used.
    fn grow(&mut self) {
        if f64::from(self.in_flight) * 2.0 >= self.limit {
            self.limit += if self.fast_growth { 1.0 } else { 1.0 / self.limit };
            self.limit = self.limit.min(self.max_concurrency);
        }
    }

    /// Half at once.
    fn cut(&mut self, began: Instant, now: Instant) {
        if self.cut_at.is_none_or(|cut_at| began >= cut_at) {
            self.limit = (self.limit / 2.0).max(1.0);
            (self.cut_at, self.fast_growth) = (Some(now), false);
        }
    }

    /// It wants to be left alone for so long.
    pub(super) fn limited(&mut self, pause: Duration, began: Instant, now: Instant) {
        self.counts.limited += 1;
        let is_late = self.limited_at.is_some_and(|at| now.duration_since(at) < LIMITED_FOR);
        self.limited_of_late = if is_late { self.limited_of_late.saturating_add(1) } else { 1 };
        self.limited_at = Some(now);
        if !self.is_news(began) {
            return;
        }
        self.cut(began, now);
        let longer = 1 << self.limited_in_a_row.min(MAX_DOUBLINGS);
        self.limited_in_a_row += 1;
        let longer = pause.max((pause * longer).min(self.longest_pause));
        self.leave_out((longer, pause), ChainErrorKind::RateLimited, now);
    }

    /// It could not be reached, or what it said makes no sense.
    pub(super) fn failed(&mut self, kind: ChainErrorKind, began: Instant, now: Instant) {
        self.counts.errors += 1;
        self.strike(kind, began, now);
    }

    /// Something speaks against it.
    pub(super) fn strike(&mut self, kind: ChainErrorKind, began: Instant, now: Instant) {
        self.errors.add(true, now);
        if !self.is_news(began) {
            return;
        }
        if kind == ChainErrorKind::Unreachable {
            self.cut(began, now);
            // Whoever answers next may be somebody else.
            self.proven = false;
        }
        self.failures += 1;
        self.pause_if_due(kind, now);
    }

    /// One that is on trial has no second chance.
    fn pause_if_due(&mut self, kind: ChainErrorKind, now: Instant) {
        if self.failures >= MAX_FAILURES || (!self.proven && self.pauses > 0) {
            self.pause(kind, now);
        }
    }

    /// Another was faster, after a long wait.
    pub(super) fn stalled(&mut self, kind: Kind, began: Instant, now: Instant) {
        self.latency[kind as usize].add(now - began, now);
        self.counts.hedged += 1;
        if self.is_news(began) {
            self.failures += 1;
            self.pause_if_due(ChainErrorKind::Unreachable, now);
        }
    }

    /// It serves another chain.
    pub(super) fn has_wrong_chain(&mut self, now: Instant) {
        self.counts.errors += 1;
        self.pause(ChainErrorKind::Refused, now);
    }

    /// It has other blocks than those that are final: whatever it answers, it is left out.
    pub(super) fn has_other_blocks(&mut self, now: Instant) {
        self.counts.errors += 1;
        self.leave_out((OTHER_CHAIN_PAUSE, Duration::ZERO), ChainErrorKind::Refused, now);
        if let Some(left_out) = &mut self.left_out {
            left_out.is_firm = true;
        }
    }

    /// Left out for longer than the last time; then it must name its chain again.
    fn pause(&mut self, kind: ChainErrorKind, now: Instant) {
        let longer = 1 << self.pauses.min(MAX_DOUBLINGS);
        let pause = (self.first_pause * longer).min(self.longest_pause);
        self.pauses += 1;
        self.failures = 0;
        self.proven = false;
        // What it could take before says little about what comes back.
        (self.limit, self.fast_growth) = (1.0, true);
        self.leave_out((pause, Duration::ZERO), kind, now);
    }

    /// For how long, and how much of that it has asked for.
    fn leave_out(&mut self, (pause, asked_for): (Duration, Duration), kind: ChainErrorKind, now: Instant) {
        let until = self.left_out(now).map_or(now + pause, |before| before.until.max(now + pause));
        let last_resort = now + asked_for.max(LAST_RESORT_PAUSE);
        self.left_out = Some(LeftOut { since: now, until, last_resort, kind, is_firm: false });
    }

    /// Whether a question began after it was last left out.
    fn is_news(&self, began: Instant) -> bool {
        self.left_out.is_none_or(|left_out| began >= left_out.since)
    }
}

#[cfg(test)]
mod tests;
