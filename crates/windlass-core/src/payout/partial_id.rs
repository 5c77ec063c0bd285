//! A payout's id as people give it: whole, or shortened to its beginning or its end.
//!
//! The beginning of an id is the time at which its payout was created, so payouts of one moment
//! share it; the end is random. Both are looked up over an index.

use std::fmt;
use std::str::FromStr;

use super::request::PayoutId;
use super::store::PayoutQuery;

/// The fewest digits of a beginning: they stand for about a minute.
pub const MIN_PREFIX_DIGITS: usize = 8;
/// The fewest digits of an end. Stores have an index over so many.
pub const MIN_SUFFIX_DIGITS: usize = 6;
/// How many digits a whole id has.
const DIGITS: usize = 32;

/// An id, or a part of one. With or without dashes, in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartialId {
    /// The digits as a number.
    number: u128,
    /// How many there are.
    digits: usize,
}

/// The last digits of an id, at least [`MIN_SUFFIX_DIGITS`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdSuffix(String);

/// The text is not a part of an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a payout's id: give it whole, or its first {MIN_PREFIX_DIGITS} or last {MIN_SUFFIX_DIGITS} hexadecimal digits or more"
)]
pub struct PartialIdError(String);

impl FromStr for PartialId {
    type Err = PartialIdError;
    fn from_str(text: &str) -> Result<Self, PartialIdError> {
        let digits = text.replace('-', "").to_ascii_lowercase();
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !is_hex || !(MIN_SUFFIX_DIGITS..=DIGITS).contains(&digits.len()) {
            return Err(PartialIdError(text.chars().take(2 * DIGITS).collect()));
        }
        let number = u128::from_str_radix(&digits, 16);
        let number = number.map_err(|_| PartialIdError(text.chars().take(2 * DIGITS).collect()))?;
        Ok(Self { number, digits: digits.len() })
    }
}

impl fmt::Display for PartialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.whole() {
            Some(id) => id.fmt(f),
            None => f.write_str(&self.text()),
        }
    }
}

impl PartialId {
    /// The id, if all of it was given.
    pub fn whole(&self) -> Option<PayoutId> {
        if self.digits < DIGITS { None } else { self.shifted(0) }
    }

    /// Which payouts begin with it; `None` where it is too short, or whole.
    pub fn prefix_query(&self) -> Option<PayoutQuery> {
        if !(MIN_PREFIX_DIGITS..DIGITS).contains(&self.digits) {
            return None;
        }
        Some(PayoutQuery { from: self.shifted(0), before: self.shifted(1), ..PayoutQuery::default() })
    }

    /// Which payouts end with it; `None` where it is whole.
    pub fn suffix_query(&self) -> Option<PayoutQuery> {
        let suffix = (self.digits < DIGITS).then(|| IdSuffix(self.text()))?;
        Some(PayoutQuery { id_suffix: Some(suffix), ..PayoutQuery::default() })
    }

    /// The least id that begins with these digits, or with so many more than they say. There is
    /// none behind the last.
    fn shifted(&self, more: u128) -> Option<PayoutId> {
        let missing = u32::try_from(4 * (DIGITS - self.digits)).ok()?;
        let bits = self.number.checked_add(more)?.checked_mul(1_u128.checked_shl(missing)?)?;
        Some(PayoutId::from_bits(bits))
    }

    fn text(&self) -> String {
        format!("{:0width$x}", self.number, width = self.digits)
    }
}

impl IdSuffix {
    /// All of its digits.
    pub fn digits(&self) -> &str {
        &self.0
    }

    /// The last [`MIN_SUFFIX_DIGITS`] of them, for the index.
    pub fn indexed(&self) -> &str {
        &self.0[self.0.len() - MIN_SUFFIX_DIGITS..]
    }

    /// Whether an id ends with it.
    pub fn is_end_of(&self, id: PayoutId) -> bool {
        id.to_string().replace('-', "").ends_with(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::time::Timestamp;

    fn partial(text: &str) -> PartialId {
        text.parse().expect("a part of an id")
    }

    proptest! {
        #[test]
        fn an_id_is_within_each_of_its_parts(at in 0_i64..1 << 47, random: u128, other: u128) {
            let id = PayoutId::new(Timestamp::from_ms(at), random);
            let text = id.to_string();
            prop_assert_eq!(partial(&text).whole(), Some(id));
            prop_assert_eq!(partial(&text.replace('-', "").to_uppercase()).whole(), Some(id));
            for end in 8..36 {
                let Some(query) = partial(&text[..end]).prefix_query() else { continue };
                prop_assert!(query.from.is_some_and(|from| from <= id));
                prop_assert!(query.before.is_none_or(|before| id < before));
                let other = PayoutId::new(Timestamp::from_ms(at), other);
                let is_within = query.from.is_some_and(|from| from <= other)
                    && query.before.is_none_or(|before| other < before);
                prop_assert_eq!(is_within, other.to_string().starts_with(&text[..end]));
            }
            for start in 1..30 {
                let suffix = partial(&text[start..]).suffix_query().and_then(|query| query.id_suffix);
                let suffix = suffix.expect("an end");
                prop_assert!(suffix.is_end_of(id) && text.ends_with(suffix.indexed()));
            }
        }
    }

    #[test]
    fn what_is_too_short_or_no_number_is_refused() {
        for bad in ["", "12345", "1-2-3-4-5", "019a9c1g", "…123456", "+1234567", &"1".repeat(33)] {
            assert!(bad.parse::<PartialId>().is_err(), "{bad}");
        }
        assert!(partial("1234567").prefix_query().is_none(), "too many payouts begin like this");
        let last = partial("ffffffff").prefix_query().expect("a beginning");
        assert_eq!(last.before, None, "nothing is behind the last");
    }
}
