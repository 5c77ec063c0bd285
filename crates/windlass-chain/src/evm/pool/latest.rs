//! The newest block. Endpoints have different ones: one is asked, and compared
//! with another whenever it stands still or goes back, so that a node that has stopped
//! does not stop the follower.

use std::time::Duration;

use tokio::time::Instant;
use windlass_core::reader::{BlockTag, ChainError, Header};

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

impl Inner {
    pub(super) async fn latest(&self) -> Result<Option<Header>, ChainError> {
        let question = AskHeader { block: BlockTag::Latest, wants_proof: self.headers_are_provable() };
        let first = self.ask(&question).await?;
        if self.members.len() == 1 || !self.wants_comparison(first.as_ref()) {
            return Ok(first);
        }
        let Some(teller) = self.knowledge().told_newest else { return Ok(first) };
        let second = self.ask_another(&question, teller).await;
        if let (Some(first), Some((place, second))) = (&first, &second) {
            self.compare_heads((teller, first.block.number), (*place, second.block.number));
        }
        Ok(self.higher(first, second))
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
