//! Who is asked next, and waiting for a turn.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use windlass_core::error::RetryAdvice;
use windlass_core::reader::{ChainError, ChainErrorKind};

use super::Inner;
use super::member::Member;
use super::question::Question;

/// How much worse an endpoint looks that is not known to have the block in question.
const BEHIND_PENALTY: f64 = 4.0;
/// The favourite for heads stays it until another looks this many times better.
const LOYALTY: f64 = 8.0;

/// How long is waited for somebody who has enough to do, once another has been asked.
const SECOND_TURN_WAIT: Duration = Duration::from_secs(1);

/// How soon a second endpoint is looked for again. One comes back, or is taken to have a block by
/// now, without a turn that ends.
const SPARE_TURN_PAUSE: Duration = Duration::from_millis(250);

/// The right to ask a member one question.
pub(super) struct Turn<'a> {
    pool: &'a Inner,
    pub(super) place: usize,
    pub(super) began: Instant,
}

impl Turn<'_> {
    pub(super) fn member(&self) -> &Member {
        &self.pool.members[self.place]
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.member().health().release();
        self.pool.freed.notify_waiters();
    }
}

/// Where a question may go now.
enum Pick<'a> {
    To(Turn<'a>),
    /// All who could be asked have enough to do.
    AllBusy,
    /// All are left out; the first is back then.
    AllLeftOut(Instant),
    /// All have been asked.
    NobodyLeft,
}

impl Inner {
    /// Waits for a turn with somebody who has not been asked yet. `None` when there is
    /// nobody, or nobody soon enough.
    pub(super) async fn turn<Q: Question>(
        &self,
        question: &Q,
        asked: &[usize],
    ) -> Result<Option<Turn<'_>>, ChainError> {
        let patience = Instant::now() + self.options.patience;
        loop {
            // Made before looking, so that what is freed meanwhile is not missed.
            let freed = self.freed.notified();
            match self.pick(question, asked, true) {
                Pick::To(turn) => return Ok(Some(turn)),
                Pick::NobodyLeft => return Ok(None),
                Pick::AllLeftOut(_) if !asked.is_empty() => return Ok(None),
                Pick::AllLeftOut(until) if until > patience => return Err(self.all_left_out()),
                Pick::AllLeftOut(until) => tokio::select! {
                    () = freed => {}
                    () = sleep_until(until) => {}
                },
                // Who is left may be busy because it hangs, and whoever was asked may do better next time.
                Pick::AllBusy if !asked.is_empty() => {
                    if tokio::time::timeout(SECOND_TURN_WAIT, freed).await.is_err() {
                        return Ok(None);
                    }
                }
                Pick::AllBusy => freed.await,
            }
        }
    }

    /// A turn with one member, whether or not it has one to spare.
    pub(super) fn turn_at(&self, place: usize) -> Turn<'_> {
        self.members[place].health().admit();
        Turn { pool: self, place, began: Instant::now() }
    }

    /// A turn for a second opinion, if somebody has one to spare.
    pub(super) fn spare_turn<Q: Question>(&self, question: &Q, asked: &[usize]) -> Option<Turn<'_>> {
        match self.pick(question, asked, false) {
            Pick::To(turn) => Some(turn),
            _ => None,
        }
    }

    /// Waits for such a turn as long as it takes.
    pub(super) async fn next_spare_turn<Q: Question>(&self, question: &Q, asked: &[usize]) -> Turn<'_> {
        loop {
            let freed = self.freed.notified();
            if let Some(turn) = self.spare_turn(question, asked) {
                return turn;
            }
            // It does not matter which of both it was.
            let _ = tokio::time::timeout(SPARE_TURN_PAUSE, freed).await;
        }
    }

    /// `insist` takes somebody who is known to refuse, or not to have the blocks, rather than
    /// nobody.
    fn pick<Q: Question>(&self, question: &Q, asked: &[usize], insist: bool) -> Pick<'_> {
        let now = Instant::now();
        let distrusted = self.distrusted_for(question.kind(), now);
        let is_left = |place: &usize| !asked.contains(place);
        let is_trusted = |place: &usize| !distrusted.contains(place);
        let takes_all = question.shows_false_answers()
            && !(0..self.members.len()).any(|place| is_left(&place) && is_trusted(&place));
        // One that keeps failing at logs would be waited for once more: not after another was asked.
        let fails =
            |place: &usize| !asked.is_empty() && self.members[*place].distrust().failing(now).is_some();
        let is_taken = |place: &usize| is_trusted(place) || (takes_all && !fails(place));
        let candidates = || (0..self.members.len()).filter(|place| is_left(place) && is_taken(place));
        let is_last_resort = self.is_last_resort(now);
        let available = |place: &usize| self.members[*place].health().can_be_asked(is_last_resort, now);
        if candidates().next().is_none() {
            return Pick::NobodyLeft;
        }
        if !candidates().any(|place| available(&place)) {
            let back = |place: usize| self.members[place].health().back(is_last_resort, now);
            // Somebody who is back by now has freed a turn, or is about to.
            return candidates().filter_map(back).min().map_or(Pick::AllBusy, Pick::AllLeftOut);
        }
        let lacks =
            |member: &Member| question.presumes().is_some_and(|block| member.health().lacks(block, now));
        let refused = |place: &usize| {
            let member = &self.members[*place];
            question.is_refused_by(&*member.source) || lacks(member)
        };
        let alone = self.members.len() == 1;
        let all_refuse = insist && (alone || candidates().filter(available).all(|place| refused(&place)));
        let fit = candidates().filter(available).filter(|place| all_refuse || !refused(place));
        let scored: Vec<(usize, f64)> = fit.map(|place| (place, self.score(question, place, now))).collect();
        self.best(question, scored, now).map_or(Pick::AllBusy, Pick::To)
    }

    /// The favourite, or whoever has room and looks best.
    fn best<Q: Question>(
        &self,
        question: &Q,
        mut scored: Vec<(usize, f64)>,
        now: Instant,
    ) -> Option<Turn<'_>> {
        scored.sort_by(|one, other| one.1.total_cmp(&other.1));
        let least = scored.first().map_or(0.0, |(_, score)| *score);
        let favourite = self.favourite(question);
        let loyal = scored
            .iter()
            .position(|(place, score)| Some(*place) == favourite && *score <= least.max(1.0) * LOYALTY);
        if let Some(position) = loyal {
            scored[..=position].rotate_right(1);
        }
        scored.into_iter().find_map(|(place, _)| self.take(question, place, now))
    }

    /// Whether all endpoints are left out: then each is tried sooner than it would be beside others.
    fn is_last_resort(&self, now: Instant) -> bool {
        !self.members.iter().any(|member| member.health().is_available(now))
    }

    fn take<Q: Question>(&self, question: &Q, place: usize, now: Instant) -> Option<Turn<'_>> {
        let (is_last_resort, is_urgent) = (self.is_last_resort(now), self.is_urgent(question));
        let mut health = self.members[place].health();
        let has_room = match health.is_available(now) {
            true => health.has_room(is_urgent, now),
            false => is_last_resort && health.in_flight() == 0,
        };
        if !has_room {
            return None;
        }
        health.admit();
        Some(Turn { pool: self, place, began: now })
    }

    fn score<Q: Question>(&self, question: &Q, place: usize, now: Instant) -> f64 {
        let health = self.members[place].health();
        let lacks_block = question.needs().zip(health.head()).is_some_and(|(needs, head)| head < needs);
        let behind = lacks_block || (question.is_for_newest() && health.blocks_behind(now).is_some());
        health.score(question.kind(), now) * if behind { BEHIND_PENALTY } else { 1.0 }
    }

    /// Whoever has the block in question; for heads, whoever was asked last.
    fn favourite<Q: Question>(&self, question: &Q) -> Option<usize> {
        let knowledge = self.knowledge();
        let knows = question.about().and_then(|hash| knowledge.who_has(hash));
        knows.or_else(|| knowledge.favourite.filter(|_| question.kind().is_about_heads()))
    }

    /// What to say when nobody can be asked for longer than is waited.
    fn all_left_out(&self) -> ChainError {
        let now = Instant::now();
        let is_last_resort = self.is_last_resort(now);
        let mut soonest: Option<(Duration, ChainErrorKind)> = None;
        let mut reasons = Vec::new();
        for member in &self.members {
            let health = member.health();
            let Some(left_out) = health.left_out(now) else { continue };
            let back = health.back(is_last_resort, now).unwrap_or(left_out.until);
            let pause = back.saturating_duration_since(now);
            if soonest.is_none_or(|(shortest, _)| pause < shortest) {
                soonest = Some((pause, left_out.kind));
            }
            let trouble = health.trouble().unwrap_or(&member.name).to_owned();
            reasons.push(format!("{trouble} (asked again in {} s)", pause.as_secs() + 1));
        }
        let (pause, kind) = soonest.unwrap_or((self.options.first_pause, ChainErrorKind::Unreachable));
        let error = ChainError::new(kind, format!("no endpoint can be asked: {}", reasons.join("; ")));
        ChainError { retry: RetryAdvice::After(pause), ..error }
    }
}
