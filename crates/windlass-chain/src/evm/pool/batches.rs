//! Questions of many calls: headers by number, and by hash for the times of logs that came
//! without, as older nodes give them.
//!
//! They are asked in messages of as many calls as the endpoints take, at the rate that they
//! take. What was answered is kept when a later message fails, and the rest is asked for again in
//! messages that may be shorter.

use futures_util::{StreamExt, stream};
use tokio::time::{Instant, sleep};
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
        let wants_proof = self.headers_are_provable();
        self.in_batches(numbers, |numbers| AskHeaders { numbers, wants_proof }, may_pass).await
    }

    /// The logs with their times.
    pub(super) async fn with_times(&self, mut given: GivenLogs) -> Result<Vec<LogEvent>, ChainError> {
        let blocks = &given.without_time;
        // The logs are here already.
        let may_pass = |error: &ChainError, _| may_pass(error, true);
        let headers = self.in_batches(blocks, |blocks| AskHeadersOfBlocks { blocks }, may_pass).await?;
        given.set_times(&headers);
        Ok(given.logs)
    }

    async fn in_batches<'a, T, Q, A>(
        &'a self,
        items: &'a [T],
        question: impl Fn(&'a [T]) -> Q,
        may_pass: impl Fn(&ChainError, bool) -> bool,
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
                let has_begun = !answers.is_empty();
                match answer {
                    Ok(answer) => {
                        failures = 0;
                        answers.extend(answer);
                    }
                    Err(error) if failures < MAX_FAILURES && may_pass(&error, has_begun) => {
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

    /// How many calls go into one message: what the endpoint takes that takes most, of those that
    /// answer. A message of the size of one that hangs would be too long for the others.
    fn batch_size(&self) -> usize {
        let now = Instant::now();
        let answers = |member: &&Member| {
            let health = member.health();
            health.is_available(now) && (health.in_flight() == 0 || health.has_answered_of_late(now))
        };
        let sizes = self.members.iter().filter(answers).map(Member::batch_size);
        let largest = sizes.max().or_else(|| self.members.iter().map(Member::batch_size).min());
        largest.unwrap_or(1).max(1)
    }

    /// The logs of one endpoint with their times, as the same endpoint tells them: what is compared
    /// with others is its word alone.
    pub(super) async fn with_times_of(
        &self,
        place: usize,
        mut given: GivenLogs,
    ) -> Result<Vec<LogEvent>, ChainError> {
        let (mut headers, mut failures) = (Vec::with_capacity(given.without_time.len()), 0);
        while let Some(rest) = given.without_time.get(headers.len()..).filter(|rest| !rest.is_empty()) {
            let blocks = &rest[..rest.len().min(self.members[place].batch_size())];
            match self.ask_member(&AskHeadersOfBlocks { blocks }, place).await {
                Ok(more) => {
                    failures = 0;
                    headers.extend(more);
                }
                // The logs are here already.
                Err(error) if failures < MAX_FAILURES && may_pass(&error, true) => {
                    failures += 1;
                    self.pause_after(&error).await;
                }
                Err(error) => return Err(error),
            }
        }
        given.set_times(&headers);
        Ok(given.logs)
    }
}

/// Whether the rest may be asked for again. Trouble of an endpoint is the caller's unless something
/// would be thrown away with it.
fn may_pass(error: &ChainError, has_begun: bool) -> bool {
    match error.kind {
        ChainErrorKind::RateLimited => true,
        ChainErrorKind::UnknownBlock => false,
        _ => has_begun && error.retry != RetryAdvice::Never,
    }
}
