//! How far everything is, for whoever watches: a bar for each index on a terminal, a
//! line in the log now and then elsewhere.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::metrics::Collected;
use super::progress::{HealthState, IndexState, IndexView, Overview};
use crate::output::{human, log};

/// How often a line is logged where there is no terminal.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// How a bar looks.
const TEMPLATE: &str = "{prefix} {bar:24} {msg}";
/// How wide it is there.
const BAR_WIDTH: u64 = 24;

/// Shows what is seen until told to stop.
pub(crate) async fn run(
    mut seen: watch::Receiver<Overview>,
    collected: Vec<Collected>,
    is_live: bool,
    shutdown: CancellationToken,
) {
    let mut requests = Requests::new(collected);
    let mut view = if is_live { View::Bars(Bars::new()) } else { View::Lines(Lines::default()) };
    loop {
        let overview = seen.borrow_and_update().clone();
        let rpc_per_s = requests.per_s();
        match &mut view {
            View::Bars(bars) => bars.show(&overview, rpc_per_s),
            View::Lines(lines) => lines.show(&overview, rpc_per_s),
        }
        tokio::select! {
            () = shutdown.cancelled() => break,
            changed = seen.changed() => if changed.is_err() { break },
        }
    }
    if let View::Bars(bars) = view {
        bars.clear();
    }
}

enum View {
    Bars(Bars),
    Lines(Lines),
}

/// How many questions a second this process puts to endpoints.
struct Requests {
    collected: Vec<Collected>,
    last: Option<(Instant, u64)>,
}

impl Requests {
    const fn new(collected: Vec<Collected>) -> Self {
        Self { collected, last: None }
    }

    fn per_s(&mut self) -> Option<f64> {
        let now = Instant::now();
        let endpoints = self.collected.iter().flat_map(|chain| chain.pool.status());
        let count: u64 = endpoints.map(|endpoint| endpoint.requests).sum();
        let before = self.last.replace((now, count));
        let (then, asked) = before.filter(|_| !self.collected.is_empty())?;
        Some(count.saturating_sub(asked) as f64 / now.duration_since(then).as_secs_f64().max(0.001))
    }
}

/// A bar for each index.
struct Bars {
    all: MultiProgress,
    bars: BTreeMap<String, ProgressBar>,
}

impl Bars {
    fn new() -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        // Lines of the log go above the bars.
        log::share_terminal(&all);
        Self { all, bars: BTreeMap::new() }
    }

    fn show(&mut self, overview: &Overview, rpc_per_s: Option<f64>) {
        let shown = overview.indexes.iter().filter(|index| index.state != IndexState::Removed);
        let width = shown.clone().map(|index| index.name.as_str().len()).max().unwrap_or(0);
        for index in shown {
            let name = index.name.to_string();
            let all = &self.all;
            let bar = self.bars.entry(name.clone()).or_insert_with(|| all.add(new_bar()));
            bar.set_prefix(format!("{name:width$}"));
            bar.set_length(index.blocks_total);
            bar.set_position(drawn(index.blocks_done, index.blocks_total));
            bar.set_message(sentence(index, has_open_past(overview, index), rpc_per_s));
        }
    }

    fn clear(self) {
        // A terminal that is gone has nothing to clear.
        let _ = self.all.clear();
    }
}

fn new_bar() -> ProgressBar {
    let style = ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(0).with_style(style.progress_chars("=> "))
}

/// How far a bar is drawn: one that is not at its end is not full, however little is missing.
fn drawn(done: u64, total: u64) -> u64 {
    if done >= total { done } else { done.min(total - total.div_ceil(BAR_WIDTH)) }
}

/// Whether blocks are missing below the last one that the head has behind it: ranges of the past
/// are open, however near to its head the index is.
fn has_open_past(overview: &Overview, index: &IndexView) -> bool {
    let chain = overview.chains.iter().find(|chain| chain.id == index.chain);
    chain.and_then(|chain| chain.followed).is_some_and(|followed| index.collected_through < Some(followed))
}

/// What is said behind a bar.
fn sentence(index: &IndexView, has_open_past: bool, rpc_per_s: Option<f64>) -> String {
    let mut parts = vec![
        format!("{} of {} blocks", human::count(index.blocks_done), human::count(index.blocks_total)),
        format!("{} events", human::count(index.events)),
    ];
    parts.extend(index.events_per_s.map(|rate| format!("{}/s", human::rate(rate))));
    match index.state {
        IndexState::New | IndexState::Historical => {
            parts.extend(index.eta_s.map(|eta_s| format!("{} left", human::seconds(eta_s))));
        }
        IndexState::Realtime if has_open_past => parts.push("ranges of the past are open".to_owned()),
        state => parts.push(state.as_str().to_owned()),
    }
    parts.extend(rpc_per_s.map(|rate| format!("{} RPC/s", human::rate(rate))));
    let is_well =
        matches!(index.health.state, HealthState::Collecting | HealthState::Starting | HealthState::Idle);
    if !is_well {
        parts.push(index.health.state.as_str().to_owned());
    }
    parts.join(", ")
}

/// Lines in the log: for each index that moves, one now and then.
#[derive(Default)]
struct Lines {
    last: BTreeMap<String, (Instant, u64, u64)>,
}

impl Lines {
    fn show(&mut self, overview: &Overview, rpc_per_s: Option<f64>) {
        let now = Instant::now();
        for index in overview.indexes.iter().filter(|index| index.state != IndexState::Removed) {
            let (blocks, events) = (index.blocks_done, index.events);
            let last = self.last.get(index.name.as_str());
            let is_due = last.is_none_or(|(at, ..)| now.duration_since(*at) >= LOG_INTERVAL);
            let is_news = last.is_none_or(|(_, before, rows)| (*before, *rows) != (blocks, events));
            if !is_due || !is_news || index.blocks_total == 0 {
                continue;
            }
            self.last.insert(index.name.to_string(), (now, blocks, events));
            let (name, state) = (index.name.as_str(), index.state.as_str());
            let progress = sentence(index, has_open_past(overview, index), rpc_per_s);
            tracing::info!(index = name, state, blocks, of = index.blocks_total, events, "{progress}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::progress::{ChainView, example, example_chain};
    use super::*;

    #[test]
    fn a_bar_says_how_far_how_fast_and_how_long() {
        let index = IndexView {
            blocks_done: 12_345,
            blocks_total: 1_234_567,
            events: 1_000_000,
            events_per_s: Some(1_234.5),
            eta_s: Some(3_700),
            ..example("fees")
        };
        assert_eq!(
            sentence(&index, false, Some(9.51)),
            "12,345 of 1,234,567 blocks, 1,000,000 events, 1,235/s, 1h 1m left, 9.5 RPC/s"
        );
        let at_head = IndexView { state: IndexState::Realtime, events_per_s: None, eta_s: None, ..index };
        assert_eq!(sentence(&at_head, false, None), "12,345 of 1,234,567 blocks, 1,000,000 events, realtime");
    }

    #[test]
    fn a_bar_is_full_and_at_the_head_only_when_nothing_of_the_past_is_missing() {
        let chain = ChainView { id: example("fees").chain, followed: Some(999_999), ..example_chain() };
        let overview = |index: IndexView| Overview { chains: vec![chain.clone()], indexes: vec![index] };
        let near = IndexView {
            state: IndexState::Realtime,
            blocks_done: 999_990,
            blocks_total: 1_000_000,
            collected_through: Some(500_000),
            ..example("fees")
        };
        assert!(has_open_past(&overview(near.clone()), &near));
        assert!(sentence(&near, true, None).ends_with("ranges of the past are open"));
        assert!(
            drawn(near.blocks_done, near.blocks_total) * BAR_WIDTH <= near.blocks_total * (BAR_WIDTH - 1)
        );
        let whole = IndexView { blocks_done: 1_000_000, collected_through: Some(999_999), ..near };
        assert!(!has_open_past(&overview(whole.clone()), &whole));
        assert_eq!(drawn(whole.blocks_done, whole.blocks_total), 1_000_000);
        assert_eq!([drawn(0, 0), drawn(0, 10), drawn(9, 10)], [0, 0, 9]);
    }
}
