//! The line in the log when collecting a chain has stopped because a final block is gone: one for
//! each halt. While the chain stands still it is looked at every few seconds, and the block that is
//! found to be gone moves with the chain's head; that is no news.

use std::sync::{Mutex, PoisonError};

use crate::collect::chain::{CollectOptions, way_back};
use crate::collect::error::CollectError;

/// What the log has of the present halt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Logged {
    #[default]
    Nothing,
    /// That collecting has stopped; where to go back to was not known then.
    Halt,
    /// The block to go back to as well.
    WayBack,
}

/// Logs a halt once.
#[derive(Debug, Default)]
pub(super) struct HaltLog(Mutex<Logged>);

impl HaltLog {
    /// Logs a halt, unless the log has it.
    pub(super) fn tell(&self, options: &CollectOptions, error: &CollectError, rewind_to: Option<u64>) {
        let (chain, code) = (options.chain, error.code());
        if !self.is_news(rewind_to) {
            tracing::debug!(%chain, %code, "{error}");
            return;
        }
        let label = options.name.clone().unwrap_or_else(|| chain.to_string());
        let command = rewind_to.map(|to| way_back(&label, to)).unwrap_or_default();
        tracing::error!(
            %chain, %code,
            "{error}; nothing is deleted, and it goes on once the chain has the block again{command}"
        );
    }

    /// The chain has what is stored again: the next halt is another one.
    pub(super) fn is_over(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Logged::Nothing;
    }

    fn is_news(&self, rewind_to: Option<u64>) -> bool {
        let now = if rewind_to.is_some() { Logged::WayBack } else { Logged::Halt };
        let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = *logged < now;
        *logged = (*logged).max(now);
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_halt_is_news_once_and_once_more_when_the_way_back_is_found() {
        let log = HaltLog::default();
        let halts = [None, None, Some(28), Some(30), None, Some(31)].map(|to| log.is_news(to));
        assert_eq!(halts, [true, false, true, false, false, false]);
        log.is_over();
        assert!(log.is_news(Some(28)), "another halt");
    }
}
