//! Which filters share a lesson.
//!
//! A filter with few addresses is known by all it says. One with many, as of a factory
//! whose children grow by the hour, is known by its topics and how many there are about:
//! one child more must not mean to start over.

use alloy_primitives::Keccak256;
use windlass_core::reader::LogFilter;

/// Longer lists of addresses are known by about how long they are.
const MAX_KNOWN_ADDRESSES: usize = 16;

/// Stands for a filter; the same in every process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    pub(super) fn of(filter: &LogFilter) -> Self {
        let mut hasher = Keccak256::new();
        let count = filter.addresses.len();
        if count <= MAX_KNOWN_ADDRESSES {
            hash_sorted(&mut hasher, &filter.addresses);
        } else {
            hasher.update([b'~', count.ilog2() as u8]);
        }
        for values in &filter.topics {
            hash_sorted(&mut hasher, values);
        }
        let [a, b, c, d, e, f, g, h, ..] = hasher.finalize().0;
        Self(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        u64::from_str_radix(text, 16).ok().filter(|_| text.len() == 16).map(Self)
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The order of a list means nothing.
fn hash_sorted<T: AsRef<[u8]> + Ord + Copy>(hasher: &mut Keccak256, values: &[T]) {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    hasher.update((sorted.len() as u64).to_be_bytes());
    sorted.iter().for_each(|value| hasher.update(value));
}

#[cfg(test)]
mod tests {
    use windlass_core::chain::{Address, B256};

    use super::*;

    fn filter(addresses: u8, topics: &[&[u8]]) -> LogFilter {
        LogFilter {
            addresses: (0..addresses).map(Address::repeat_byte).collect(),
            topics: topics
                .iter()
                .map(|values| values.iter().map(|byte| B256::repeat_byte(*byte)).collect())
                .collect(),
        }
    }

    #[test]
    fn what_a_filter_means_is_what_it_is_known_by() {
        let one = Fingerprint::of(&filter(2, &[&[1, 2]]));
        assert_eq!(one, Fingerprint::of(&filter(2, &[&[2, 1]])));
        for other in [filter(1, &[&[1, 2]]), filter(2, &[&[1]]), filter(2, &[&[], &[1, 2]]), filter(2, &[])] {
            assert_ne!(one, Fingerprint::of(&other), "{other:?}");
        }
        assert_eq!(Fingerprint::parse(&one.to_string()), Some(one));
        assert_eq!(Fingerprint::parse("12"), None);
    }

    #[test]
    fn one_child_more_is_the_same_factory() {
        assert_eq!(Fingerprint::of(&filter(40, &[])), Fingerprint::of(&filter(41, &[])));
        assert_ne!(Fingerprint::of(&filter(40, &[])), Fingerprint::of(&filter(80, &[])));
        assert_ne!(Fingerprint::of(&filter(40, &[])), Fingerprint::of(&filter(40, &[&[1]])));
    }
}
