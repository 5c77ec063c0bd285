//! How a pool behaves.

use std::time::Duration;

use crate::evm::learn::LearnOptions;
use crate::evm::transport::REQUEST_TIMEOUT;

/// The settings of a pool.
#[derive(Debug, Clone, Copy)]
pub struct PoolOptions {
    /// How long a request may take in all.
    pub request_timeout: Duration,
    /// How long an endpoint may take with a transaction, naming its chain included: others
    /// have it too, and whoever asked is to go on.
    pub send_timeout: Duration,
    /// What a good answer to a question about logs is.
    pub learn: LearnOptions,
    /// How many questions an endpoint gets at once at most, however well it does.
    pub max_concurrency: u32,
    /// How many of a hundred questions may be put to a second endpoint because the first is slow.
    pub hedge_percent: u32,
    /// When an answer is late, as long as too few have come to know better.
    pub hedge_after: Duration,
    /// How long an endpoint is left out after it failed several times in a row; it doubles each time.
    pub first_pause: Duration,
    /// How long an endpoint is left out at most before it is tried again.
    pub longest_pause: Duration,
    /// How long a question waits when every endpoint is left out.
    pub patience: Duration,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            request_timeout: REQUEST_TIMEOUT,
            send_timeout: Duration::from_secs(10),
            learn: LearnOptions::default(),
            max_concurrency: 32,
            hedge_percent: 5,
            hedge_after: Duration::from_secs(1),
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(60),
            patience: Duration::from_secs(5),
        }
    }
}
