//! Error codes and messages that no client can have listed.
//!
//! The words are made of letters that none of the usual ones can be made of: there is
//! no `r` for "rate" and "range", no `l` for "limit" and "block", no `t` for "too many".

use crate::{mix::mix, node::RpcError};

const CONSONANTS: &[u8] = b"bdfgkpvz";
const VOWELS: &[u8] = b"aou";
/// The least and the most words of a message.
const WORDS: (u64, u64) = (3, 8);
/// The least and the most syllables of a word.
const SYLLABLES: (u64, u64) = (1, 4);
/// Codes have this magnitude or more: above every HTTP status and every provider's own small codes.
const LEAST_CODE: i64 = 1_000;
/// And less than this: JSON-RPC's own codes begin at 32,000.
const CODES: u64 = 30_000;

/// An error that is the same for the same number.
pub(super) fn error(number: u64) -> RpcError {
    let mut draws = Draws(number);
    let magnitude = LEAST_CODE + i64::try_from(draws.below(CODES)).unwrap_or(0);
    let code = if draws.below(2) == 0 { magnitude } else { -magnitude };
    let words: Vec<String> = (0..draws.between(WORDS)).map(|_| draws.word()).collect();
    RpcError::new(code, words.join(" "))
}

/// A sequence of made-up numbers.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn between(&mut self, (least, most): (u64, u64)) -> u64 {
        least + self.below(most - least + 1)
    }

    fn letter(&mut self, letters: &[u8]) -> char {
        letters[self.below(letters.len() as u64) as usize].into()
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        for _ in 0..self.between(SYLLABLES) {
            word.push(self.letter(CONSONANTS));
            word.push(self.letter(VOWELS));
        }
        word
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// What clients look for in the words of a refusal.
    const KNOWN: [&str; 24] = [
        "rate", "limit", "range", "block", "too", "many", "large", "wide", "big", "exceed", "result", "size",
        "time", "log", "quota", "capacity", "request", "throttl", "busy", "retry", "slow", "support", "tier",
        "429",
    ];

    #[test]
    fn no_known_word_and_no_known_code() {
        for number in 0..20_000 {
            let error = error(number);
            let met = KNOWN.iter().find(|known| error.message.contains(**known));
            assert!(met.is_none(), "{error}");
            assert!((1_000..32_000).contains(&error.code.abs()), "{error}");
        }
    }

    #[test]
    fn every_number_has_its_own_words_and_keeps_them() {
        let messages: BTreeSet<String> = (0..1_000).map(|number| error(number).message).collect();
        assert!(messages.len() > 990, "{}", messages.len());
        assert_eq!(error(7), error(7));
    }
}
