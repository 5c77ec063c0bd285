//! Whether logs are what was asked for.
//!
//! A provider's answer is put in order and looked through once: every log lies in the
//! span and passes the filter, none comes twice, and no two blocks share a number or a hash.

use std::collections::HashSet;
use std::hash::Hash;

use windlass_core::chain::{Address, B256, BlockRef};
use windlass_core::range::BlockRange;
use windlass_core::reader::{ChainError, ChainErrorKind, LogFilter, LogSpan};

use super::client::EvmRpc;
use super::error::RpcError;
use super::log::RpcLog;

/// Lists up to this length are searched as they are.
const FEW: usize = 8;

/// Puts the logs in order, or says what is wrong with them.
pub(crate) fn check(span: LogSpan, filter: &LogFilter, logs: &mut [RpcLog]) -> Result<(), ChainError> {
    let key = |log: &RpcLog| (log.block.number, log.log_index);
    if !logs.is_sorted_by_key(key) {
        logs.sort_by_key(key);
    }
    let wanted = Wanted::of(filter);
    for log in logs.iter() {
        if !lies_in(span, log) {
            return Err(strange(format_args!("a log of block {}, which was not asked for", log.block)));
        }
        if !wanted.matches(log) {
            return Err(strange(format_args!(
                "log {} of block {}, which the filter excludes",
                log.log_index, log.block
            )));
        }
    }
    let pairs = logs.windows(2).filter(|pair| pair[0].block.number == pair[1].block.number);
    for pair in pairs {
        neighbours(&pair[0], &pair[1])?;
    }
    one_number_per_hash(logs)
}

/// The logs of a range, checked. An answer that makes no sense is a failure like any other: it may
/// be one block of many that is wrong.
pub(crate) async fn range_logs(
    rpc: &EvmRpc,
    range: BlockRange,
    filter: &LogFilter,
) -> Result<Vec<RpcLog>, RpcError> {
    let mut logs = rpc.logs(range, filter).await?;
    check(LogSpan::Range(range), filter, &mut logs).map_err(|error| rpc.malformed("eth_getLogs", &error))?;
    Ok(logs)
}

/// A log that was moved to another number leaves its own block short, and nothing else shows it.
fn one_number_per_hash(logs: &[RpcLog]) -> Result<(), ChainError> {
    let mut blocks: Vec<BlockRef> = logs
        .chunk_by(|one, next| one.block.number == next.block.number)
        .map(|block| block[0].block)
        .collect();
    blocks.sort_unstable_by_key(|block| block.hash);
    match blocks.windows(2).find(|pair| pair[0].hash == pair[1].hash) {
        Some(pair) => {
            let (one, other) = (pair[0].number.min(pair[1].number), pair[0].number.max(pair[1].number));
            Err(strange(format_args!("block {} as number {one} and {other}", pair[0].hash)))
        }
        None => Ok(()),
    }
}

fn neighbours(one: &RpcLog, next: &RpcLog) -> Result<(), ChainError> {
    let BlockRef { number, hash } = one.block;
    if next.block.hash != hash {
        return Err(strange(format_args!("logs of two blocks {number}: {hash} and {}", next.block.hash)));
    }
    if next.log_index == one.log_index {
        return Err(strange(format_args!("log {} of block {} twice", one.log_index, one.block)));
    }
    Ok(())
}

fn lies_in(span: LogSpan, log: &RpcLog) -> bool {
    match span {
        LogSpan::Block(block) => log.block == block,
        LogSpan::Range(blocks) | LogSpan::RangeOnChain { blocks, .. } => blocks.contains(log.block.number),
    }
}

fn strange(what: std::fmt::Arguments<'_>) -> ChainError {
    ChainError::new(ChainErrorKind::Malformed, format!("it sent {what}"))
}

/// A filter, made fast to ask.
struct Wanted<'a> {
    addresses: OneOf<'a, Address>,
    topics: Vec<OneOf<'a, B256>>,
}

impl<'a> Wanted<'a> {
    fn of(filter: &'a LogFilter) -> Self {
        let topics = filter.topics.iter().map(|values| OneOf::new(values)).collect();
        Self { addresses: OneOf::new(&filter.addresses), topics }
    }

    fn matches(&self, log: &RpcLog) -> bool {
        let topics = log.topics.as_slice();
        self.addresses.has(&log.address)
            && self.topics.len() <= topics.len()
            && self.topics.iter().zip(topics).all(|(wanted, topic)| wanted.has(topic))
    }
}

/// Values of which one is wanted, any when there are none.
enum OneOf<'a, T> {
    Few(&'a [T]),
    Many(HashSet<&'a T>),
}

impl<'a, T: Eq + Hash> OneOf<'a, T> {
    fn new(values: &'a [T]) -> Self {
        if values.len() <= FEW { Self::Few(values) } else { Self::Many(values.iter().collect()) }
    }

    fn has(&self, value: &T) -> bool {
        match self {
            Self::Few(values) => values.is_empty() || values.contains(value),
            Self::Many(values) => values.contains(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windlass_core::chain::{Bytes, ChainId};
    use windlass_core::event::Topics;

    use super::*;

    fn log(number: u64, fork: u8, log_index: u32) -> RpcLog {
        RpcLog {
            block: BlockRef { number, hash: B256::from([number as u8 + fork; 32]) },
            log_index,
            timestamp_s: None,
            transaction_hash: B256::ZERO,
            address: Address::repeat_byte(1),
            topics: Topics::new(&[B256::repeat_byte(2)]).expect("few"),
            data: Bytes::new(),
        }
    }

    const RANGE: LogSpan = LogSpan::Range(BlockRange { from: 5, to: 9 });

    fn complaint(filter: &LogFilter, mut logs: Vec<RpcLog>) -> String {
        let error = check(RANGE, filter, &mut logs).expect_err("something is wrong");
        assert_eq!(error.kind, ChainErrorKind::Malformed);
        error.message
    }

    #[test]
    fn logs_are_put_in_order() {
        let mut logs = vec![log(9, 0, 0), log(5, 0, 7), log(5, 0, 3)];
        check(RANGE, &LogFilter::default(), &mut logs).expect("nothing wrong");
        assert_eq!(logs, [log(5, 0, 3), log(5, 0, 7), log(9, 0, 0)]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let all = LogFilter::default();
        assert!(complaint(&all, vec![log(5, 0, 0), log(10, 0, 0)]).contains("not asked for"));
        assert!(complaint(&all, vec![log(5, 0, 1), log(6, 0, 1), log(5, 0, 1)]).ends_with("twice"));
        assert!(complaint(&all, vec![log(5, 0, 1), log(5, 1, 2)]).contains("two blocks 5"));
        let moved = RpcLog { block: BlockRef { number: 8, ..log(6, 0, 0).block }, ..log(6, 0, 2) };
        assert!(complaint(&all, vec![log(6, 0, 1), log(7, 0, 0), moved]).ends_with("as number 6 and 8"));
        let other = LogFilter { addresses: vec![Address::repeat_byte(9)], topics: vec![] };
        assert!(complaint(&other, vec![log(5, 0, 1)]).ends_with("the filter excludes"));
    }

    #[test]
    fn an_answer_by_hash_is_of_that_block_and_no_other() {
        let (all, block) = (LogFilter::default(), log(6, 0, 0).block);
        let judged = |mut logs: Vec<RpcLog>| check(LogSpan::Block(block), &all, &mut logs);
        assert_eq!(judged(vec![log(6, 0, 1), log(6, 0, 0)]), Ok(()));
        assert!(judged(vec![log(6, 1, 0)]).is_err(), "another hash");
        let renumbered = RpcLog { block: BlockRef { number: 7, ..block }, ..log(6, 0, 0) };
        let error = judged(vec![log(6, 0, 1), renumbered]).expect_err("another number");
        assert_eq!(error.kind, ChainErrorKind::Malformed);
        assert!(error.message.contains("not asked for"), "{error}");
        assert!(judged(vec![log(6, 0, 1), log(6, 0, 1)]).is_err(), "one log twice");
    }

    proptest! {
        /// The core says what a filter means.
        #[test]
        fn a_filter_means_the_same_as_in_the_core(
            addresses in proptest::collection::vec(0_u8..12, 0..12),
            topics in proptest::collection::vec(proptest::collection::vec(0_u8..12, 0..12), 0..4),
            address in 0_u8..12,
            words in proptest::collection::vec(0_u8..12, 0..4),
        ) {
            let word = |byte: &u8| B256::repeat_byte(*byte);
            let filter = LogFilter {
                addresses: addresses.iter().map(|byte| Address::repeat_byte(*byte)).collect(),
                topics: topics.iter().map(|values| values.iter().map(word).collect()).collect(),
            };
            let words: Vec<B256> = words.iter().map(word).collect();
            let mut one = log(5, 0, 0);
            one.address = Address::repeat_byte(address);
            one.topics = Topics::new(&words).expect("few");
            let event = one.clone().into_event(ChainId::new(1).expect("an id"), 0);
            prop_assert_eq!(Wanted::of(&filter).matches(&one), filter.matches(&event));
        }
    }
}
