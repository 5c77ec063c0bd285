//! Providers in miniature: each refuses in its own way, and learning must settle.

use super::*;

/// A chain with so many logs in so many blocks, and a provider's limits.
#[derive(Clone, Copy)]
struct World {
    logs: u64,
    per_blocks: u64,
    /// A limit on blocks, and whether it is told.
    blocks: Option<(u64, bool)>,
    /// A limit on results, and whether a working range is told.
    results: Option<(u64, bool)>,
    /// How long an answer takes for each thousand blocks.
    slow: Duration,
}

const SPARSE: World =
    World { logs: 1, per_blocks: 100_000, blocks: None, results: None, slow: Duration::ZERO };
const DENSE: World = World { logs: 50, per_blocks: 1, ..SPARSE };

struct Class {
    options: LearnOptions,
    lesson: Lesson,
    now: Instant,
    refusals: u32,
}

impl Class {
    fn new() -> Self {
        let options = LearnOptions::default();
        Self { options, lesson: Lesson::new(&options), now: Instant::now(), refusals: 0 }
    }

    /// Asks once, as the lesson has it.
    fn ask(&mut self, world: World) {
        let blocks = self.lesson.size();
        self.now += Duration::from_millis(100);
        let logs = blocks * world.logs / world.per_blocks;
        let refusal = match (world.blocks, world.results) {
            (Some((limit, told)), _) if blocks > limit => {
                Some(Refusal::Blocks { works: told.then_some(limit) })
            }
            (_, Some((limit, told))) if logs > limit => {
                let works = told.then_some((limit * world.per_blocks / world.logs).max(1));
                Some(Refusal::Results { works, limit: told.then_some(limit) })
            }
            _ => None,
        };
        match refusal {
            Some(refusal) => {
                self.refusals += 1;
                self.lesson.refused(blocks, refusal, self.now);
            }
            None => {
                let took = Duration::from_millis(20) + world.slow * (blocks / 1_000) as u32;
                self.lesson.answered(&self.options, Answered { blocks, logs, took }, self.now);
            }
        }
    }

    fn ask_many(&mut self, world: World, times: u32) -> u64 {
        (0..times).for_each(|_| self.ask(world));
        self.lesson.size()
    }
}

#[test]
fn a_sparse_filter_reaches_the_largest_range_in_a_few_answers() {
    assert_eq!(Class::new().ask_many(SPARSE, 4), LearnOptions::default().max_blocks);
}

#[test]
fn a_dense_filter_settles_near_the_target() {
    for logs in [1, 7, 50, 900, 20_000] {
        let world = World { logs, per_blocks: 1, ..SPARSE };
        let size = Class::new().ask_many(world, 20);
        let held = size * logs;
        let close = (9_000..=11_000).contains(&held) || size == 1;
        assert!(close, "{size} blocks with {logs} logs each");
    }
}

#[test]
fn growth_is_by_two_near_the_target_and_faster_far_from_it() {
    let near = World { logs: 2, per_blocks: 1, ..SPARSE };
    assert_eq!(Class::new().ask_many(near, 1), 2_000);
    assert_eq!(Class::new().ask_many(SPARSE, 1), 8_000);
}

#[test]
fn a_told_limit_on_blocks_is_met_with_one_refusal_and_kept() {
    for limit in [1, 10, 2_048, 10_000] {
        let world = World { blocks: Some((limit, true)), ..SPARSE };
        let mut class = Class::new();
        assert_eq!(class.ask_many(world, 900), limit);
        assert_eq!(class.refusals, 1, "limit {limit}");
    }
}

#[test]
fn a_limit_on_blocks_that_is_not_told_is_found_and_kept() {
    for limit in [1, 3, 100, 3_500, 10_000, 777_777] {
        let world = World { blocks: Some((limit, false)), ..SPARSE };
        let mut class = Class::new();
        let size = class.ask_many(world, 40);
        assert!(size <= limit && (limit - size) * 10 <= limit, "{size} of {limit}");
        let refusals = class.refusals;
        class.ask_many(world, 900);
        assert_eq!(class.refusals, refusals, "limit {limit}");
    }
}

#[test]
fn a_ceiling_is_tried_again_after_many_answers_or_an_hour() {
    let limited = World { blocks: Some((10_000, true)), ..SPARSE };
    let mut class = Class::new();
    class.ask_many(limited, 10);
    let refusals = class.refusals;
    class.ask_many(limited, CEILING_ANSWERS + 10);
    assert_eq!(class.refusals, refusals + 1, "tried once more");
    assert_eq!(class.lesson.size(), 10_000);

    class.now += CEILING_TIME;
    class.ask_many(limited, 10);
    assert_eq!(class.refusals, refusals + 2);

    class.now += CEILING_TIME;
    assert_eq!(class.ask_many(SPARSE, 10), 1_000_000, "the provider has changed its mind");
}

#[test]
fn a_limit_on_results_settles_below_it_with_few_refusals() {
    for told in [true, false] {
        let world = World { results: Some((5_000, told)), ..DENSE };
        let mut class = Class::new();
        class.ask_many(world, 30);
        let before = class.refusals;
        let mut held = 0;
        for _ in 0..1_000 {
            class.ask(world);
            held += class.lesson.size() * 50;
        }
        let refused = class.refusals - before;
        let bearable = if told { 2 } else { 40 };
        assert!(refused <= bearable, "told {told}: {refused} refusals in a thousand");
        assert!(held / 1_000 >= 3_500, "told {told}: {} logs an answer", held / 1_000);
    }
}

#[test]
fn a_limit_on_results_says_nothing_about_emptier_blocks() {
    let mut class = Class::new();
    class.ask_many(World { results: Some((5_000, true)), ..DENSE }, 50);
    assert!(class.lesson.size() <= 100);
    assert_eq!(class.ask_many(World { results: Some((5_000, true)), ..SPARSE }, 8), 1_000_000);
}

#[test]
fn an_answer_that_takes_long_makes_the_next_range_shorter() {
    let slow = World { slow: Duration::from_secs(1), ..SPARSE };
    let size = Class::new().ask_many(slow, 30);
    assert!((4_000..=5_500).contains(&size), "{size} blocks take five seconds");
    let mut class = Class::new();
    class.lesson.refused(1_000, Refusal::Time, class.now);
    assert_eq!(class.lesson.size(), 500);
}

#[test]
fn answers_to_older_questions_do_not_undo_what_is_known() {
    let mut class = Class::new();
    class.ask_many(SPARSE, 2);
    let size = class.lesson.size();
    let old = Answered { blocks: 1_000, logs: 0, took: Duration::from_millis(20) };
    class.lesson.answered(&class.options, old, class.now);
    assert_eq!(class.lesson.size(), size);
    let mut many = Class::new();
    (0..8).for_each(|_| many.lesson.refused(1_000, Refusal::Time, many.now));
    assert_eq!(many.lesson.size(), 500, "eight that were under way together are one refusal");
}

#[test]
fn a_burst_of_logs_is_met_at_once() {
    let mut class = Class::new();
    class.ask_many(SPARSE, 10);
    let burst = Answered { blocks: 1_000_000, logs: 100_000, took: Duration::from_millis(20) };
    class.lesson.answered(&class.options, burst, class.now);
    class.lesson.answered(&class.options, Answered { blocks: 500_000, logs: 50_000, ..burst }, class.now);
    assert!(class.lesson.size() <= 250_000);
}

#[test]
fn one_block_is_never_too_many() {
    let mut class = Class::new();
    for refusal in [
        Refusal::Time,
        Refusal::Blocks { works: Some(0) },
        Refusal::Blocks { works: None },
        Refusal::Results { works: None, limit: Some(0) },
    ] {
        (0..20).for_each(|_| class.lesson.refused(class.lesson.size(), refusal, class.now));
        assert_eq!(class.lesson.size(), 1);
        let one = Answered { blocks: 1, logs: 0, took: Duration::from_millis(1) };
        (0..3).for_each(|_| class.lesson.answered(&class.options, one, class.now));
        assert!(class.lesson.size() >= 1);
    }
}

#[test]
fn ranges_that_are_never_answered_are_not_tried_again_and_again() {
    let (mut class, mut hanging) = (Class::new(), 0);
    for _ in 0..500 {
        let blocks = class.lesson.size();
        class.now += Duration::from_millis(100);
        if blocks > 40 {
            hanging += 1;
            class.lesson.refused(blocks, Refusal::Time, class.now);
        } else {
            let answer = Answered { blocks, logs: blocks, took: Duration::from_millis(20) };
            class.lesson.answered(&class.options, answer, class.now);
        }
    }
    assert!(hanging <= 20, "{hanging} ranges hung");
    assert!((20..=40).contains(&class.lesson.size()), "{}", class.lesson.size());
}

#[test]
fn one_answer_that_does_not_come_is_no_limit() {
    let mut class = Class::new();
    let blocks = class.ask_many(SPARSE, 4);
    class.lesson.refused(blocks, Refusal::Time, class.now);
    assert!(!class.lesson.refuses(blocks));
    assert_eq!(class.ask_many(SPARSE, 4), blocks);
}
