//! How fast it goes, from two looks.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{IndexView, Overview};

/// Looks that are nearer to each other say little.
pub(crate) const MIN_APART: Duration = Duration::from_millis(200);
/// How much of the newest pace counts: the rest is what was thought before.
const NEW_SHARE: f64 = 0.3;
/// Nobody wants to know of a later end: a hundred days.
const MAX_ETA_S: f64 = 8_640_000.0;

/// Paces that are learned from look to look.
#[derive(Debug, Default)]
pub(crate) struct Paces {
    last: BTreeMap<String, Seen>,
}

/// What the last look saw of an index, and how fast it went then.
#[derive(Debug, Clone, Copy)]
struct Seen {
    at: Duration,
    events: u64,
    blocks: u64,
    pace: Option<Pace>,
}

#[derive(Debug, Clone, Copy)]
struct Pace {
    events_per_s: f64,
    blocks_per_s: f64,
}

impl Paces {
    /// Fills in the paces. `at` is the time of the look, from any beginning.
    pub(crate) fn fill_in(&mut self, overview: &mut Overview, at: Duration) {
        for index in &mut overview.indexes {
            let seen = self.last.get(index.name.as_str()).copied();
            let next = look(seen, index, at);
            if let Some(pace) = next.pace {
                index.events_per_s = Some(pace.events_per_s);
                index.eta_s = eta_s(index, pace);
            }
            self.last.insert(index.name.to_string(), next);
        }
    }
}

fn look(seen: Option<Seen>, index: &IndexView, at: Duration) -> Seen {
    let (events, blocks) = (index.events, index.blocks_done);
    let Some(before) = seen else { return Seen { at, events, blocks, pace: None } };
    let apart = at.saturating_sub(before.at);
    if apart < MIN_APART {
        return before;
    }
    // A reorg takes back: that is no negative pace.
    let per_s = |now: u64, then: u64| now.saturating_sub(then) as f64 / apart.as_secs_f64();
    let new = Pace { events_per_s: per_s(events, before.events), blocks_per_s: per_s(blocks, before.blocks) };
    Seen { at, events, blocks, pace: Some(before.pace.map_or(new, |old| old.towards(new))) }
}

impl Pace {
    fn towards(self, new: Self) -> Self {
        let mix = |old: f64, new: f64| old + (new - old) * NEW_SHARE;
        Self {
            events_per_s: mix(self.events_per_s, new.events_per_s),
            blocks_per_s: mix(self.blocks_per_s, new.blocks_per_s),
        }
    }
}

fn eta_s(index: &IndexView, pace: Pace) -> Option<u64> {
    let missing = index.blocks_total.saturating_sub(index.blocks_done);
    let seconds = missing as f64 / pace.blocks_per_s;
    // Truncation is what is wanted: whole seconds, and the bound keeps it small.
    (index.is_catching_up() && seconds.is_finite() && seconds < MAX_ETA_S).then_some(seconds.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::super::example as index;
    use super::*;

    fn overview(events: u64, blocks_done: u64) -> Overview {
        let view = IndexView { events, blocks_done, blocks_total: 1_000, ..index("fees") };
        Overview { indexes: vec![view], ..Overview::default() }
    }

    #[test]
    fn one_look_says_nothing_and_two_say_how_fast() {
        let mut paces = Paces::default();
        let mut first = overview(100, 100);
        paces.fill_in(&mut first, Duration::from_secs(1));
        assert_eq!((first.indexes[0].events_per_s, first.indexes[0].eta_s), (None, None));
        let mut second = overview(300, 200);
        paces.fill_in(&mut second, Duration::from_secs(3));
        assert_eq!((second.indexes[0].events_per_s, second.indexes[0].eta_s), (Some(100.0), Some(16)));
    }

    #[test]
    fn a_reorg_is_no_negative_pace_and_a_standstill_has_no_end() {
        let mut paces = Paces::default();
        paces.fill_in(&mut overview(300, 200), Duration::from_secs(1));
        let mut after = overview(250, 190);
        paces.fill_in(&mut after, Duration::from_secs(2));
        assert_eq!((after.indexes[0].events_per_s, after.indexes[0].eta_s), (Some(0.0), None));
    }

    #[test]
    fn looks_that_are_too_near_change_nothing() {
        let mut paces = Paces::default();
        paces.fill_in(&mut overview(0, 0), Duration::from_secs(1));
        let mut near = overview(500, 500);
        paces.fill_in(&mut near, Duration::from_secs(1) + MIN_APART / 2);
        assert_eq!(near.indexes[0].events_per_s, None);
    }
}
