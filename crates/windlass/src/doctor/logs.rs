//! How large a range of blocks an endpoint grants `eth_getLogs`.

use windlass_chain::evm::{RangeAdvice, RpcError};
use windlass_core::chain::{Address, B256, BlockRef};
use windlass_core::range::BlockRange;
use windlass_core::reader::{ChainError, ChainErrorKind, LogFilter};

use super::chain::Probe;
use super::report::Finding;

/// Ranges that are tried, one after another, until one is refused.
const RANGES: [u64; 5] = [1, 10, 100, 1_000, 10_000];
/// Below this, history takes a great many requests.
const SMALL_RANGE: u64 = 1_000;

/// Tries ranges that end at the head, with a filter that nothing passes: what
/// refuses them is the range, not the result.
pub(super) async fn examine(probe: &Probe, head: u64) -> Finding {
    let nothing = no_logs();
    let mut granted = 0;
    for blocks in RANGES {
        let range = BlockRange { from: (head + 1).saturating_sub(blocks), to: head };
        match probe.rpc.logs(range, &nothing).await {
            Ok(_) => granted = blocks,
            Err(RpcError::RangeTooLarge { advice, .. }) => {
                return limited(probe, granted, advice);
            }
            Err(error) if granted == 0 || is_trouble(&error) => {
                return probe.failed_for("logs", error);
            }
            Err(_) => return limited(probe, granted, RangeAdvice::Smaller),
        }
        if range.from == 0 {
            return probe.ok(format_args!("grants log ranges of the whole chain, up to block {head}"));
        }
    }
    probe.ok(format_args!("grants log ranges of {granted} blocks at least"))
}

/// Asks for the logs of the newest block by its hash: some endpoints refuse that.
pub(super) async fn examine_by_hash(probe: &Probe, newest: BlockRef) -> Option<Finding> {
    let error = probe.rpc.logs_by_hash(newest.hash, &no_logs()).await.err()?;
    let RpcError::Refused { message, .. } = &error else { return None };
    let message = format!("does not take `blockHash` in `eth_getLogs`: {message}");
    // It may not have the block any more, or not yet.
    let is_refused = ChainError::from(error).kind == ChainErrorKind::Refused;
    let hint = "new blocks may cost it more requests; another endpoint may take it";
    is_refused.then(|| probe.warning(message, hint))
}

/// A filter that nothing passes.
fn no_logs() -> LogFilter {
    LogFilter { addresses: vec![Address::repeat_byte(0xee)], topics: vec![vec![B256::repeat_byte(0xee)]] }
}

/// Whether it says something about the endpoint, and nothing about the range. What takes
/// too long may well be too large.
const fn is_trouble(error: &RpcError) -> bool {
    matches!(
        error,
        RpcError::Connection { .. }
            | RpcError::RateLimited { .. }
            | RpcError::Status { status: 500..=599, .. }
    )
}

fn limited(probe: &Probe, granted: u64, advice: RangeAdvice) -> Finding {
    let (blocks, words) = match advice {
        RangeAdvice::Blocks(blocks) => (blocks, format!("limits log ranges to {blocks} blocks")),
        RangeAdvice::Range(_) | RangeAdvice::Smaller => {
            (granted, format!("grants log ranges of {granted} blocks, not of {}", granted.max(1) * 10))
        }
    };
    if blocks < SMALL_RANGE {
        return probe
            .warning(words, "history will take many requests; another endpoint or plan may grant more");
    }
    probe.ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_matter_with_an_endpoint_is_no_limit_of_ranges() {
        let place = || "here".to_owned();
        assert!(is_trouble(&RpcError::Status { place: place(), status: 503 }));
        assert!(is_trouble(&RpcError::Connection {
            place: place(),
            reason: String::new(),
            was_connected: true
        }));
        assert!(!is_trouble(&RpcError::Status { place: place(), status: 400 }));
        assert!(!is_trouble(&RpcError::Timeout { place: place(), limit_ms: 1 }));
    }
}
