//! The newest block. Endpoints have different ones: one is asked, and compared
//! with another whenever it stands still or goes back, so that a node that has stopped
//! does not stop the follower.

use std::time::Duration;

use tokio::time::Instant;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, Header};

use super::Inner;
use super::question::AskHeader;

/// How often heads are compared while the favourite's stands still, at the most …
const COMPARE_STILL: Duration = Duration::from_secs(5);
/// … and once it stands still for so many times as long as blocks are apart.
const STILL_BLOCKS: u32 = 3;
/// No comparison follows another sooner.
const MIN_COMPARE: Duration = Duration::from_millis(250);
/// How often they are compared while it moves: it may move behind all others.
const COMPARE_MOVING: Duration = Duration::from_secs(10);
/// How long the other's head is waited for.
const COMPARE_LIMIT: Duration = Duration::from_secs(1);
/// A favourite that is further behind another is none any more.
const MAX_BEHIND_BLOCKS: u64 = 2;
/// What was the highest head so long ago says nothing about the present.
const MAX_AGE: Duration = Duration::from_secs(30);
/// A head that is so far above the highest one of late is taken only from an endpoint that has the
/// block before it.
const MAX_JUMP_BLOCKS: u64 = 16;

impl Inner {
    pub(super) async fn latest(&self) -> Result<Option<Header>, ChainError> {
        let question = AskHeader { block: BlockTag::Latest, wants_proof: self.headers_are_provable() };
        let first = self.ask(&question).await?;
        if self.members.len() == 1 {
            return Ok(first);
        }
        let Some(teller) = self.knowledge().told_newest else { return Ok(first) };
        if let Some(head) = &first
            && self.jumps_to(head.block.number)
            && !self.has_parent_of(teller, head).await
        {
            return self.latest_of_another(&question, teller).await;
        }
        if !self.wants_comparison(first.as_ref()) {
            return Ok(first);
        }
        let second = self.ask_another(&question, teller).await;
        let second = match second {
            Some((place, head)) => self.unless_invented(first.as_ref(), place, head).await,
            None => None,
        };
        if let (Some(first), Some((place, second))) = (&first, &second) {
            self.compare_heads((teller, first.block.number), (*place, second.block.number));
        }
        Ok(self.higher(first, second))
    }

    /// Whether a head is far above the highest one of late, or the first there is.
    fn jumps_to(&self, number: u64) -> bool {
        let knowledge = self.knowledge();
        let highest = knowledge.highest.filter(|(_, at)| at.elapsed() < MAX_AGE);
        highest.is_none_or(|(highest, _)| number > highest.saturating_add(MAX_JUMP_BLOCKS))
    }

    /// Another's head, unless it is far above the first and its endpoint does not have the block
    /// before it.
    async fn unless_invented(
        &self,
        first: Option<&Header>,
        place: usize,
        head: Header,
    ) -> Option<(usize, Header)> {
        let known = first.map_or(0, |first| first.block.number);
        let is_far = head.block.number > known.saturating_add(MAX_JUMP_BLOCKS);
        if is_far && !self.has_parent_of(place, &head).await {
            return None;
        }
        Some((place, head))
    }

    /// Whether an endpoint that names a newest block has the block before it. One that does not is
    /// named: its newest block may be made up.
    async fn has_parent_of(&self, place: usize, head: &Header) -> bool {
        let Some(before) = head.block.number.checked_sub(1) else { return true };
        let question = AskHeader { block: BlockTag::Number(before), wants_proof: false };
        match self.ask_member(&question, place).await {
            Ok(Some(parent)) if parent.block.hash == head.block.parent_hash => true,
            Ok(_) => {
                let number = head.block.number;
                let why =
                    format!("it names block {number} as its newest, and does not have the block before it");
                self.members[place].health().tell_trouble(why, Instant::now());
                false
            }
            // No answer says nothing about it; the next poll asks again.
            Err(_) => false,
        }
    }

    /// The newest block of another endpoint than `teller`, which is asked first from now on.
    async fn latest_of_another(
        &self,
        question: &AskHeader,
        teller: usize,
    ) -> Result<Option<Header>, ChainError> {
        let Some((place, head)) = self.ask_another(question, teller).await else {
            let message = "the newest block of an endpoint was not confirmed, and no other answers";
            return Err(ChainError::new(ChainErrorKind::Unconfirmed, message));
        };
        if self.jumps_to(head.block.number) && !self.has_parent_of(place, &head).await {
            let message = "no endpoint that names a newest block has the block before it";
            return Err(ChainError::new(ChainErrorKind::Malformed, message));
        }
        let mut knowledge = self.knowledge();
        knowledge.favourite = Some(place);
        if knowledge.highest.is_none_or(|(highest, _)| head.block.number > highest) {
            knowledge.moved(head.block.number, Instant::now());
        }
        Ok(Some(head))
    }

    /// Notes a head; whether it should be compared with another's.
    fn wants_comparison(&self, head: Option<&Header>) -> bool {
        let mut knowledge = self.knowledge();
        let now = Instant::now();
        let number = head.map_or(0, |header| header.block.number);
        let highest = knowledge.highest.filter(|(_, at)| now - *at < MAX_AGE).map(|(highest, _)| highest);
        if highest.is_none_or(|highest| number > highest) {
            knowledge.moved(number, now);
        }
        let since = knowledge.compared.map(|compared| now - compared);
        let stands = highest.is_some_and(|highest| number <= highest);
        let behind = highest.is_some_and(|highest| number < highest);
        let pause = match (behind, stands) {
            (true, _) => Duration::ZERO,
            (false, true) => knowledge.still_for(STILL_BLOCKS).clamp(MIN_COMPARE, COMPARE_STILL),
            (false, false) => COMPARE_MOVING,
        };
        // The first look at a head that has just moved says nothing.
        let compare = since.map_or(stands, |since| since >= pause);
        if compare {
            knowledge.compared = Some(now);
        }
        compare
    }

    /// One other member's head; its trouble is not the caller's, and its rate not worth waiting for.
    async fn ask_another(&self, question: &AskHeader, teller: usize) -> Option<(usize, Header)> {
        let turn = self.spare_turn(question, &[teller])?;
        let (place, now) = (turn.place, Instant::now());
        if !self.members[place].health().rate.expected_wait(0, now).is_zero() {
            return None;
        }
        let answer = self.ask_member_within(COMPARE_LIMIT, question, turn).await.ok()?;
        answer.map(|header| (place, header))
    }

    /// Notes which of two endpoints is behind the other: one that is by a block or two is not.
    fn compare_heads(&self, one: (usize, u64), other: (usize, u64)) {
        let now = Instant::now();
        for ((place, head), (_, others)) in [(one, other), (other, one)] {
            let behind = others.saturating_sub(head);
            let behind = if behind > MAX_BEHIND_BLOCKS { behind } else { 0 };
            self.members[place].health().compared(behind, now);
        }
    }

    fn higher(&self, first: Option<Header>, second: Option<(usize, Header)>) -> Option<Header> {
        let Some((place, second)) = second else { return first };
        let number = first.as_ref().map_or(0, |header| header.block.number);
        let ahead = second.block.number.saturating_sub(number);
        if ahead == 0 && first.is_some() {
            return first;
        }
        let mut knowledge = self.knowledge();
        knowledge.highest = Some((second.block.number, Instant::now()));
        if ahead > MAX_BEHIND_BLOCKS {
            knowledge.favourite = Some(place);
        }
        Some(second)
    }
}
