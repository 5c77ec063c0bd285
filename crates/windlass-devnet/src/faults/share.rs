//! A share of all calls, exact to a millionth.

use std::{fmt, str::FromStr};

const MILLION: u32 = 1_000_000;
const DECIMALS: usize = 6;

/// How often a fault strikes: more than never, at most always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

impl Share {
    /// Every call.
    pub const ALWAYS: Self = Self(MILLION);

    /// So many calls in a million; nothing unless between one and a million.
    pub const fn per_million(calls: u32) -> Option<Self> {
        if calls >= 1 && calls <= MILLION { Some(Self(calls)) } else { None }
    }

    /// Whether a uniform draw falls into the share.
    pub(super) fn strikes(self, draw: u64) -> bool {
        draw % u64::from(MILLION) < u64::from(self.0)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALWAYS {
            return f.write_str("1");
        }
        let digits = format!("{:06}", self.0);
        write!(f, "0.{}", digits.trim_end_matches('0'))
    }
}

/// Reads `1`, or `0.` followed by up to six digits that are not all zero.
impl FromStr for Share {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "1" {
            return Ok(Self::ALWAYS);
        }
        let digits = text.strip_prefix("0.").ok_or(())?;
        let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
        if digits.is_empty() || digits.len() > DECIMALS || !all_digits {
            return Err(());
        }
        let padded: u32 = format!("{digits:0<DECIMALS$}").parse().map_err(|_| ())?;
        Self::per_million(padded).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_decimal_shares() {
        assert_eq!("1".parse(), Ok(Share::ALWAYS));
        assert_eq!("0.1".parse(), Ok(Share(100_000)));
        assert_eq!("0.000001".parse(), Ok(Share(1)));
        for wrong in ["", "0", "0.", "0.0", "2", "1.0", "-0.1", "0.1234567", "0.+1", ".5", "50%"] {
            assert_eq!(wrong.parse::<Share>(), Err(()), "{wrong}");
        }
    }

    #[test]
    fn prints_without_trailing_zeros() {
        assert_eq!(Share(100_000).to_string(), "0.1");
        assert_eq!(Share(1).to_string(), "0.000001");
        assert_eq!(Share::ALWAYS.to_string(), "1");
    }
}
