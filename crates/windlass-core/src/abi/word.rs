//! Values of one word, and how they are checked.
//!
//! A word has to be what a contract would write for its type: an `address` with
//! anything above its 20 bytes, a `bool` that is neither 0 nor 1, a number out of its
//! type's range are refused, as Solidity's own decoder refuses them.

use std::fmt::Write;

use alloy_primitives::{Address, Bytes, I256, U256, hex};

use super::kind::WordType;
use crate::table::Value;

/// Bytes of a word.
pub(super) const WORD_BYTES: usize = 32;

/// 32 bytes of a topic or of data.
pub(super) type Word = [u8; WORD_BYTES];

const ADDRESS_START: usize = 12;
const FUNCTION_BYTES: usize = 24;

impl WordType {
    /// The value of a word; `None` when it is no value of this type.
    #[inline]
    pub(super) fn value(self, word: &Word) -> Option<Value> {
        if !self.accepts(word) {
            return None;
        }
        Some(match self {
            Self::Bool => Value::Bool(word[WORD_BYTES - 1] == 1),
            Self::Address => Value::Address(Address::from_slice(&word[ADDRESS_START..])),
            Self::Uint(bits) if bits <= 56 => Value::Integer(low_bits(word)),
            Self::Uint(_) => Value::Uint(U256::from_be_bytes(*word)),
            Self::Int(bits) if bits <= 64 => Value::Integer(low_bits(word)),
            Self::Int(_) => Value::Int(I256::from_raw(U256::from_be_bytes(*word))),
            Self::Bytes(len) => Value::Bytes(Bytes::copy_from_slice(&word[..usize::from(len)])),
            Self::Function => Value::Bytes(Bytes::copy_from_slice(&word[..FUNCTION_BYTES])),
        })
    }

    /// Writes the value of a word as JSON; `None` when it is no value of this type.
    pub(super) fn json(self, word: &Word, json: &mut String) -> Option<()> {
        if !self.accepts(word) {
            return None;
        }
        let whole = U256::from_be_bytes(*word);
        let written = match self {
            Self::Bool => write!(json, "{}", word[WORD_BYTES - 1] == 1),
            Self::Address => write!(json, "\"{}\"", Address::from_slice(&word[ADDRESS_START..])),
            Self::Uint(_) => write!(json, "\"{whole}\""),
            Self::Int(_) => write!(json, "\"{}\"", I256::from_raw(whole)),
            Self::Bytes(len) => write!(json, "\"{}\"", hex::encode_prefixed(&word[..usize::from(len)])),
            Self::Function => write!(json, "\"{}\"", hex::encode_prefixed(&word[..FUNCTION_BYTES])),
        };
        written.ok()
    }

    #[inline]
    fn accepts(self, word: &Word) -> bool {
        let all = |bytes: &[u8], byte: u8| bytes.iter().all(|found| *found == byte);
        match self {
            Self::Bool => all(&word[..WORD_BYTES - 1], 0) && word[WORD_BYTES - 1] <= 1,
            Self::Address => all(&word[..ADDRESS_START], 0),
            Self::Uint(bits) => all(&word[..unused(bits)], 0),
            Self::Int(bits) => {
                let start = unused(bits);
                let sign = if word[start] & 0x80 == 0 { 0x00 } else { 0xff };
                all(&word[..start], sign)
            }
            Self::Bytes(len) => all(&word[usize::from(len)..], 0),
            Self::Function => all(&word[FUNCTION_BYTES..], 0),
        }
    }
}

/// The bytes before those that a number of so many bits has.
#[inline]
const fn unused(bits: u16) -> usize {
    WORD_BYTES - (bits / 8) as usize
}

#[inline]
fn low_bits(word: &Word) -> i64 {
    let mut low = [0; 8];
    low.copy_from_slice(&word[WORD_BYTES - 8..]);
    i64::from_be_bytes(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(hex: &str) -> Word {
        let mut word = [0; WORD_BYTES];
        let bytes = hex::decode(hex).expect("hex");
        word[WORD_BYTES - bytes.len()..].copy_from_slice(&bytes);
        word
    }

    #[test]
    fn values_are_read_to_their_bounds() {
        let all = [0xff; WORD_BYTES];
        assert_eq!(WordType::Uint(8).value(&word("ff")), Some(Value::Integer(255)));
        assert_eq!(WordType::Uint(56).value(&word("ffffffffffffff")), Some(Value::Integer((1 << 56) - 1)));
        assert_eq!(
            WordType::Uint(64).value(&word("ffffffffffffffff")),
            Some(Value::Uint(U256::from(u64::MAX)))
        );
        assert_eq!(WordType::Uint(256).value(&all), Some(Value::Uint(U256::MAX)));
        assert_eq!(WordType::Int(64).value(&all), Some(Value::Integer(-1)));
        assert_eq!(WordType::Int(8).value(&word("7f")), Some(Value::Integer(127)));
        assert_eq!(WordType::Int(256).value(&all), Some(Value::Int(I256::MINUS_ONE)));
        assert_eq!(WordType::Bool.value(&word("01")), Some(Value::Bool(true)));
    }

    #[test]
    fn what_no_contract_writes_is_refused() {
        let address = "00000000000000000000000100000000000000000000000000000000000000ff";
        for (ty, hex) in [
            (WordType::Bool, "02"),
            (WordType::Bool, "0100"),
            (WordType::Address, address),
            (WordType::Uint(8), "0100"),
            (WordType::Int(8), "80"),
            (WordType::Int(64), "8000000000000000"),
            (WordType::Bytes(31), "01"),
            (WordType::Function, "01"),
        ] {
            assert_eq!(ty.value(&word(hex)), None, "{ty} {hex}");
            assert_eq!(ty.json(&word(hex), &mut String::new()), None, "{ty} {hex}");
        }
    }

    #[test]
    fn json_is_exact_and_checksummed() {
        let json = |ty: WordType, word: &Word| {
            let mut json = String::new();
            ty.json(word, &mut json).map(|()| json)
        };
        let fee_collector = word("bd6c7b0d2f68c2b7805d88388319cfb6ecb50ea9");
        assert_eq!(
            json(WordType::Address, &fee_collector).as_deref(),
            Some("\"0xbD6C7B0d2f68c2b7805d88388319cfB6EcB50eA9\"")
        );
        assert_eq!(json(WordType::Uint(8), &word("07")).as_deref(), Some("\"7\""));
        assert_eq!(json(WordType::Int(16), &[0xff; 32]).as_deref(), Some("\"-1\""));
        assert_eq!(json(WordType::Bool, &word("00")).as_deref(), Some("false"));
    }
}
