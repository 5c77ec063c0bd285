//! What an answer about the logs of one block must be, whichever endpoint gave it.
//!
//! The header says which block it is and when it was made. A log of another hash, of
//! another number, outside the filter, out of order or repeated refuses the whole answer.
//! The time of a log is the header's, whatever the answer says.

use windlass_core::bloom::BloomFit;
use windlass_core::chain::BlockHeader;
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::reader::{
    AnswerFault, ChainError, ChainErrorKind, ChainReader, FalseAnswer, Header, LogFilter, LogSpan,
};

/// No block has more logs: no commit could hold them, and no gas limit has allowed them yet.
pub(super) const MAX_BLOCK_LOGS: usize = 50_000;

/// A block has more logs than any can have.
pub(super) fn too_many(number: u64, count: usize) -> ChainError {
    let message = format!("block {number} came with {count} logs; at most {MAX_BLOCK_LOGS} are taken");
    ChainError::new(ChainErrorKind::Malformed, message)
}

/// The logs of a block with the header's time, or what is wrong with the answer.
pub(super) fn checked(
    block: &BlockHeader,
    filter: &LogFilter,
    mut logs: Vec<LogEvent>,
) -> Result<Vec<LogEvent>, ChainError> {
    let refused = |what: String| Err(ChainError::new(ChainErrorKind::Malformed, what));
    if logs.len() > MAX_BLOCK_LOGS {
        return Err(too_many(block.number, logs.len()));
    }
    for log in &logs {
        if log.block != block.block_ref() {
            return refused(format!(
                "asked for the logs of block {}, got one of block {}",
                block.block_ref(),
                log.block
            ));
        }
        if !filter.matches(log) {
            return refused(format!("log {} of block {} is outside the filter", log.log_index, block.number));
        }
    }
    if let Some(pair) = logs.windows(2).find(|pair| pair[0].log_index >= pair[1].log_index) {
        return refused(format!(
            "log {} of block {} comes twice or out of order",
            pair[1].log_index, block.number
        ));
    }
    for log in &mut logs {
        log.timestamp_s = block.timestamp_s;
    }
    Ok(logs)
}

/// The logs of a block whose header is known, checked whole. Where the endpoint that was
/// asked has none against the bloom, every endpoint is.
pub(super) async fn of_header(
    reader: &dyn ChainReader,
    header: &Header,
    filter: &LogFilter,
) -> Result<Vec<LogEvent>, ChainError> {
    match reader.block_logs(header, filter).await {
        Ok(logs) => checked(&header.block, filter, logs),
        Err(error) if error.kind == ChainErrorKind::UnknownBlock => {
            let mut all = compared(reader, header).await;
            if all.is_empty() {
                return Err(error);
            }
            all.retain(|log| filter.matches(log));
            Ok(all)
        }
        Err(error) if error.kind == ChainErrorKind::Unconfirmed => {
            from_receipts(reader, header, filter).await.ok_or(error)
        }
        // Some endpoints take no block hash in a filter.
        Err(error) if error.kind != ChainErrorKind::Unreachable => {
            match from_range(reader, header, filter).await {
                Some(logs) => Ok(logs),
                None => from_receipts(reader, header, filter).await.ok_or(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// The wanted logs of a block, asked for by its number. An empty answer counts for nothing: an
/// endpoint that does not have the block yet gives one.
async fn from_range(reader: &dyn ChainReader, header: &Header, filter: &LogFilter) -> Option<Vec<LogEvent>> {
    let number = header.block.number;
    let span = LogSpan::Range(BlockRange { from: number, to: number });
    let logs = checked(&header.block, filter, reader.logs(span, filter).await.ok()?).ok()?;
    Some(logs).filter(|logs| !logs.is_empty())
}

/// The wanted logs of a block by its receipts, if an endpoint has some that hash to the
/// header's root.
async fn from_receipts(
    reader: &dyn ChainReader,
    header: &Header,
    filter: &LogFilter,
) -> Option<Vec<LogEvent>> {
    let receipts = reader.receipts(&header.block).await.ok().flatten()?;
    let is_proven = receipts.prove(header);
    let mut logs = checked(&header.block, &LogFilter::default(), receipts.logs).ok().filter(|_| is_proven)?;
    logs.retain(|log| filter.matches(log));
    Some(logs)
}

/// All logs of a block, asked of every endpoint because one had none against the header's
/// bloom: those of an endpoint whose logs give the bloom. None where no endpoint has them.
/// Endpoints whose answers lack what the bloom of a proven header has are reported.
async fn compared(reader: &dyn ChainReader, header: &Header) -> Vec<LogEvent> {
    let (all, span) = (LogFilter::default(), LogSpan::Block(header.block.block_ref()));
    let answers = reader.logs_from_each(span, &all).await;
    let checked = answers.into_iter().filter_map(|one| {
        let logs = checked(&header.block, &all, one.answer.ok()?).ok()?;
        Some((one.endpoint, BloomFit::of(&header.logs_bloom, &logs), logs))
    });
    let (lacking, whole): (Vec<_>, Vec<_>) = checked.partition(|(_, fit, _)| *fit == BloomFit::Lacking);
    // Logs that give exactly the bloom go before those that give more, which may be made up.
    let best = whole.into_iter().min_by_key(|(_, fit, _)| *fit != BloomFit::Exact);
    let Some((_, _, logs)) = best else { return Vec::new() };
    let blocks = BlockRange { from: header.block.number, to: header.block.number };
    // A header that does not hash to its hash may be made up, and so may its bloom.
    for (endpoint, ..) in lacking.into_iter().filter(|_| header.is_hash_proven) {
        let answer = FalseAnswer { blocks, fault: AnswerFault::MissingLogs };
        reader.report_false_answer(&endpoint, &answer);
    }
    logs
}

#[cfg(test)]
mod tests {
    use windlass_core::chain::{Address, B256, BlockRef, Bytes, ChainId};
    use windlass_core::event::Topics;

    use super::*;

    const BLOCK: BlockHeader = BlockHeader {
        number: 6,
        hash: B256::repeat_byte(6),
        parent_hash: B256::repeat_byte(5),
        timestamp_s: 1_000,
    };

    fn log(log_index: u32) -> LogEvent {
        LogEvent {
            chain: ChainId::new(1).expect("an id"),
            block: BLOCK.block_ref(),
            log_index,
            timestamp_s: 7,
            transaction_hash: B256::ZERO,
            address: Address::repeat_byte(1),
            topics: Topics::default(),
            data: Bytes::new(),
        }
    }

    #[test]
    fn the_time_of_a_log_is_that_of_its_header() {
        let logs = checked(&BLOCK, &LogFilter::default(), vec![log(0), log(3)]).expect("nothing wrong");
        assert!(logs.iter().all(|log| log.timestamp_s == 1_000), "{logs:?}");
    }

    #[test]
    fn an_answer_with_anything_wrong_is_refused_whole() {
        let renumbered = LogEvent { block: BlockRef { number: 7, ..BLOCK.block_ref() }, ..log(1) };
        let rehashed = LogEvent { block: BlockRef { hash: B256::ZERO, ..BLOCK.block_ref() }, ..log(1) };
        let elsewhere = LogFilter { addresses: vec![Address::repeat_byte(9)], topics: vec![] };
        let all = LogFilter::default();
        for (filter, logs) in [
            (&all, vec![log(0), renumbered]),
            (&all, vec![log(0), rehashed]),
            (&all, vec![log(1), log(0)]),
            (&all, vec![log(1), log(1)]),
            (&elsewhere, vec![log(0)]),
        ] {
            let error = checked(&BLOCK, filter, logs.clone()).expect_err("something is wrong");
            assert_eq!(error.kind, ChainErrorKind::Malformed, "{logs:?}");
        }
    }
}
