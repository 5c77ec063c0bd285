//! The logs of stored blocks, read again from every endpoint to compare them with what is stored.
//!
//! Invariant: an endpoint that was not heard is waited for, since it may be the one that
//! contradicts the others; one that is away for long is not.

use std::time::Duration;

use tokio::time::Instant;
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, ChainReader, LogFilter, LogSpan};

/// How long blocks wait for an endpoint that was not heard about them.
pub(super) const MAX_UNHEARD_TIME: Duration = Duration::from_secs(600);

/// How often endpoints are asked, while one is heard and another is not.
const MAX_ROUNDS: u32 = 3;

/// What endpoints say about blocks that are read again.
pub(super) struct Reread {
    /// The logs, as each endpoint that was heard has them.
    pub(super) answers: Vec<Vec<LogEvent>>,
    /// Why another endpoint was not heard.
    pub(super) unheard: Option<ChainError>,
}

impl Reread {
    /// Reads the logs of some blocks from each endpoint: what is stored came from one of them,
    /// which would say the same again. An error only when no endpoint was heard. A block that is
    /// too large for a range of its own was had by its hash before.
    pub(super) async fn ask(
        reader: &dyn ChainReader,
        blocks: BlockRange,
        filter: &LogFilter,
    ) -> Result<Self, ChainError> {
        let mut round = 1;
        let (answers, failed) = loop {
            let (mut answers, mut failed) = (Vec::new(), None);
            for one in reader.logs_from_each(LogSpan::Range(blocks), filter).await {
                match one.answer {
                    Ok(logs) => answers.push(logs),
                    Err(error) => failed = Some(error),
                }
            }
            // An endpoint that fails now and then is heard soon.
            if answers.is_empty() || failed.is_none() || round == MAX_ROUNDS {
                break (answers, failed);
            }
            round += 1;
        };
        match failed {
            unheard if !answers.is_empty() => Ok(Self { answers, unheard }),
            Some(ChainError { kind: ChainErrorKind::RangeTooLarge { .. }, .. }) if blocks.count() == 1 => {
                let header = reader.header(BlockTag::Number(blocks.from)).await?;
                let header = header.ok_or_else(|| unknown_final(blocks.from))?;
                let answers = vec![reader.block_logs(&header, filter).await?];
                Ok(Self { answers, unheard: None })
            }
            failed => Err(failed.unwrap_or_else(|| unknown_final(blocks.from))),
        }
    }
}

/// Since when an endpoint that was not heard is waited for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct UnheardWait {
    since: Option<Instant>,
}

impl UnheardWait {
    /// Whether a decision is put off because an endpoint was not heard, for so long at most.
    pub(super) fn must_wait(&mut self, is_unheard: bool, limit: Duration) -> bool {
        if !is_unheard {
            self.since = None;
            return false;
        }
        self.since.get_or_insert_with(Instant::now).elapsed() < limit
    }

    /// Goes on after so long a wait; the limit is for all of it.
    pub(super) fn resume(&mut self, waited: Option<Duration>) {
        let now = Instant::now();
        self.since = waited.map(|waited| now.checked_sub(waited).unwrap_or(now));
    }

    /// Whether it is waited for.
    pub(super) const fn is_waiting(&self) -> bool {
        self.since.is_some()
    }

    /// How long it is waited for already.
    pub(super) fn elapsed(&self) -> Duration {
        self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// A final block that the endpoint does not have.
pub(super) fn unknown_final(number: u64) -> ChainError {
    let message = format!("the endpoint does not know block {number}, which is final");
    ChainError::new(ChainErrorKind::UnknownBlock, message)
}
