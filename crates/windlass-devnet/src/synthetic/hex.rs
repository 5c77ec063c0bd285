//! Hexadecimal digits without a loop: eight nibbles of a word at once.

/// The sixteen lower-case digits of a word, leading zeros included.
pub(super) fn digits(word: u64) -> [u8; 16] {
    let mut text = [0; 16];
    text[..8].copy_from_slice(&eight_digits((word >> 32) as u32).to_be_bytes());
    text[8..].copy_from_slice(&eight_digits(word as u32).to_be_bytes());
    text
}

/// How many digits a JSON-RPC quantity has: no leading zeros, but at least one digit.
pub(super) fn quantity_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(4)
}

/// Spreads 32 bits to one nibble a byte, then turns each nibble into its letter.
fn eight_digits(word: u32) -> u64 {
    let mut nibbles = u64::from(word);
    nibbles = (nibbles | nibbles << 16) & 0x0000_ffff_0000_ffff;
    nibbles = (nibbles | nibbles << 8) & 0x00ff_00ff_00ff_00ff;
    nibbles = (nibbles | nibbles << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // A nibble above nine carries into its upper half when six is added.
    let letters = ((nibbles + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
    nibbles + 0x3030_3030_3030_3030 + letters * u64::from(b'a' - b'0' - 10)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn digits_agree_with_the_standard_library(word: u64) {
            prop_assert_eq!(String::from_utf8(digits(word).to_vec()).unwrap(), format!("{word:016x}"));
        }

        #[test]
        fn quantities_are_as_long_as_the_standard_library_writes_them(word: u64, shift in 0u32..64) {
            let value = word >> shift;
            prop_assert_eq!(quantity_len(value), format!("{value:x}").len());
        }
    }

    #[test]
    fn zero_has_one_digit() {
        assert_eq!(quantity_len(0), 1);
    }
}
