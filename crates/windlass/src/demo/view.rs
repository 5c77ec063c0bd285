//! The demo while it runs: a live line on a terminal, a log line a second elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use windlass_core::store::Store;

use super::world::World;
use super::{DemoOptions, collector};
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
            let template = "{spinner} {wide_bar} block {pos} of {len}  {msg}";
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
        let (Ok(table), Ok(position)) = (collector::table(world), collector::position(world, store).await)
        else {
            return;
        };
        let Ok(events) = store.count_rows(&table.name, &[]).await else { return };
        let (head, position) = (world.chain.head().number(), position.unwrap_or(0));
        let reorgs = world.chain.stats().reorgs;
        match &self.bar {
            Some(bar) => {
                bar.set_length(head);
                bar.set_position(position.min(head));
                bar.set_message(format!("{events} events, reorgs: {reorgs}"));
            }
            None if self.quiet => {}
            None => output::note(&format!("block {position} of {head}, events: {events}, reorgs: {reorgs}")),
        }
    }

    /// Takes the live line away.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
