//! What is being looked at, on a terminal, while it takes time. It goes to standard
//! error and is wiped when all is done; without a terminal nothing is shown.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How often the line is drawn anew.
const TICK: Duration = Duration::from_millis(100);

/// A line that says what is under way.
pub(super) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn start() -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_style(ProgressStyle::default_spinner());
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// Says what is looked at now.
    pub(super) fn say(&self, what: impl Into<String>) {
        self.0.set_message(what.into());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
