//! Questions of many calls: headers by number, and by hash for the times of logs that came
//! without, as older nodes give them.
//!
//! They are asked in messages of as many calls as the endpoints take, at the rate that they
//! take. What was answered is kept when a later message fails, and the rest is asked for again in
//! messages that may be shorter.

use futures_util::{StreamExt, stream};
use tokio::time::sleep;
use windlass_core::error::RetryAdvice;
use windlass_core::event::LogEvent;
use windlass_core::reader::{ChainError, ChainErrorKind, Header};

use super::Inner;
use super::log_question::AskHeadersOfBlocks;
use super::member::Member;
use super::question::{AskHeaders, Question};
use crate::evm::batch::MAX_MESSAGES_AT_ONCE;
use crate::evm::reader::GivenLogs;

/// How often in a row a message may fail.
const MAX_FAILURES: u32 = 5;

impl Inner {
    pub(super) async fn headers(&self, numbers: &[u64]) -> Result<Vec<Option<Header>>, ChainError> {
        let is_limited = |error: &ChainError| error.kind == ChainErrorKind::RateLimited;
        self.in_batches(numbers, |numbers| AskHeaders { numbers }, is_limited).await
    }

    /// The logs with their times.
    pub(super) async fn with_times(&self, mut given: GivenLogs) -> Result<Vec<LogEvent>, ChainError> {
        let may_pass = |error: &ChainError| {
            error.kind != ChainErrorKind::UnknownBlock && error.retry != RetryAdvice::Never
        };
        let blocks = &given.without_time;
        let headers = self.in_batches(blocks, |blocks| AskHeadersOfBlocks { blocks }, may_pass).await?;
        given.set_times(&headers);
        Ok(given.logs)
    }

    async fn in_batches<'a, T, Q, A>(
        &'a self,
        items: &'a [T],
        question: impl Fn(&'a [T]) -> Q,
        may_pass: impl Fn(&ChainError) -> bool,
    ) -> Result<Vec<A>, ChainError>
    where
        Q: Question<Answer = Vec<A>> + 'a,
    {
        let (mut answers, mut failures) = (Vec::with_capacity(items.len()), 0);
        while let Some(rest) = items.get(answers.len()..).filter(|rest| !rest.is_empty()) {
            let batches = rest.chunks(self.batch_size());
            let asked: Vec<_> = batches.map(|items| self.ask_owned(question(items))).collect();
            let mut asked = stream::iter(asked).buffered(MAX_MESSAGES_AT_ONCE);
            while let Some(answer) = asked.next().await {
                match answer {
                    Ok(answer) => {
                        failures = 0;
                        answers.extend(answer);
                    }
                    Err(error) if failures < MAX_FAILURES && may_pass(&error) => {
                        failures += 1;
                        drop(asked);
                        self.pause_after(&error).await;
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(answers)
    }

    async fn pause_after(&self, error: &ChainError) {
        if let RetryAdvice::After(pause) = error.retry {
            sleep(pause.min(self.options.patience)).await;
        }
    }

    /// How many calls go into one message.
    fn batch_size(&self) -> usize {
        self.members.iter().map(Member::batch_size).max().unwrap_or(1).max(1)
    }
}
