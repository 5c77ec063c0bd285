//! Asks again what endpoints refuse in passing, a bounded number of times: for commands that
//! have one answer to give, and for searches that many answers go into.

use std::future::Future;
use std::time::Duration;

use async_trait::async_trait;
use windlass_chain::evm::RpcError;
use windlass_core::chain::{Address, BlockHeader, Bytes, ChainId};
use windlass_core::error::RetryAdvice;
use windlass_core::event::LogEvent;
use windlass_core::reader::{
    BlockTag, ChainError, ChainErrorKind, ChainReader, Header, LogFilter, LogSpan, Receipts,
};

use super::hurdle::Hurdle;

/// How often the same is asked in all.
const MAX_TRIES: u32 = 6;
/// The same where it is likelier to stay as it is: nobody can be reached at an address that
/// was just typed, or an endpoint refuses with words of its own.
const FEW_TRIES: u32 = 2;
/// The longest pause between two tries, whatever an endpoint wants.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// The pause where the error names none.
const USUAL_PAUSE: Duration = Duration::from_millis(500);

/// An error that may pass by itself.
pub(crate) trait MayPass {
    /// How long to wait before the next try, and how many there may be; nothing for what
    /// does not pass by itself.
    fn retry(&self) -> Option<(Duration, u32)>;
}

/// How long an error wants to be waited for.
fn pause(advice: RetryAdvice) -> Duration {
    match advice {
        RetryAdvice::After(pause) => pause,
        RetryAdvice::Never => USUAL_PAUSE,
    }
}

impl MayPass for RpcError {
    fn retry(&self) -> Option<(Duration, u32)> {
        let tries = match self {
            Self::Connection { .. } | Self::Timeout { .. } | Self::Refused { .. } => FEW_TRIES,
            _ => MAX_TRIES,
        };
        let passes = match self {
            // Whatever the words are: nobody can list them all.
            Self::Refused { .. } => true,
            other => other.retry() != RetryAdvice::Never,
        };
        passes.then(|| (pause(Self::retry(self)), tries))
    }
}

impl MayPass for ChainError {
    fn retry(&self) -> Option<(Duration, u32)> {
        let passes = match self.kind {
            ChainErrorKind::Refused => true,
            // A range is made smaller, not asked for again.
            ChainErrorKind::RangeTooLarge { .. } => false,
            _ => self.retry != RetryAdvice::Never,
        };
        let tries = if self.kind == ChainErrorKind::Refused { FEW_TRIES } else { MAX_TRIES };
        passes.then(|| (pause(self.retry), tries))
    }
}

impl MayPass for Hurdle {
    fn retry(&self) -> Option<(Duration, u32)> {
        match self {
            Self::Passing { pause, tries, .. } => Some((*pause, *tries)),
            Self::Silent(_) | Self::Wrong(_) | Self::Store(_) => None,
        }
    }
}

/// Asks until there is an answer, the refusal is one that does not pass, or it was asked often enough.
pub(crate) async fn retrying<T, E: MayPass + std::fmt::Debug, F: Future<Output = Result<T, E>>>(
    ask: impl Fn() -> F,
) -> Result<T, E> {
    let mut tried = 1;
    loop {
        let error = match ask().await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        match error.retry() {
            Some((pause, tries)) if tried < tries => {
                tracing::debug!(?error, tried, "an endpoint refuses in passing; it is asked again");
                tokio::time::sleep(pause.min(MAX_PAUSE)).await;
            }
            _ => return Err(error),
        }
        tried += 1;
    }
}

/// Asks another reader again what it refuses in passing.
pub(crate) struct RetryingReader<'a, R>(pub(crate) &'a R);

#[async_trait]
impl<R: ChainReader> ChainReader for RetryingReader<'_, R> {
    async fn chain_id(&self) -> Result<ChainId, ChainError> {
        retrying(|| self.0.chain_id()).await
    }

    async fn header(&self, block: BlockTag) -> Result<Option<Header>, ChainError> {
        retrying(|| self.0.header(block)).await
    }

    async fn headers(&self, numbers: &[u64]) -> Result<Vec<Option<Header>>, ChainError> {
        retrying(|| self.0.headers(numbers)).await
    }

    async fn logs(&self, span: LogSpan, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        retrying(|| self.0.logs(span, filter)).await
    }

    async fn receipts(&self, block: &BlockHeader) -> Result<Option<Receipts>, ChainError> {
        retrying(|| self.0.receipts(block)).await
    }

    async fn code(&self, address: Address, at: BlockTag) -> Result<Bytes, ChainError> {
        retrying(|| self.0.code(address, at)).await
    }

    fn range_size(&self, filter: &LogFilter) -> u64 {
        self.0.range_size(filter)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Passes, and may be asked about so often.
    #[derive(Debug)]
    struct Passing(u32);

    impl MayPass for Passing {
        fn retry(&self) -> Option<(Duration, u32)> {
            (self.0 > 0).then_some((Duration::ZERO, self.0))
        }
    }

    /// What comes of it when the first `failures` tries fail, and how often was asked.
    async fn tried(failures: u32, tries: u32) -> (bool, u32) {
        let asked = AtomicU32::new(0);
        let answer = retrying(|| {
            let number = asked.fetch_add(1, Ordering::Relaxed);
            std::future::ready(if number < failures { Err(Passing(tries)) } else { Ok(()) })
        });
        (answer.await.is_ok(), asked.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn what_passes_is_asked_again_so_many_times_and_what_does_not_once() {
        assert_eq!(tried(0, 3).await, (true, 1));
        assert_eq!(tried(2, 3).await, (true, 3));
        assert_eq!(tried(u32::MAX, 3).await, (false, 3));
        assert_eq!(tried(u32::MAX, 0).await, (false, 1));
    }

    fn tries(error: RpcError) -> Option<u32> {
        MayPass::retry(&error).map(|(_, tries)| tries)
    }

    #[test]
    fn limits_and_outages_pass_wrong_keys_and_paths_do_not() {
        let place = || "here".to_owned();
        let status = |status| RpcError::Status { place: place(), status };
        let limited = RpcError::RateLimited {
            place: place(),
            message: "slow down".into(),
            code: None,
            is_certain: true,
            retry_after: Some(Duration::from_secs(3)),
        };
        assert_eq!(MayPass::retry(&limited), Some((Duration::from_secs(3), MAX_TRIES)));
        assert_eq!(tries(status(503)), Some(MAX_TRIES));
        let refused = RpcError::Refused { place: place(), method: "m".into(), code: 35, message: "?".into() };
        assert_eq!(tries(refused), Some(FEW_TRIES));
        assert_eq!(
            tries(RpcError::Connection { place: place(), reason: "reset".into(), was_connected: true }),
            Some(FEW_TRIES)
        );
        for error in [status(401), status(403), status(404), RpcError::Url { place: place() }] {
            assert_eq!(tries(error), None);
        }
    }
}
