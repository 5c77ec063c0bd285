//! The demo while it runs: a live line on a terminal, a log line a second elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use windlass_core::payout::state::PayoutState;
use windlass_core::store::Store;

use super::world::World;
use super::{DemoOptions, collector};
use crate::failure::Failure;
use crate::output;

/// How often a terminal is redrawn.
const REDRAW: Duration = Duration::from_millis(200);
/// How often a line is logged where there is no terminal.
const LOG_EVERY: Duration = Duration::from_secs(1);

/// The live view, or its plain stand-in.
pub(super) struct View {
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl View {
    /// A view fit for where the output goes.
    pub(super) fn new(options: &DemoOptions) -> Self {
        let bar = options.is_live().then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
            let template = "{spinner} {wide_bar} block {pos} of {len}, {msg}";
            bar.with_style(
                ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
            )
        });
        Self { bar, quiet: options.json }
    }

    /// Says where everything is.
    pub(super) fn banner(&self, text: &str) {
        if !self.quiet {
            output::note(text);
        }
    }

    /// Shows progress for as long as it is polled.
    pub(super) async fn watch(&self, world: &World, store: &dyn Store) {
        loop {
            self.show(world, store).await;
            tokio::time::sleep(if self.bar.is_some() { REDRAW } else { LOG_EVERY }).await;
        }
    }

    /// A reading that fails is left out: the view is not what the demo is about.
    async fn show(&self, world: &World, store: &dyn Store) {
        let Ok(progress) = Progress::read(world, store).await else { return };
        match &self.bar {
            Some(bar) => {
                bar.set_length(progress.head);
                bar.set_position(progress.position.min(progress.head));
                bar.set_message(progress.sentence());
            }
            None if self.quiet => {}
            None => output::note(&format!(
                "block {} of {}, {}",
                progress.position,
                progress.head,
                progress.sentence()
            )),
        }
    }

    /// Takes the live line away.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// How far the demo is.
struct Progress {
    /// The last stored block.
    position: u64,
    head: u64,
    events: u64,
    reorgs: u64,
    payouts: u64,
    /// Payouts that are in a block that is deep enough.
    paid: u64,
}

impl Progress {
    async fn read(world: &World, store: &dyn Store) -> Result<Self, Failure> {
        let table = collector::table(world)?;
        let counts = store.count_payouts().await?;
        let paid = counts.iter().filter(|(state, _)| *state == PayoutState::Confirmed);
        Ok(Self {
            position: collector::position(world, store).await?.unwrap_or(0),
            head: world.chain.head().number(),
            events: store.count_rows(&table.name, &[]).await?,
            reorgs: world.chain.stats().reorgs,
            payouts: counts.iter().map(|(_, count)| count).sum(),
            paid: paid.map(|(_, count)| count).sum(),
        })
    }

    /// What is said behind the blocks.
    fn sentence(&self) -> String {
        let Self { events, reorgs, payouts, paid, .. } = self;
        format!("events: {events}, paid: {paid} of {payouts}, reorgs: {reorgs}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_fits_80_columns_after_an_hour() {
        let progress = Progress {
            position: 14_400,
            head: 14_400,
            events: 99_999,
            reorgs: 999,
            payouts: 99_999,
            paid: 99_999,
        };
        let line = format!("* block {} of {}, {}", progress.position, progress.head, progress.sentence());
        assert!(line.len() <= 75, "{} columns, and a bar of five: {line}", line.len());
    }
}
