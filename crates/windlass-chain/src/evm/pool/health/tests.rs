//! An endpoint's fate, in time that is only told.

use super::*;

const KIND: Kind = Kind::RangeLogs;

struct Patient {
    health: Health,
    now: Instant,
}

impl Patient {
    fn new() -> Self {
        let mut health = Health::new(&PoolOptions::default());
        health.prove();
        Self { health, now: Instant::now() }
    }

    fn pass(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
    }

    /// As many questions at once as it gets, all answered after so long.
    fn round(&mut self, ms: u64) -> u32 {
        let began = self.now;
        let mut asked = 0;
        while self.health.has_room(false, self.now) {
            self.health.admit();
            asked += 1;
        }
        self.pass(ms);
        for _ in 0..asked {
            self.health.succeeded(KIND, began, self.now);
            self.health.release();
        }
        asked
    }

    fn rounds(&mut self, count: u32, ms: u64) {
        for _ in 0..count {
            self.round(ms);
        }
    }

    fn fail(&mut self) {
        let began = self.now;
        self.pass(1);
        self.health.failed(ChainErrorKind::Unreachable, began, self.now);
    }

    fn limit(&mut self, seconds: u64) {
        let began = self.now;
        self.pass(1);
        self.health.limited(Duration::from_secs(seconds), began, self.now);
    }

    fn pause_ms(&self) -> u128 {
        self.health.left_out(self.now).map_or(0, |left_out| (left_out.until - self.now).as_millis())
    }
}

#[test]
fn what_does_well_is_asked_more_at_once_up_to_a_maximum() {
    let mut patient = Patient::new();
    let asked: Vec<u32> = (0..9).map(|_| patient.round(50)).collect();
    assert_eq!(asked, [4, 6, 9, 13, 18, 25, 32, 32, 32]);
}

#[test]
fn what_is_not_used_does_not_grow() {
    let mut patient = Patient::new();
    for _ in 0..100 {
        let began = patient.now;
        patient.health.admit();
        patient.pass(50);
        patient.health.succeeded(KIND, began, patient.now);
        patient.health.release();
    }
    assert_eq!(patient.health.concurrency(patient.now), 4);
}

#[test]
fn answers_that_become_slow_stop_the_growth() {
    let mut patient = Patient::new();
    patient.rounds(3, 50);
    assert_eq!(patient.health.concurrency(patient.now), 13);
    patient.round(500);
    assert!(patient.health.concurrency(patient.now) < 18);
}

#[test]
fn a_rate_limit_halves_once_and_leaves_out_as_long_as_asked() {
    let mut patient = Patient::new();
    patient.rounds(9, 50);
    let began = patient.now;
    patient.pass(10);
    // All of those under way together are told the same.
    (0..32).for_each(|_| patient.health.limited(Duration::from_secs(7), began, patient.now));
    assert_eq!(patient.pause_ms(), 7_000);
    assert!(!patient.health.has_room(false, patient.now));
    assert_eq!(patient.health.counts.limited, 32);
    patient.pass(7_000);
    assert_eq!(patient.health.concurrency(patient.now), 16);
    patient.limit(7);
    assert_eq!(patient.pause_ms(), 14_000, "told again at once, it was too soon");
    patient.pass(14_000);
    patient.round(50);
    patient.limit(7);
    assert_eq!(patient.pause_ms(), 7_000, "a good answer starts the count over");
}

#[test]
fn after_a_cut_growth_is_slow() {
    let mut patient = Patient::new();
    patient.rounds(9, 50);
    patient.limit(1);
    patient.pass(1_000);
    let asked: Vec<u32> = (0..5).map(|_| patient.round(50)).collect();
    assert_eq!(asked, [16, 16, 16, 17, 17]);
}

#[test]
fn three_failures_in_a_row_leave_it_out_for_longer_each_time() {
    let mut patient = Patient::new();
    patient.fail();
    patient.fail();
    patient.round(50);
    patient.fail();
    patient.fail();
    assert_eq!(patient.pause_ms(), 0, "an answer between them starts the count over");
    patient.fail();
    assert_eq!(patient.pause_ms(), 1_000);
    let mut pauses = Vec::new();
    for _ in 0..8 {
        patient.pass(60_000);
        assert_eq!(patient.health.concurrency(patient.now), 1, "on trial");
        patient.fail();
        pauses.push(patient.pause_ms());
    }
    assert_eq!(pauses, [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    patient.pass(60_000);
    patient.health.prove();
    patient.round(50);
    (0..3).for_each(|_| patient.fail());
    assert_eq!(patient.pause_ms(), 1_000, "it recovered in between");
}

#[test]
fn failures_that_were_under_way_together_are_one_pause() {
    let mut patient = Patient::new();
    let began = patient.now;
    patient.pass(10);
    for _ in 0..20 {
        patient.health.failed(ChainErrorKind::Unreachable, began, patient.now);
        patient.pass(1);
    }
    assert!(patient.pause_ms() <= 1_000);
    patient.pass(1_000);
    assert!(patient.health.is_available(patient.now));
}

#[test]
fn one_that_always_loses_to_a_second_is_left_out_too() {
    let mut patient = Patient::new();
    for _ in 0..3 {
        let began = patient.now;
        patient.pass(1_000);
        patient.health.stalled(KIND, began, patient.now);
    }
    assert_eq!(patient.pause_ms(), 1_000);
    assert_eq!(patient.health.counts.hedged, 3);
}

#[test]
fn questions_about_heads_need_not_wait_behind_history() {
    let mut patient = Patient::new();
    while patient.health.has_room(false, patient.now) {
        patient.health.admit();
    }
    assert!(patient.health.has_room(true, patient.now));
    (0..2).for_each(|_| patient.health.admit());
    assert!(!patient.health.has_room(true, patient.now), "but they are bounded too");
}

#[test]
fn fast_free_and_faultless_looks_best() {
    let score = |change: &dyn Fn(&mut Patient)| {
        let mut patient = Patient::new();
        patient.rounds(5, 50);
        change(&mut patient);
        patient.health.score(KIND, patient.now)
    };
    let good = score(&|_| {});
    assert!(score(&|patient| patient.rounds(5, 100)) > good);
    assert!(score(&|patient| (0..10).for_each(|_| patient.health.admit())) > good);
    assert!(score(&|patient| patient.fail()) > good);
    assert!(score(&|patient| patient.pass(120_000)) < good, "what is old is not held against it");
}

#[test]
fn that_an_endpoint_serves_another_chain_is_logged_once() {
    let mut health = Health::new(&PoolOptions::default());
    assert!(health.is_wrong_chain_news() && !health.is_wrong_chain_news());
    health.prove();
    assert!(health.is_wrong_chain_news(), "it served the right one in between");
}

#[test]
fn refusals_between_answers_are_about_the_rate() {
    let mut patient = Patient::new();
    for _ in 0..10 {
        let began = patient.now;
        patient.pass(100);
        patient.health.refused((KIND, 1), began, patient.now);
        patient.health.succeeded(KIND, began, patient.now);
        patient.health.rate.answered(1, patient.now);
    }
    assert!(patient.health.is_limited(patient.now));
    assert!(patient.health.is_rate_limited_at(KIND, patient.now));
}
