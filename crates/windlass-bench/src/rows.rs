//! Event rows, made from their number alone: ten a block, like a busy contract's.

use windlass_core::chain::{Address, B256, BlockRef, Bytes, ChainId, U256};
use windlass_core::event::{LogEvent, Topics};

/// How many logs a block has.
const LOGS_PER_BLOCK: u64 = 10;

/// Rows `from` to `from + count`.
pub(crate) fn rows(from: u64, count: u64) -> Vec<LogEvent> {
    (from..from + count).map(row).collect()
}

fn row(number: u64) -> LogEvent {
    let block = number / LOGS_PER_BLOCK;
    let word = |salt: u64| B256::from(U256::from(scatter(number ^ salt)) << 128 | U256::from(number));
    let mut data = vec![0; 64];
    data[24..32].copy_from_slice(&number.to_be_bytes());
    LogEvent {
        chain: ChainId::new(137).expect("a chain id"),
        block: BlockRef { number: block, hash: B256::from(U256::from(scatter(block))) },
        log_index: u32::try_from(number % LOGS_PER_BLOCK).expect("below ten"),
        timestamp_s: 1_700_000_000 + block * 2,
        transaction_hash: word(1),
        address: Address::repeat_byte(0xbd),
        topics: Topics::new(&[word(2), word(3), word(4)]).expect("three"),
        data: Bytes::from(data),
    }
}

/// A number that looks random, so that nothing compresses or sorts by luck.
fn scatter(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb)
}
