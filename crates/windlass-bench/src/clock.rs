//! A clock that two processes of one machine share and nobody sets.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Time since some moment before this machine's first process.
pub(crate) fn now() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// A moment of this process on that clock.
pub(crate) fn at(moment: Instant) -> Duration {
    now().saturating_sub(moment.elapsed())
}
