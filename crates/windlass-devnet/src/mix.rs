//! The one source of made-up numbers: a cheap, stable bijection.
//!
//! Generated chains and drawn faults must be the same in every build and every
//! year, which no random number library promises.

/// The finaliser of splitmix64: every bit of the result depends on every bit given.
pub(crate) fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// Spreads neighbouring numbers far apart before they are mixed.
pub(crate) fn mix_pair(key: u64, number: u64) -> u64 {
    mix(key.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_never_change() {
        assert_eq!(mix_pair(0, 1), 0xe220_a839_7b1d_cdaf);
    }
}
