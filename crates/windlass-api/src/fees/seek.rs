//! Finds the block in which the row of a rank stands, by counting rows of ranges of
//! blocks instead of walking over them.
//!
//! Pages by number have to know how many rows come before them, newest first. The
//! store answers by key only, so a guess is made from the density of the rows, the
//! guessed range counted, and the rest narrowed down; every other step halves the
//! range, for the density may mislead. What is counted in all is a few times the
//! rows before the page, inside the database and without decoding one of them: the
//! cost of a page that is asked for out of the blue still grows with its number, which the
//! cursors of `/api/v1/events` do not have. A neighbour of a page that was just found begins
//! at that one's anchor.

/// So many rows are rather walked over than counted once more.
pub(super) const MAX_WALK: u64 = 1_000;

/// The search. What holds: the rows of blocks from `upper` on are before the page;
/// `skip` rows below it are too; `between` rows stand in `low..upper`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seek {
    low: u64,
    upper: u64,
    between: u64,
    skip: u64,
    halve: bool,
}

impl Seek {
    /// Begins with all rows, in blocks `oldest..=newest`.
    pub(super) const fn new(oldest: u64, newest: u64, rows: u64, skip: u64) -> Self {
        Self { low: oldest, upper: newest.saturating_add(1), between: rows, skip, halve: false }
    }

    /// The range of blocks that is to be counted next, its end excluded; `None` when
    /// the rest can be walked.
    pub(super) fn question(&self) -> Option<(u64, u64)> {
        let span = self.upper.saturating_sub(self.low);
        if self.skip <= MAX_WALK || span <= 1 {
            return None;
        }
        let guess = u128::from(span) * u128::from(self.skip) / u128::from(self.between.max(1));
        let guess = u64::try_from(guess).unwrap_or(u64::MAX);
        let step = if self.halve { span / 2 } else { guess }.clamp(1, span - 1);
        Some((self.upper - step, self.upper))
    }

    /// Takes the answer: so many rows stand from `from` to the upper end.
    pub(super) fn answer(&mut self, from: u64, rows: u64) {
        if rows <= self.skip {
            self.skip -= rows;
            self.between = self.between.saturating_sub(rows);
            self.upper = from;
        } else {
            self.between = rows;
            self.low = from;
        }
        self.halve = !self.halve;
    }

    /// Where to begin: below this block, behind so many rows.
    pub(super) const fn found(&self) -> (u64, u64) {
        (self.upper, self.skip)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Rows by block, and what was counted to find the one of a rank.
    fn search(blocks: &[(u64, u64)], skip: u64) -> ((u64, u64), u64, u32) {
        let rows = blocks.iter().map(|(_, rows)| rows).sum();
        let mut seek = Seek::new(blocks[0].0, blocks[blocks.len() - 1].0, rows, skip);
        let (mut counted, mut questions) = (0, 0);
        while let Some((from, to)) = seek.question() {
            let count = blocks.iter().filter(|(block, _)| (from..to).contains(block)).map(|(_, n)| n).sum();
            seek.answer(from, count);
            counted += count;
            questions += 1;
        }
        (seek.found(), counted, questions)
    }

    #[test]
    fn even_rows_are_found_for_a_few_times_what_is_skipped() {
        let blocks: Vec<_> = (0..10_000).map(|block| (block * 7, 100)).collect();
        let ((_, rest), counted, questions) = search(&blocks, 200_000);
        assert!(rest <= MAX_WALK);
        assert!(counted <= 4 * 200_000 && questions <= 20, "{counted} rows in {questions} questions");
    }

    proptest! {
        #[test]
        fn what_is_found_is_the_rank_that_was_asked_for(
            gaps in prop::collection::vec((1u64..1_000_000, 0u64..5_000), 1..60),
            share in 0.0f64..1.0,
        ) {
            let mut block = 0;
            let blocks: Vec<_> = gaps.into_iter().map(|(gap, rows)| { block += gap; (block, rows) }).collect();
            let rows: u64 = blocks.iter().map(|(_, rows)| rows).sum();
            let skip = (rows as f64 * share) as u64;
            let ((upper, rest), _, questions) = search(&blocks, skip);
            let above: u64 = blocks.iter().filter(|(block, _)| *block >= upper).map(|(_, rows)| rows).sum();
            prop_assert_eq!(above + rest, skip);
            let largest = blocks.iter().map(|(_, rows)| *rows).max().unwrap_or(0);
            prop_assert!(rest <= MAX_WALK.max(largest));
            prop_assert!(questions <= 130);
        }
    }
}
