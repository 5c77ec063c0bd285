//! Whether a chain's blooms can be relied on.
//!
//! A header's bloom holds every address and topic of its block's logs. Where that is so, a
//! block whose bloom excludes a filter need not be asked for its logs. Some chains leave
//! logs out of it, or leave it empty, so it is relied on only after all logs of several
//! blocks were compared with it, and never again once a log was seen that it does not have.
//! Even then a block is asked now and then all the same.
//!
//! The head learns from whatever it reads. That a chain has such logs is known besides where
//! the chain is listed for it, or where receipts or two endpoints have proven one: the second
//! look, verification and audits rely on that alone, for an endpoint can make a log up.

use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use windlass_core::bloom::{BloomFit, has_room};
use windlass_core::event::LogEvent;
use windlass_core::reader::{Header, LogFilter};

use super::chain::CollectedChain;
use super::error::CollectError;
use super::ledger;
use super::verify::record::Verified;

/// So many blocks with logs must have had exact blooms.
const PROOFS: u32 = 8;
/// One block in so many is asked although its bloom excludes the filter.
const SAMPLE: u64 = 64;

/// What is known of a chain's blooms. It is kept in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(in crate::collect) struct BloomTrust {
    /// Blocks whose logs give exactly their bloom.
    exact: u32,
    /// Whether a log was seen that its block's bloom does not have.
    is_incomplete: bool,
}

impl CollectedChain {
    /// What is stored of the chain's blooms, whoever found it out.
    pub(in crate::collect) async fn bloom_trust(&self) -> Result<BloomTrust, CollectError> {
        let mut trust: BloomTrust = ledger::read(&*self.store, &self.names.blooms).await?.unwrap_or_default();
        if Verified::read(&*self.store, &self.names.verified).await?.has_logs_outside_blooms {
            self.has_logs_outside_blooms.store(true, Ordering::Relaxed);
        }
        trust.heed(self);
        Ok(trust)
    }
}

impl BloomTrust {
    /// Takes over what is proven of the chain. Says whether that is news.
    pub(in crate::collect) fn heed(&mut self, chain: &CollectedChain) -> bool {
        let is_incomplete = chain.has_logs_outside_blooms.load(Ordering::Relaxed);
        let is_news = is_incomplete && !self.is_incomplete;
        self.is_incomplete |= is_incomplete;
        is_news
    }

    /// Whether they may be relied on.
    pub(in crate::collect) const fn is_proven(&self) -> bool {
        self.exact >= PROOFS && !self.is_incomplete
    }

    /// Whether the chain has logs that its blooms do not have.
    pub(in crate::collect) const fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Whether a block with logs should be compared with its bloom.
    pub(in crate::collect) const fn wants_proof(&self) -> bool {
        self.exact < PROOFS && !self.is_incomplete
    }

    /// Whether a block has to be asked for its logs.
    pub(in crate::collect) fn must_ask(&self, header: &Header, filter: &LogFilter) -> bool {
        !self.is_proven()
            || header.block.number.is_multiple_of(SAMPLE)
            || filter.may_match(&header.logs_bloom)
    }

    /// Learns from logs of a block, whichever they are. Says whether that is news.
    pub(in crate::collect) fn saw(&mut self, header: &Header, logs: &[LogEvent]) -> bool {
        let missing = logs.iter().any(|log| !has_room(&header.logs_bloom, log));
        let is_news = missing && !self.is_incomplete;
        self.is_incomplete |= missing;
        is_news
    }

    /// Learns from all logs of a block. Says whether that is news.
    pub(in crate::collect) fn saw_all(&mut self, header: &Header, logs: &[LogEvent]) -> bool {
        if self.saw(header, logs) {
            return true;
        }
        let is_exact = !logs.is_empty() && BloomFit::of(&header.logs_bloom, logs) == BloomFit::Exact;
        if is_exact && self.wants_proof() {
            self.exact += 1;
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Bloom;
    use windlass_core::chain::{Address, B256, BlockHeader, BlockRef, Bytes, ChainId};
    use windlass_core::event::Topics;

    use super::*;

    fn log(byte: u8) -> LogEvent {
        LogEvent {
            chain: ChainId::new(1).expect("an id"),
            block: BlockRef { number: 1, hash: B256::ZERO },
            log_index: 0,
            timestamp_s: 0,
            transaction_hash: B256::ZERO,
            address: Address::repeat_byte(byte),
            topics: Topics::new(&[B256::repeat_byte(byte)]).expect("few"),
            data: Bytes::new(),
        }
    }

    fn bloom_of(logs: &[LogEvent]) -> Bloom {
        let mut bloom = Bloom::default();
        logs.iter().for_each(|log| bloom.accrue_raw_log(log.address, log.topics.as_slice()));
        bloom
    }

    fn header(logs: &[LogEvent]) -> Header {
        let block = BlockHeader { number: 1, hash: B256::ZERO, parent_hash: B256::ZERO, timestamp_s: 0 };
        Header {
            block,
            logs_bloom: Box::new(bloom_of(logs)),
            receipts_root: B256::ZERO,
            is_hash_proven: false,
        }
    }

    fn filter(byte: u8) -> LogFilter {
        LogFilter { addresses: vec![Address::repeat_byte(byte)], topics: vec![] }
    }

    #[test]
    fn blooms_are_relied_on_after_several_proofs() {
        let (mut trust, logs) = (BloomTrust::default(), [log(1), log(2)]);
        let other = header(&logs);
        for _ in 0..PROOFS {
            assert!(trust.must_ask(&other, &filter(9)), "not proven yet");
            assert!(trust.saw_all(&other, &logs));
        }
        assert!(!trust.must_ask(&other, &filter(9)));
        assert!(trust.must_ask(&other, &filter(1)));
        let sampled = Header { block: BlockHeader { number: SAMPLE, ..other.block }, ..other };
        assert!(trust.must_ask(&sampled, &filter(9)), "asked now and then all the same");
    }

    #[test]
    fn part_of_the_logs_proves_nothing() {
        let (mut trust, logs) = (BloomTrust::default(), [log(1), log(2)]);
        assert!(!trust.saw_all(&header(&logs), &logs[..1]));
        assert!(!trust.saw_all(&header(&[]), &[]));
        assert!(trust.wants_proof() && !trust.is_proven());
    }

    #[test]
    fn one_log_under_a_bloom_without_it_ends_the_trust_for_good() {
        let (mut trust, logs) = (BloomTrust::default(), [log(1)]);
        (0..PROOFS).for_each(|_| assert!(trust.saw_all(&header(&logs), &logs)));
        assert!(trust.is_proven());
        assert!(trust.saw(&header(&[]), &logs), "that is news");
        assert!(!trust.saw(&header(&[]), &logs), "and then it is known");
        assert!(!trust.is_proven() && !trust.wants_proof());
        assert!(trust.must_ask(&header(&[]), &filter(9)));
    }
}
