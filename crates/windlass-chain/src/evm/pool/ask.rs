//! One question: who is asked, in turn, until somebody knows.

use std::pin::pin;
use std::sync::{MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::time::{Instant, sleep};
use windlass_core::error::RetryAdvice;
use windlass_core::reader::{ChainError, ChainErrorKind};

use super::Inner;
use super::hedge::Hedges;
use super::knowledge::Knowledge;
use super::member::{Failure, Member};
use super::pick::Turn;
use super::question::{Kind, Question};

/// The most endpoints that are asked one question.
pub const MAX_TRIES: usize = 3;

/// How often they are asked, if their rate limits are all that keeps them from answering.
const MAX_ROUNDS: u32 = 3;

/// Waiting so long for an endpoint's rate is worth a line for who looks for the cause.
const LONG_WAIT: Duration = Duration::from_secs(1);

/// What became of a question put to one member. The turn is over when this is settled.
pub(super) struct Outcome<'a, A> {
    pub(super) turn: Turn<'a>,
    pub(super) result: Result<A, Failure>,
}

impl Inner {
    /// Asks one member after another, until one answers and knows. Where all have had too many
    /// calls, they are asked again when they can be.
    pub(super) async fn ask<Q: Question>(&self, question: &Q) -> Result<Q::Answer, ChainError> {
        let mut round = 1;
        loop {
            match self.ask_all(question).await {
                // One of many calls is asked again in parts.
                Err(error)
                    if error.kind == ChainErrorKind::RateLimited
                        && question.calls() == 1
                        && round < MAX_ROUNDS =>
                {
                    round += 1;
                }
                answer => return answer,
            }
        }
    }

    async fn ask_all<Q: Question>(&self, question: &Q) -> Result<Q::Answer, ChainError> {
        let mut tried = Tried::default();
        while tried.count < MAX_TRIES {
            let Some(turn) = self.turn(question, &tried.places).await? else { break };
            tried.places.push(turn.place);
            let (first, second) = self.attempt(question, turn, &mut tried.places).await;
            for outcome in [Some(first), second].into_iter().flatten() {
                if let Some(answer) = self.take_note(question, &mut tried, outcome) {
                    return Ok(answer);
                }
            }
        }
        tried.conclude().map_err(|error| self.named_by_rate(question.kind(), error))
    }

    /// A failure of endpoints that refuse what is too much a second, and answer what is not, is
    /// called by that: what they refuse in words of their own, and what they cut off besides.
    fn named_by_rate(&self, kind: Kind, error: ChainError) -> ChainError {
        let now = Instant::now();
        let is_limited = |member: &Member| {
            let health = member.health();
            health.is_rate_limited_at(kind, now) && health.has_answered_of_late(now)
        };
        let may_be_rate = matches!(error.kind, ChainErrorKind::Refused | ChainErrorKind::Unreachable);
        match may_be_rate && self.members.iter().all(is_limited) {
            true => ChainError { message: error.message, ..ChainError::new(ChainErrorKind::RateLimited, "") },
            false => error,
        }
    }

    /// The same for a question that nobody else holds.
    pub(super) async fn ask_owned<Q: Question>(&self, question: Q) -> Result<Q::Answer, ChainError> {
        self.ask(&question).await
    }

    /// Puts the question to one member, and to a second if the first is late.
    async fn attempt<'a, Q: Question>(
        &'a self,
        question: &Q,
        turn: Turn<'a>,
        places: &mut Vec<usize>,
    ) -> (Outcome<'a, Q::Answer>, Option<Outcome<'a, Q::Answer>>) {
        let (place, asked, second_asked) = (turn.place, OnceLock::new(), OnceLock::new());
        let first = pin!(self.put(question, turn, &asked));
        let late_after =
            if self.members.len() > 1 { self.hedges().late_after(question.kind()) } else { None };
        let Some(late_after) = late_after else { return (first.await, None) };
        let first = match select(first, pin!(sleep(late_after))).await {
            Either::Left((done, _)) => return (done, None),
            Either::Right(((), first)) => first,
        };
        let (endpoint, kind, is_asked) = (&self.members[place].name, question.kind(), asked.get().is_some());
        tracing::debug!(
            endpoint,
            ?kind,
            is_asked,
            "an answer is late; another endpoint is asked if one has room"
        );
        let (first, spare) = match select(first, pin!(self.next_spare_turn(question, places))).await {
            Either::Left((done, _)) => return (done, None),
            Either::Right((spare, first)) => (first, spare),
        };
        self.hedges().spend();
        places.push(spare.place);
        let second = pin!(self.put(question, spare, &second_asked));
        let (done, other) = match select(first, second).await {
            Either::Left((done, second)) => (done, second),
            Either::Right((done, first)) => (done, first),
        };
        let knows = done.result.as_ref().is_ok_and(|answer| !question.is_unknown(answer));
        if !knows {
            return (done, Some(other.await));
        }
        // One that still waits for its rate has not been asked.
        if let Some(asked) = asked.get().filter(|_| done.turn.place != place) {
            let now = Instant::now();
            self.members[place].health().stalled(question.kind(), *asked, now);
        }
        (done, None)
    }

    /// `asked` is when the member was asked, once it was.
    async fn put<'a, Q: Question>(
        &self,
        question: &Q,
        turn: Turn<'a>,
        asked: &OnceLock<Instant>,
    ) -> Outcome<'a, Q::Answer> {
        let limit = self.hedges().hangs_after(question.kind());
        self.put_within(limit, question, turn, asked).await
    }

    /// Puts the question when the member's rate allows; then it may take no longer than this. The
    /// turn begins then: waiting for the rate says nothing about the endpoint.
    pub(super) async fn put_within<'a, Q: Question>(
        &self,
        limit: Option<Duration>,
        question: &Q,
        mut turn: Turn<'a>,
        asked: &OnceLock<Instant>,
    ) -> Outcome<'a, Q::Answer> {
        let waited = turn.member().wait_for_rate(self.is_urgent(question), question.calls()).await;
        let waited_for = turn.began.elapsed();
        if waited_for >= LONG_WAIT {
            let (endpoint, kind) = (&turn.member().name, question.kind());
            tracing::debug!(endpoint, ?kind, ?waited_for, "a question has waited for its endpoint's rate");
        }
        turn.began = *asked.get_or_init(Instant::now);
        let result = match waited {
            Ok(()) => self.in_time(limit, question, turn.member()).await,
            Err(failure) => Err(failure),
        };
        Outcome { turn, result }
    }

    /// Whether it goes before questions about history.
    pub(super) fn is_urgent<Q: Question>(&self, question: &Q) -> bool {
        question.is_urgent(self.members.iter().filter_map(|member| member.health().head()).max())
    }

    /// Puts the question. It is given up when the endpoint seems to hang, where that can be
    /// told: it can be asked again, and whatever waits for it goes on.
    pub(super) async fn in_time<Q: Question>(
        &self,
        limit: Option<Duration>,
        question: &Q,
        member: &Member,
    ) -> Result<Q::Answer, Failure> {
        let answer = async {
            self.make_sure(question, member).await?;
            question.put(&*member.source).await.map_err(Failure::Error)
        };
        let Some(limit) = limit.map(|limit| limit.min(self.options.request_timeout)) else {
            return answer.await;
        };
        match tokio::time::timeout(limit, answer).await {
            Ok(answer) => answer,
            Err(_) => {
                let message = format!("{} did not answer within {} ms", member.name, limit.as_millis());
                Err(Failure::Error(ChainError::new(ChainErrorKind::Unreachable, message)))
            }
        }
    }

    /// Makes sure that a member can be asked: that it serves the chain, and has the blocks.
    async fn make_sure<Q: Question>(&self, question: &Q, member: &Member) -> Result<(), Failure> {
        member.prove(self.chain).await?;
        // Others may have waited for this to be known.
        self.freed.notify_waiters();
        match question.presumes() {
            Some(block) => member.reach(block).await,
            None => Ok(()),
        }
    }

    /// Learns from an outcome; gives the answer back if it is one.
    fn take_note<Q: Question>(
        &self,
        question: &Q,
        tried: &mut Tried<Q::Answer>,
        outcome: Outcome<'_, Q::Answer>,
    ) -> Option<Q::Answer> {
        self.settle(question, &outcome);
        let Outcome { turn: Turn { place, began, .. }, result } = outcome;
        match result {
            Ok(answer) if question.is_unknown(&answer) => tried.unknown(question, place, answer),
            Err(failure) => tried.failed(place, began, failure),
            Ok(answer) => {
                let now = Instant::now();
                for (refused, began) in &tried.refused {
                    self.members[*refused].refuted(*began, now);
                }
                if let Some(block) = question.accuses() {
                    self.accuse(&tried.unknowing, block);
                }
                if question.is_for_newest() {
                    self.knowledge().told_newest = Some(place);
                }
                if question.kind().is_about_heads() {
                    self.prefer(place, &tried.ignorant, now);
                }
                return Some(answer);
            }
        }
        None
    }

    /// Draws the conclusions about the member that was asked.
    pub(super) fn settle<Q: Question>(&self, question: &Q, outcome: &Outcome<'_, Q::Answer>) {
        let (place, began) = (outcome.turn.place, outcome.turn.began);
        let (member, now) = (&self.members[place], Instant::now());
        let answer = match &outcome.result {
            Ok(answer) => answer,
            Err(failure) => {
                return member.failed(failure, (question.kind(), question.calls()), began, now);
            }
        };
        member.health().succeeded(question.kind(), began, now);
        member.health().rate.answered(question.calls(), now);
        if question.kind().is_about_logs() {
            member.distrust().answered();
        }
        self.hedges().answered(question.kind(), now - began);
        for other in self.members.iter().enumerate().filter(|(other, _)| *other != place) {
            question.share(answer, &*other.1.source);
        }
        if let Some(block) = question.shows(answer) {
            member.health().has_block(block.number, now);
            self.knowledge().has(place, block, question.is_proven(answer));
        }
    }

    /// Who has just answered about heads stays the one to ask, unless another is and is well.
    fn prefer(&self, place: usize, ignorant: &[usize], now: Instant) {
        let mut knowledge = self.knowledge();
        let stays = knowledge.favourite.is_some_and(|favourite| {
            !ignorant.contains(&favourite) && self.members[favourite].health().is_well(now)
        });
        if !stays {
            knowledge.favourite = Some(place);
        }
    }

    /// Whether headers of this chain are known to hash to their hashes. Chains that make their
    /// hashes otherwise have none that do.
    pub(super) fn headers_are_provable(&self) -> bool {
        self.knowledge().is_provable
    }

    pub(super) fn knowledge(&self) -> MutexGuard<'_, Knowledge> {
        self.knowledge.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hedges(&self) -> MutexGuard<'_, Hedges> {
        self.hedges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was tried, and to what end.
struct Tried<A> {
    /// Who has been asked.
    places: Vec<usize>,
    /// How many of them count: one that serves another chain, or does not have the blocks,
    /// was not really asked.
    count: usize,
    /// Who refused, and when it was asked.
    refused: Vec<(usize, Instant)>,
    /// Who did not know, or does not have the block.
    ignorant: Vec<usize>,
    /// Who answered that there is nothing.
    unknowing: Vec<usize>,
    /// The best answer that does not know all.
    unknown: Option<A>,
    error: Option<ChainError>,
    /// That somebody does not have the blocks: told if nothing worse happened.
    behind: Option<ChainError>,
}

impl<A> Default for Tried<A> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            count: 0,
            refused: Vec::new(),
            ignorant: Vec::new(),
            unknowing: Vec::new(),
            unknown: None,
            error: None,
            behind: None,
        }
    }
}

impl<A> Tried<A> {
    fn unknown<Q: Question<Answer = A>>(&mut self, question: &Q, place: usize, answer: A) {
        self.count += 1;
        self.ignorant.push(place);
        self.unknowing.push(place);
        match &self.unknown {
            Some(before) if !question.is_better(before, &answer) => {}
            _ => self.unknown = Some(answer),
        }
    }

    fn failed(&mut self, place: usize, began: Instant, failure: Failure) {
        let error = match failure {
            Failure::WrongChain(error) | Failure::TooManyCalls(error) => error,
            Failure::Behind(error) => {
                self.ignorant.push(place);
                self.behind = Some(error);
                return;
            }
            Failure::Error(error) => {
                self.count += 1;
                match error.kind {
                    ChainErrorKind::Refused => self.refused.push((place, began)),
                    ChainErrorKind::UnknownBlock => self.ignorant.push(place),
                    _ => {}
                }
                error
            }
        };
        self.error = Some(match self.error.take() {
            Some(before) => more_useful(before, error),
            None => error,
        });
    }

    fn conclude(self) -> Result<A, ChainError> {
        let nobody = || ChainError::new(ChainErrorKind::Unreachable, "there is no endpoint to ask");
        match (self.unknown, self.error.or(self.behind)) {
            (Some(answer), _) => Ok(answer),
            (None, error) => Err(error.unwrap_or_else(nobody)),
        }
    }
}

/// Which of two errors the caller can do more about: one that wants a smaller range,
/// the larger proposal; else one that may pass, the sooner.
fn more_useful(one: ChainError, other: ChainError) -> ChainError {
    let proposal = |error: &ChainError| match error.kind {
        ChainErrorKind::RangeTooLarge { suggested } => {
            Some(suggested.map_or(0, |range| range.to.saturating_sub(range.from) + 1))
        }
        _ => None,
    };
    let wait = |error: &ChainError| match error.retry {
        RetryAdvice::After(pause) => pause,
        RetryAdvice::Never => std::time::Duration::MAX,
    };
    match (proposal(&one), proposal(&other)) {
        (Some(first), Some(second)) => {
            if second > first {
                other
            } else {
                one
            }
        }
        (Some(_), None) => one,
        (None, Some(_)) => other,
        (None, None) => {
            if wait(&other) < wait(&one) {
                other
            } else {
                one
            }
        }
    }
}
