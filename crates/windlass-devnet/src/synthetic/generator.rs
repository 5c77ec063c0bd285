//! The chain as pure functions: from a number to a hash, a log, a time, and back.
//!
//! Nothing here allocates or remembers. A hash carries its block number, masked,
//! in its last eight bytes, which is how a block is found by its hash.

use std::ops::Range;

use alloy_primitives::{Address, B256, U256};

use super::fork::{Key, Keys};
use super::options::{Density, SyntheticOptions};
use crate::mix::{mix, mix_pair};

/// How many tokens the generated logs speak of.
pub(super) const TOKENS: usize = 64;
/// How many integrators the generated logs speak of.
pub(super) const INTEGRATORS: usize = 256;

/// One generated log as plain fields, to compare with what came over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntheticLog {
    /// The block that holds the log.
    pub block_number: u64,
    /// The hash of that block.
    pub block_hash: B256,
    /// The time of that block, in seconds since 1970.
    pub block_time_s: u64,
    /// The transaction that emitted the log.
    pub transaction_hash: B256,
    /// The transaction's place in the block.
    pub transaction_index: u64,
    /// The log's place in the block.
    pub log_index: u64,
    /// The emitting contract.
    pub address: Address,
    /// The first indexed argument.
    pub token: Address,
    /// The second indexed argument.
    pub integrator: Address,
    /// The first amount.
    pub integrator_fee: U256,
    /// The second amount.
    pub lifi_fee: U256,
}

/// What differs from log to log, in the form in which it is cheapest to write.
pub(super) struct RawLog {
    pub(super) token: usize,
    pub(super) integrator: usize,
    pub(super) integrator_fee: u128,
    pub(super) lifi_fee: u128,
    pub(super) transaction_hash: [u64; 4],
}

/// Where a log stands: its block, and its place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) block: u64,
    pub(super) index: u64,
}

/// Computes everything there is to know about the chain, except its length.
#[derive(Debug)]
pub(super) struct Generator {
    pub(super) contract: Address,
    pub(super) tokens: Vec<Address>,
    pub(super) integrators: Vec<Address>,
    density: Density,
    genesis_time_s: u64,
    block_time_ms: u64,
    keys: Keys,
}

impl Generator {
    pub(super) fn new(options: &SyntheticOptions) -> Self {
        let key = |purpose: u64| mix(mix(options.seed).wrapping_add(purpose));
        let addresses = |purpose: u64, count: usize| {
            (0..count as u64).map(|i| made_up_address(key(purpose) ^ i)).collect()
        };
        Self {
            contract: options.contract,
            tokens: addresses(1, TOKENS),
            integrators: addresses(2, INTEGRATORS),
            density: options.density,
            genesis_time_s: options.genesis_time_s,
            block_time_ms: options.block_time_ms,
            keys: Keys::new(Key { block: key(3), log: key(4) }, &options.forks),
        }
    }

    /// The words of a block's hash; the last one is the masked number.
    pub(super) fn block_hash(&self, number: u64) -> [u64; 4] {
        words(self.keys.of(|| number).block, number)
    }

    /// The block that has this hash, if any block of any height has: those of branches
    /// that were replaced are forgotten.
    pub(super) fn block_of(&self, hash: B256) -> Option<u64> {
        let last = hash.0.last_chunk::<8>().expect("a hash has 32 bytes");
        let mut numbers = self.keys.all().map(|key| u64::from_be_bytes(*last) ^ key.block);
        numbers.find(|number| to_hash(self.block_hash(*number)) == hash)
    }

    pub(super) fn block_time_s(&self, number: u64) -> u64 {
        self.genesis_time_s.saturating_add(number.saturating_mul(self.block_time_ms) / 1_000)
    }

    /// The logs, counted from the chain's first one, that blocks `from..=to` hold.
    pub(super) fn logs_between(&self, from: u64, to: u64) -> Range<u64> {
        let end = self.logs_up_to(to);
        let start = from.checked_sub(1).map_or(0, |before| self.logs_up_to(before));
        start..end.max(start)
    }

    /// Where the log with this number stands.
    pub(super) fn place(&self, log: u64) -> Place {
        match self.density {
            Density::PerBlock(count) => {
                let count = u64::from(count.max(1));
                Place { block: 1 + log / count, index: log % count }
            }
            Density::EveryBlocks(step) => Place { block: (log + 1) * step.max(1), index: 0 },
        }
    }

    /// The place after this one, without a division.
    pub(super) fn next(&self, place: Place) -> Place {
        match self.density {
            Density::PerBlock(count) if place.index + 1 < u64::from(count) => {
                Place { block: place.block, index: place.index + 1 }
            }
            Density::PerBlock(_) => Place { block: place.block + 1, index: 0 },
            Density::EveryBlocks(step) => Place { block: place.block + step.max(1), index: 0 },
        }
    }

    /// The varying part of a log.
    pub(super) fn raw(&self, log: u64) -> RawLog {
        let transaction_hash = words(self.keys.of(|| self.place(log).block).log, log);
        let choice = transaction_hash[0];
        let high = mix(choice.wrapping_add(4));
        let amount = |high: u64, low: u64| u128::from(high as u32) << 64 | u128::from(low);
        RawLog {
            token: choice as usize % TOKENS,
            integrator: (choice >> 32) as usize % INTEGRATORS,
            integrator_fee: amount(high, mix(choice.wrapping_add(5))),
            lifi_fee: amount(high >> 32, mix(choice.wrapping_add(6))),
            transaction_hash,
        }
    }

    /// The whole log, as plain fields.
    pub(super) fn log(&self, log: u64) -> SyntheticLog {
        let (raw, place) = (self.raw(log), self.place(log));
        SyntheticLog {
            block_number: place.block,
            block_hash: to_hash(self.block_hash(place.block)),
            block_time_s: self.block_time_s(place.block),
            transaction_hash: to_hash(raw.transaction_hash),
            transaction_index: place.index,
            log_index: place.index,
            address: self.contract,
            token: self.tokens[raw.token],
            integrator: self.integrators[raw.integrator],
            integrator_fee: U256::from(raw.integrator_fee),
            lifi_fee: U256::from(raw.lifi_fee),
        }
    }

    fn logs_up_to(&self, block: u64) -> u64 {
        match self.density {
            Density::PerBlock(count) => block.saturating_mul(u64::from(count)),
            Density::EveryBlocks(step) => block / step.max(1),
        }
    }
}

/// Puts the words of a hash into bytes.
pub(super) fn to_hash(words: [u64; 4]) -> B256 {
    let mut bytes = [0; 32];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_be_bytes());
    }
    B256::new(bytes)
}

/// Three well-mixed words and the number itself, masked: distinct for distinct numbers.
fn words(key: u64, number: u64) -> [u64; 4] {
    let first = mix_pair(key, number);
    [first, mix(first.wrapping_add(1)), mix(first.wrapping_add(2)), number ^ key]
}

fn made_up_address(key: u64) -> Address {
    Address::from_word(to_hash([0, mix(key), mix(key ^ 1 << 62), mix(key ^ 1 << 63)]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn generator(density: Density) -> Generator {
        Generator::new(&SyntheticOptions { density, ..SyntheticOptions::default() })
    }

    proptest! {
        #[test]
        fn a_block_is_found_by_its_hash(number: u64, flip in 0usize..256) {
            let generator = generator(Density::PerBlock(1));
            let hash = to_hash(generator.block_hash(number));
            prop_assert_eq!(generator.block_of(hash), Some(number));
            let mut other = hash;
            other.0[flip / 8] ^= 1 << (flip % 8);
            prop_assert_eq!(generator.block_of(other), None);
        }

        #[test]
        fn a_block_of_any_branch_is_found_by_its_hash(number in 0u64..200, forks in prop::collection::vec(0u64..200, 0..5)) {
            let options = forks.iter().fold(SyntheticOptions::default(), |options, from| options.forked(*from));
            let generator = Generator::new(&options);
            prop_assert_eq!(generator.block_of(to_hash(generator.block_hash(number))), Some(number));
        }

        #[test]
        fn places_and_ranges_agree(dense: bool, step in 1u32..40, log in 0u64..100_000) {
            let density = if dense { Density::PerBlock(step) } else { Density::EveryBlocks(step.into()) };
            let generator = generator(density);
            let place = generator.place(log);
            prop_assert!(generator.logs_between(place.block, place.block).contains(&log));
            prop_assert!(!generator.logs_between(0, place.block - 1).contains(&log));
            prop_assert_eq!(generator.next(place), generator.place(log + 1));
        }
    }

    #[test]
    fn no_density_means_no_logs() {
        assert!(generator(Density::PerBlock(0)).logs_between(0, u64::MAX).is_empty());
    }

    #[test]
    fn another_seed_is_another_chain() {
        let other = Generator::new(&SyntheticOptions { seed: 2, ..SyntheticOptions::default() });
        let one = generator(Density::PerBlock(1));
        assert_ne!(one.block_hash(7), other.block_hash(7));
        assert_ne!(one.log(7), other.log(7));
        assert_eq!(one.log(7), generator(Density::PerBlock(1)).log(7));
    }
}
