//! Trouble of an endpoint that passes is waited out: an audit asks many questions, and one
//! that goes wrong is no reason to ask all the others again.

use std::future::Future;
use std::time::Duration;

use windlass_core::error::RetryAdvice;
use windlass_core::reader::ChainError;

/// A question is asked so often.
const MAX_TRIES: u32 = 6;
/// No pause is longer, whatever an endpoint advises.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Asks until there is an answer, with the pauses that errors advise.
pub(super) async fn patiently<T, F>(mut ask: impl FnMut() -> F) -> Result<T, ChainError>
where
    F: Future<Output = Result<T, ChainError>>,
{
    let mut tries = 1;
    loop {
        let error = match ask().await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let RetryAdvice::After(pause) = error.retry else { return Err(error) };
        if tries == MAX_TRIES {
            return Err(error);
        }
        // An endpoint that is in trouble gets longer and longer to recover.
        let pause = pause.saturating_mul(tries).min(MAX_PAUSE);
        tracing::debug!(%error, tries, "an audit's question is asked again after a pause");
        tokio::time::sleep(pause).await;
        tries += 1;
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::reader::ChainErrorKind;

    use super::*;

    async fn tries(retry: RetryAdvice, failures: u32) -> (bool, u32) {
        let mut asked = 0;
        let answer = patiently(|| {
            asked += 1;
            let fails = asked <= failures;
            async move {
                let error = ChainError { retry, ..ChainError::new(ChainErrorKind::Unreachable, "503") };
                if fails { Err(error) } else { Ok(()) }
            }
        });
        (answer.await.is_ok(), asked)
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_is_asked_again_but_not_for_ever() {
        let soon = RetryAdvice::After(Duration::from_secs(1));
        assert_eq!(tries(soon, 0).await, (true, 1));
        assert_eq!(tries(soon, MAX_TRIES - 1).await, (true, MAX_TRIES));
        assert_eq!(tries(soon, MAX_TRIES).await, (false, MAX_TRIES));
        assert_eq!(tries(RetryAdvice::Never, 1).await, (false, 1));
    }
}
