//! What a header's bloom says about logs.

use alloy_primitives::{Bloom, BloomInput};

use crate::event::LogEvent;

/// How all logs of a block, as an endpoint has them, fit the bloom in its header, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BloomFit {
    /// They give exactly this bloom.
    Exact,
    /// They give more: some chains have logs outside their blooms.
    Wider,
    /// They give less: logs are missing.
    Lacking,
}

impl BloomFit {
    /// Compares logs with a bloom.
    pub fn of(bloom: &Bloom, logs: &[LogEvent]) -> Self {
        let mut given = Bloom::default();
        for log in logs {
            given.accrue_raw_log(log.address, log.topics.as_slice());
        }
        match given {
            given if given == *bloom => Self::Exact,
            given if given.contains(bloom) => Self::Wider,
            _ => Self::Lacking,
        }
    }
}

/// Whether a bloom has room for a log.
pub fn has_room(bloom: &Bloom, log: &LogEvent) -> bool {
    let may_have = |value: &[u8]| bloom.contains_input(BloomInput::Raw(value));
    may_have(&log.address[..]) && log.topics.as_slice().iter().all(|topic| may_have(&topic[..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Address, B256, BlockRef, Bytes, ChainId};
    use crate::event::Topics;

    fn log(address: u8, topic: u8) -> LogEvent {
        LogEvent {
            chain: ChainId::new(1).expect("an id"),
            block: BlockRef { number: 1, hash: B256::ZERO },
            log_index: 0,
            timestamp_s: 0,
            transaction_hash: B256::ZERO,
            address: Address::repeat_byte(address),
            topics: Topics::new(&[B256::repeat_byte(topic)]).expect("few"),
            data: Bytes::new(),
        }
    }

    #[test]
    fn logs_fit_a_bloom_exactly_or_are_more_or_less() {
        let all = [log(1, 2), log(3, 4)];
        let mut bloom = Bloom::default();
        for log in &all {
            bloom.accrue_raw_log(log.address, log.topics.as_slice());
        }
        assert_eq!(BloomFit::of(&bloom, &all), BloomFit::Exact);
        assert_eq!(BloomFit::of(&bloom, &all[..1]), BloomFit::Lacking);
        assert_eq!(BloomFit::of(&bloom, &[]), BloomFit::Lacking);
        assert_eq!(BloomFit::of(&bloom, &[log(1, 2), log(3, 4), log(5, 6)]), BloomFit::Wider);
        assert_eq!(BloomFit::of(&Bloom::default(), &all), BloomFit::Wider, "logs under an empty bloom");
        assert!(has_room(&bloom, &all[0]) && !has_room(&bloom, &log(7, 2)) && !has_room(&bloom, &log(1, 9)));
    }
}
