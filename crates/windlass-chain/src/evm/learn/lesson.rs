//! What is known of one filter at one endpoint.
//!
//! ```text
//! a good answer ─► aim: as many blocks as would have held the wanted logs, or taken the wanted time
//! a refusal     ─► what the provider says works, else half
//! ```
//!
//! A limit on blocks is a ceiling between the largest range that was taken and the smallest
//! that was not; it is believed for long, since every doubt costs a refused request. A limit
//! on results lowers the wanted number of logs instead, which then grows back slowly: where
//! the chain has fewer logs, ranges may be as long as ever.

use std::time::Duration;

use tokio::time::Instant;

use super::{Answered, LearnOptions, Learned};

/// How much larger the next range may be than one that was answered.
const GROWTH: u64 = 2;
/// The same, where the answer was far from what is wanted.
const FAST_GROWTH: u64 = 8;
/// A ceiling is believed for so many good answers …
const CEILING_ANSWERS: u32 = 1_000;
/// … or for so long.
const CEILING_TIME: Duration = Duration::from_secs(3_600);
/// Between a taken and a refused size nothing is tried any more when they are this close.
const CLOSE_PERCENT: u64 = 10;
/// What is left of the wanted logs after a refusal that named no limit, in percent.
const CUT_PERCENT: u64 = 70;
/// How near to a limit that was named answers are aimed, in percent: ranges hold now
/// more, now fewer logs.
const NAMED_PERCENT: u64 = 85;
/// The part by which the wanted logs grow back with each good answer.
const REGROWTH_PART: u64 = 100;

/// No provider is known to refuse fewer logs than these.
const MANY_LOGS: u64 = 1_000;

/// Why a range was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Too many blocks; so many would work.
    Blocks { works: Option<u64> },
    /// Too many results; so many blocks would work this time, so many results always.
    Results { works: Option<u64>, limit: Option<u64> },
    /// It took too long.
    Time,
    /// Smaller ranges pass, and nothing says why this one does not.
    Unexplained,
}

/// The state of learning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lesson {
    size: u64,
    max_blocks: u64,
    /// About how many logs an answer should hold, given what was refused.
    wanted_logs: u64,
    /// How many logs that may become again, while a limit that was named is believed.
    most_logs: u64,
    /// How many good answers since.
    answers: u32,
    /// How many logs the last good answer had, and in how many blocks.
    density: (u64, u64),
    /// The largest range that was taken below the ceiling.
    taken: u64,
    ceiling: Option<Ceiling>,
    /// The smallest range that was not answered in time and not taken since.
    timed_out: Option<u64>,
}

/// A number of blocks that was refused.
#[derive(Debug, Clone, Copy)]
struct Ceiling {
    refused: u64,
    since: Instant,
    answers: u32,
}

impl Lesson {
    pub(super) fn new(options: &LearnOptions) -> Self {
        let max_blocks = options.max_blocks.max(1);
        Self {
            size: options.start_blocks.clamp(1, max_blocks),
            max_blocks,
            wanted_logs: options.target_logs.max(1),
            most_logs: options.target_logs.max(1),
            answers: 0,
            density: (0, 1),
            taken: 0,
            ceiling: None,
            timed_out: None,
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn refuses(&self, blocks: u64) -> bool {
        self.ceiling.is_some_and(|ceiling| blocks >= ceiling.refused)
    }

    pub(super) fn learned(&self) -> Learned {
        Learned { blocks: self.size, refused_blocks: self.ceiling.map(|ceiling| ceiling.refused) }
    }

    pub(super) fn answered(&mut self, options: &LearnOptions, answer: Answered, now: Instant) {
        self.taken = self.taken.max(answer.blocks);
        self.timed_out = self.timed_out.filter(|blocks| *blocks > answer.blocks);
        self.density = (answer.logs, answer.blocks.max(1));
        self.doubt_the_ceiling(answer.blocks, now);
        self.want_more_logs(options.target_logs.max(1));
        let aim = self.aim(options, answer);
        if aim < self.size {
            self.set(aim.max(self.size / 2));
        } else if answer.blocks >= self.size / 2 {
            let growth = if aim / FAST_GROWTH >= answer.blocks { FAST_GROWTH } else { GROWTH };
            self.set(aim.min(answer.blocks.saturating_mul(growth)).max(self.size));
        }
    }

    /// Another endpoint has shown how many logs there are: so many blocks may be too many.
    pub(super) fn observed(&mut self, blocks: u64, logs: u64) {
        self.density = (logs, blocks.max(1));
        let aim = u128::from(blocks) * u128::from(self.wanted_logs) / u128::from(logs.max(1));
        let aim = u64::try_from(aim).unwrap_or(u64::MAX);
        if aim < self.size {
            self.set(aim.max(self.size / 2));
        }
    }

    /// How many blocks would have given the wanted answer, going by this one.
    fn aim(&self, options: &LearnOptions, answer: Answered) -> u64 {
        let blocks = u128::from(answer.blocks);
        let by_logs = blocks * u128::from(self.wanted_logs) / u128::from(answer.logs.max(1));
        let by_time = blocks * options.target_time.as_micros() / answer.took.as_micros().max(1);
        u64::try_from(by_logs.min(by_time)).unwrap_or(u64::MAX)
    }

    /// A ceiling that was kept for long is tried again; one that was passed is none.
    fn doubt_the_ceiling(&mut self, blocks: u64, now: Instant) {
        if let Some(ceiling) = &mut self.ceiling {
            ceiling.answers += 1;
            let old = ceiling.answers >= CEILING_ANSWERS || now - ceiling.since >= CEILING_TIME;
            if old || blocks >= ceiling.refused {
                self.ceiling = None;
            }
        }
    }

    pub(super) fn refused(&mut self, blocks: u64, refusal: Refusal, now: Instant) {
        // Of several questions under way only the first refusal is news.
        let news = blocks >= self.size;
        let smaller = |works: Option<u64>| works.filter(|works| *works < blocks).unwrap_or(blocks / 2).max(1);
        let next = match refusal {
            Refusal::Blocks { works } => {
                let next = smaller(works);
                let refused = if works == Some(next) { next + 1 } else { blocks };
                self.lower_the_ceiling(refused, next, works.is_some(), now);
                next
            }
            Refusal::Results { works, limit } => {
                if news {
                    self.want_fewer_logs(blocks, limit);
                }
                smaller(works)
            }
            Refusal::Time => self.timed_out_at(blocks, now),
            Refusal::Unexplained => return self.refused(blocks, self.explained(blocks), now),
        };
        self.set(next.min(self.size));
    }

    /// An endpoint may have been slow for once; one that does not answer so many blocks a second
    /// time has a limit.
    fn timed_out_at(&mut self, blocks: u64, now: Instant) -> u64 {
        let next = (blocks / 2).max(1);
        if self.timed_out.is_some_and(|before| blocks >= before) {
            self.lower_the_ceiling(blocks, next, false, now);
        }
        self.timed_out = Some(self.timed_out.map_or(blocks, |before| before.min(blocks)));
        next
    }

    /// The likelier cause of a refusal without words: where a range was to hold many logs,
    /// their number; else the number of blocks.
    fn explained(&self, blocks: u64) -> Refusal {
        match self.expected_logs(blocks) {
            Some(MANY_LOGS..) => Refusal::Results { works: None, limit: None },
            _ => Refusal::Blocks { works: None },
        }
    }

    fn lower_the_ceiling(&mut self, refused: u64, next: u64, told: bool, now: Instant) {
        let refused = refused.max(2);
        let lowest = self.ceiling.map_or(refused, |ceiling| ceiling.refused.min(refused));
        self.ceiling = Some(Ceiling { refused: lowest, since: now, answers: 0 });
        // What was taken once may be refused now; what is told to work is as good as taken.
        self.taken = if told { next } else { self.taken.min(next) };
    }

    fn want_fewer_logs(&mut self, blocks: u64, limit: Option<u64>) {
        self.answers = 0;
        match limit {
            Some(limit) => {
                self.most_logs = (limit.saturating_mul(NAMED_PERCENT) / 100).clamp(1, self.most_logs);
                self.wanted_logs = self.wanted_logs.min(self.most_logs);
            }
            None => {
                let too_many = self.expected_logs(blocks).unwrap_or(u64::MAX).min(self.wanted_logs);
                self.wanted_logs = (too_many.saturating_mul(CUT_PERCENT) / 100).max(1);
            }
        }
    }

    /// How many logs so many blocks hold, going by the last answer.
    fn expected_logs(&self, blocks: u64) -> Option<u64> {
        let (logs, in_blocks) = self.density;
        let expected = u128::from(logs) * u128::from(blocks) / u128::from(in_blocks);
        u64::try_from(expected).ok().filter(|expected| *expected > 0)
    }

    fn want_more_logs(&mut self, target: u64) {
        self.answers = self.answers.saturating_add(1);
        if self.answers >= CEILING_ANSWERS {
            self.most_logs = target;
        }
        self.wanted_logs = (self.wanted_logs + self.wanted_logs / REGROWTH_PART + 1).min(self.most_logs);
    }

    /// Takes a size, within the ceiling and the largest allowed.
    fn set(&mut self, size: u64) {
        let highest = match self.ceiling {
            None => self.max_blocks,
            Some(Ceiling { refused, .. }) if is_close(self.taken, refused) => self.taken.max(1),
            Some(Ceiling { refused, .. }) => self.taken.midpoint(refused),
        };
        self.size = size.clamp(1, highest.clamp(1, self.max_blocks));
    }

    /// What survives a restart: size, taken, wanted logs, refused.
    pub(super) fn parts(&self) -> (u64, u64, u64, Option<u64>) {
        (self.size, self.taken, self.wanted_logs, self.ceiling.map(|ceiling| ceiling.refused))
    }

    /// A lesson from its parts; a ceiling is believed from now on.
    pub(super) fn from_parts(
        options: &LearnOptions,
        (size, taken, wanted_logs, refused): (u64, u64, u64, Option<u64>),
        now: Instant,
    ) -> Self {
        let fresh = Self::new(options);
        let ceiling = refused.map(|refused| Ceiling { refused: refused.max(2), since: now, answers: 0 });
        let taken = ceiling.map_or(taken, |ceiling| taken.min(ceiling.refused - 1));
        let wanted_logs = wanted_logs.clamp(1, fresh.wanted_logs);
        let mut lesson = Self { taken, wanted_logs, most_logs: wanted_logs, ceiling, ..fresh };
        lesson.set(size);
        lesson
    }
}

fn is_close(taken: u64, refused: u64) -> bool {
    let gap = refused.saturating_sub(taken);
    gap <= 1 || gap.saturating_mul(100) <= taken.saturating_mul(CLOSE_PERCENT)
}

#[cfg(test)]
mod tests;
