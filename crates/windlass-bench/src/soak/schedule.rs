//! What happens when, drawn from a seed.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// At how many endpoints the chain is served.
pub(super) const ENDPOINTS: u32 = 2;

/// What an endpoint is like at any time: slow, now and then failing, limited in rate and
/// range, with a node that lags behind its load balancer.
pub(super) const ROUGH: &str = "latency=20ms..300ms,429=0.02:none,ratelimit=0.005,refuse=0.005,\
     503=0.005,reset=0.005,truncate=0.01,timeout=0.002:20s,rate=30:60,logs=random:500,lag=1of5:2:empty";
/// What it says wrongly now and then. These can be told from one answer and its header; a
/// log left out or a wrong time cannot, and are no part of this.
const LIES: &str = "lie=empty*0.01,lie=repeat*0.003,lie=number*0.003,lie=hash*0.003,lie=parent*0.003";
/// How an endpoint turns bad.
const BAD: [(&str, &str); 5] = [
    ("hang", "timeout=1:30s"),
    ("errors", "503=1"),
    ("empty", "latency=20ms..300ms,lie=empty"),
    ("refusals", "429=1:none"),
    ("lag", "latency=20ms..300ms,lag=1of1:30"),
];

/// The process is killed this often.
const KILL_EVERY_S: u64 = 60;
/// From one reorg to the next.
const REORG_EVERY_S: (u64, u64) = (40, 90);
/// How many blocks one replaces.
const REORG_DEPTH: (u64, u64) = (1, 5);
/// From the end of a bad time to the begin of the next.
const GOOD_S: (u64, u64) = (60, 120);
/// How long a bad time lasts.
const BAD_S: (u64, u64) = (20, 60);
/// Nothing happens so shortly before the end: what lags then would not be seen to recover.
const QUIET_S: u64 = 30;

/// What an endpoint is like when it is not bad.
pub(super) fn usual() -> String {
    format!("{ROUGH},{LIES}")
}

/// Something that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event {
    /// The process is killed and started again at once.
    Kill,
    /// The newest blocks are replaced.
    Reorg { depth: u64 },
    /// An endpoint turns bad.
    Bad { endpoint: usize, plan: &'static str },
    /// And is as usual again.
    Good { endpoint: usize },
}

/// A time in which an endpoint is bad.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) name: &'static str,
    pub(super) from: Duration,
    pub(super) to: Duration,
}

/// Everything that happens, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    pub(super) length: Duration,
    pub(super) events: Vec<(Duration, Event)>,
    pub(super) windows: Vec<Window>,
}

impl Schedule {
    /// Draws what happens in this time.
    pub(super) fn draw(seed: u64, length: Duration) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let end_s = length.as_secs().saturating_sub(QUIET_S);
        let mut schedule = Self { length, events: Vec::new(), windows: Vec::new() };
        for at_s in (KILL_EVERY_S..end_s).step_by(KILL_EVERY_S as usize) {
            schedule.add(at_s, Event::Kill);
        }
        let mut at_s = between(&mut random, REORG_EVERY_S);
        while at_s < end_s {
            schedule.add(at_s, Event::Reorg { depth: between(&mut random, REORG_DEPTH) });
            at_s += between(&mut random, REORG_EVERY_S);
        }
        schedule.add_bad_times(&mut random, end_s);
        schedule.events.sort_by_key(|(at, _)| *at);
        schedule
    }

    /// One endpoint at a time, in every way there is before any comes again.
    fn add_bad_times(&mut self, random: &mut StdRng, end_s: u64) {
        let mut from_s = between(random, GOOD_S);
        for (name, plan) in BAD.iter().copied().cycle() {
            let to_s = from_s + between(random, BAD_S);
            if to_s >= end_s {
                return;
            }
            let endpoint = random.random_range(0..ENDPOINTS as usize);
            self.add(from_s, Event::Bad { endpoint, plan });
            self.add(to_s, Event::Good { endpoint });
            self.windows.push(Window {
                name,
                from: Duration::from_secs(from_s),
                to: Duration::from_secs(to_s),
            });
            from_s = to_s + between(random, GOOD_S);
        }
    }

    fn add(&mut self, at_s: u64, event: Event) {
        self.events.push((Duration::from_secs(at_s), event));
    }
}

fn between(random: &mut StdRng, (least, most): (u64, u64)) -> u64 {
    random.random_range(least..=most)
}

#[cfg(test)]
mod tests {
    use windlass_devnet::faults::Plan;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn every_plan_can_be_read() {
        for plan in BAD.iter().map(|(_, plan)| *plan).chain([ROUGH, &usual()]) {
            assert!(plan.parse::<Plan>().is_ok(), "{plan}");
        }
    }

    #[test]
    fn an_hour_has_everything_and_one_bad_endpoint_at_a_time() {
        for seed in 0..20 {
            let schedule = Schedule::draw(seed, HOUR);
            assert_eq!(schedule, Schedule::draw(seed, HOUR));
            let kills = schedule.events.iter().filter(|(_, event)| *event == Event::Kill).count();
            assert_eq!(kills, 59);
            for (name, _) in BAD {
                assert!(schedule.windows.iter().any(|window| window.name == name), "{name} never comes");
            }
            assert!(schedule.windows.windows(2).all(|pair| pair[0].to < pair[1].from));
            assert!(schedule.events.windows(2).all(|pair| pair[0].0 <= pair[1].0));
            let last = schedule.events.last().expect("an event").0;
            assert!(last + Duration::from_secs(QUIET_S) <= HOUR);
        }
    }
}
