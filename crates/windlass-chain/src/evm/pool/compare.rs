//! One question to every endpoint, to compare their answers; and which endpoints are not
//! asked about logs for a while because their logs were proven false.
//!
//! Invariant: an endpoint is set aside only as long as another can be asked. Where all have been
//! proven false, all are asked: callers check every answer anyway. A question whose false answers
//! show is put to it as well when nobody else has answered in time.

use std::sync::{OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;
use windlass_core::bloom::BloomFit;
use windlass_core::chain::BlockRef;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, EndpointAnswer, FalseAnswer, LogFilter};

use super::Inner;
use super::ask::Outcome;
use super::health::LeftOut;
use super::log_question::AskBlockLogs;
use super::pick::Turn;
use super::question::{AskHeader, Kind, Question};

/// At most so many endpoints are compared.
const MAX_COMPARED: usize = 5;
/// How long an endpoint is not asked about logs after the first false answer; it doubles.
const FIRST_SET_ASIDE: Duration = Duration::from_secs(60);
/// How long it is not asked at most.
const LONGEST_SET_ASIDE: Duration = Duration::from_secs(3_600);
/// After so many failures in a row at questions about logs an endpoint is not asked about them …
const MAX_FAILURES: u32 = 3;
/// … for this long; it doubles with every further failure, until an answer comes.
const FIRST_FAILING_PAUSE: Duration = Duration::from_secs(1);
/// The longest such pause.
const LONGEST_FAILING_PAUSE: Duration = Duration::from_secs(30);
/// That an endpoint keeps failing is said again after this.
const MIN_SAID_AGAIN: Duration = Duration::from_secs(600);
/// The most doublings.
const MAX_DOUBLINGS: u32 = 16;
/// The most endpoints and blocks that are made sure of at once.
const MAX_ACCUSED: usize = 4;

/// What speaks against the logs of an endpoint.
#[derive(Debug, Default)]
pub(super) struct Distrust {
    until: Option<Instant>,
    doublings: u32,
    count: u64,
    reason: Option<String>,
    /// Until when it is not asked because it keeps failing at logs, and how it did last.
    failing: Option<(Instant, String)>,
    failures: u32,
    /// When that was last said.
    said: Option<Instant>,
}

impl Distrust {
    /// An answer was proven false. What is found while the endpoint is set aside does not
    /// prolong it: the answer may be an old one. Says whether it is set aside by this one.
    pub(super) fn report(&mut self, reason: String, now: Instant) -> bool {
        self.count += 1;
        self.reason = Some(reason);
        if self.set_aside_for(now).is_some() {
            return false;
        }
        if self.until.is_some_and(|until| now.duration_since(until) > LONGEST_SET_ASIDE) {
            self.doublings = 0;
        }
        let pause = FIRST_SET_ASIDE.saturating_mul(1 << self.doublings.min(MAX_DOUBLINGS));
        self.doublings += 1;
        self.until = Some(now + pause.min(LONGEST_SET_ASIDE));
        true
    }

    /// A question about logs failed. After several in a row others are asked for a while; says
    /// whether that is news. Whatever else it answers says nothing about logs.
    pub(super) fn failed(&mut self, why: &str, now: Instant) -> bool {
        // What was asked before it was set aside says nothing new.
        if self.set_aside_for(now).is_some() {
            return false;
        }
        self.failures += 1;
        if self.failures < MAX_FAILURES {
            return false;
        }
        // One that fails now and then is back soon; one that is gone is asked ever more seldom.
        let doublings = (self.failures - MAX_FAILURES).min(MAX_DOUBLINGS);
        let pause = FIRST_FAILING_PAUSE.saturating_mul(1 << doublings).min(LONGEST_FAILING_PAUSE);
        self.failing = Some((now + pause, why.to_owned()));
        let is_news = self.said.is_none_or(|said| now.duration_since(said) >= MIN_SAID_AGAIN);
        if is_news {
            self.said = Some(now);
        }
        is_news
    }

    /// A question about logs was answered.
    pub(super) fn answered(&mut self) {
        self.failures = 0;
    }

    /// How long the endpoint is still set aside, if it is.
    pub(super) fn set_aside_for(&self, now: Instant) -> Option<Duration> {
        let failing = self.failing.as_ref().map(|(until, _)| *until);
        let until = self.until.max(failing)?;
        (now < until).then(|| until - now)
    }

    /// Why it is set aside.
    pub(super) fn why(&self, now: Instant) -> Option<&str> {
        self.failing(now).or(self.reason())
    }

    /// How it keeps failing at logs, if it is set aside for that.
    pub(super) fn failing(&self, now: Instant) -> Option<&str> {
        let failing = self.failing.as_ref().filter(|(until, _)| now < *until);
        failing.map(|(_, why)| why.as_str())
    }

    /// How its answer was false the last time.
    pub(super) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// How often its answers were false.
    pub(super) fn count(&self) -> u64 {
        self.count
    }
}

impl Inner {
    /// Puts the question to every endpoint, and gives an error for each that is left out: whoever
    /// compares knows that it was not heard. A header is asked of all that have not asked for a
    /// rest: it costs little, and much is decided by it. Ranges are asked only of those whose
    /// logs are trusted: whatever they are compared with, a false one says nothing.
    pub(super) async fn ask_each<Q: Question>(&self, question: &Q) -> Vec<EndpointAnswer<Q::Answer>> {
        let now = Instant::now();
        let kind = question.kind();
        let distrusted = if kind == Kind::RangeLogs { self.distrusted_for(kind, now) } else { Vec::new() };
        let is_compared = |place: &usize| {
            !distrusted.contains(place) || self.members[*place].distrust().failing(now).is_some()
        };
        let places = (0..self.members.len()).filter(is_compared).take(MAX_COMPARED);
        let asked = places.map(|place| async move {
            let member = &self.members[place];
            let left_out = member.health().left_out(now);
            let is_resting = |left: &LeftOut| {
                kind != Kind::Head || left.kind == ChainErrorKind::RateLimited || left.is_firm
            };
            let failing = member.distrust().failing(now).filter(|_| kind.is_about_logs()).map(str::to_owned);
            let answer = match (left_out.filter(is_resting), failing) {
                (Some(left), _) => {
                    Err(ChainError::new(left.kind, format!("{} is left out for now", member.name)))
                }
                (None, Some(why)) => Err(ChainError::new(ChainErrorKind::Unreachable, why)),
                (None, None) => self.ask_member(question, place).await,
            };
            EndpointAnswer { endpoint: member.name.clone(), answer }
        });
        let answers = join_all(asked.collect::<Vec<_>>()).await;
        if !answers.is_empty() {
            self.hedges().compared(answers.iter().any(|one| one.answer.is_ok()));
        }
        answers
    }

    /// Puts the question to one member and nobody else, and gives its answer or error. What takes
    /// far longer than usual is not waited for: it is compared with those that are there.
    ///
    /// It is asked to compare endpoints, which has time: it waits for the member's rate as questions
    /// about history do, and has a turn only then, so that it keeps none about the head from one.
    /// What the head itself waits for goes first.
    pub(super) async fn ask_member<Q: Question>(
        &self,
        question: &Q,
        place: usize,
    ) -> Result<Q::Answer, ChainError> {
        let newest = self.members.iter().filter_map(|member| member.health().head()).max();
        let is_first = question.is_compared_first(newest);
        self.members[place].wait_for_rate(is_first, question.calls()).await?;
        let limit = self.hedges().compared_within(question.kind());
        let turn = self.turn_at(place);
        let result = self.in_time(Some(limit), question, turn.member()).await;
        self.conclude(question, Outcome { turn, result })
    }

    /// The same for a turn that there is, where it is waited for no longer than this.
    pub(super) async fn ask_member_within<Q: Question>(
        &self,
        limit: Duration,
        question: &Q,
        turn: Turn<'_>,
    ) -> Result<Q::Answer, ChainError> {
        let outcome = self.put_within(Some(limit), question, turn, &OnceLock::new()).await;
        self.conclude(question, outcome)
    }

    fn conclude<Q: Question>(
        &self,
        question: &Q,
        outcome: Outcome<'_, Q::Answer>,
    ) -> Result<Q::Answer, ChainError> {
        self.settle(question, &outcome);
        outcome.result.map_err(ChainError::from)
    }

    /// Endpoints said that a block has no wanted logs, and another has some. That alone proves
    /// nothing: the other may have made them up.
    pub(super) fn accuse(&self, places: &[usize], block: BlockRef) {
        let mut accused = self.accused.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MAX_ACCUSED.saturating_sub(accused.len());
        accused.extend(places.iter().take(room).map(|place| (*place, block)));
    }

    /// The endpoints that are to be tried; forgotten hereby.
    pub(super) fn take_accused(&self) -> Vec<(usize, BlockRef)> {
        std::mem::take(&mut *self.accused.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks an endpoint for a block's header and for all of its logs. Only one whose own logs do
    /// not give the bloom in its own header has left some out.
    pub(super) async fn try_one(&self, place: usize, block: BlockRef) {
        let member = &self.members[place];
        if member.distrust().set_aside_for(Instant::now()).is_some() {
            return;
        }
        let header = AskHeader { block: BlockTag::Hash(block.hash), wants_proof: false };
        let Ok(Some(header)) = self.ask_member(&header, place).await else { return };
        // With its header, for an endpoint that ignores block hashes is no liar.
        let question = AskBlockLogs { header: &header, filter: &LogFilter::default() };
        let Ok(logs) = self.ask_member(&question, place).await else { return };
        if BloomFit::of(&header.logs_bloom, &logs) == BloomFit::Lacking {
            let why = format!("it left out logs of block {}, which its own header has", block.number);
            member.contradicted(&why, Instant::now());
        }
    }

    /// An endpoint has another block than what is stored and final, and another endpoint has that.
    pub(super) fn set_aside(&self, endpoint: &str, why: &str) {
        let Some(member) = self.members.iter().find(|member| member.name == endpoint) else { return };
        let now = Instant::now();
        tracing::warn!(endpoint, why, "an endpoint serves another chain and is left out for a while");
        let mut health = member.health();
        health.has_other_blocks(now);
        health.tell_trouble(why.to_owned(), now);
    }

    /// An endpoint's answer about logs was proven false.
    pub(super) fn distrust(&self, endpoint: &str, answer: &FalseAnswer) {
        let Some(member) = self.members.iter().find(|member| member.name == endpoint) else { return };
        if member.distrust().report(answer.to_string(), Instant::now()) {
            tracing::warn!(endpoint, %answer, "an endpoint's logs were proven false: it is not asked about logs for a while");
        }
    }

    /// Who is not asked a question of this kind, because others can be.
    pub(super) fn distrusted_for(&self, kind: Kind, now: Instant) -> Vec<usize> {
        if !kind.is_about_logs() {
            return Vec::new();
        }
        let is_distrusted = |place: &usize| self.members[*place].distrust().set_aside_for(now).is_some();
        let (distrusted, trusted): (Vec<usize>, Vec<usize>) =
            (0..self.members.len()).partition(|place| is_distrusted(place));
        let can_be_asked = |place: &usize| self.members[*place].health().is_available(now);
        if trusted.iter().any(can_be_asked) { distrusted } else { Vec::new() }
    }
}
