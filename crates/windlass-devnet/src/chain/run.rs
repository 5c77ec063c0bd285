//! Interval mining.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Chain, Mining};

/// The shortest beat, so that a zero interval does not spin.
const MIN_INTERVAL: Duration = Duration::from_millis(1);

impl Chain {
    /// Keeps the beat of [`Mining::Interval`] until told to stop; does nothing in other modes.
    pub async fn run(&self, shutdown: CancellationToken) {
        let mut mode = self.shared.mining.subscribe();
        loop {
            let mining = *mode.borrow_and_update();
            tokio::select! {
                () = shutdown.cancelled() => return,
                changed = mode.changed() => if changed.is_err() { return },
                () = beat(mining) => { self.mine(); }
            }
        }
    }
}

/// Ends when the next block is due; never where no beat is kept.
async fn beat(mining: Mining) {
    match mining {
        Mining::Interval(period) => tokio::time::sleep(period.max(MIN_INTERVAL)).await,
        Mining::Auto | Mining::Manual => std::future::pending().await,
    }
}
