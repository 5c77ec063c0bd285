//! A share of something, written like `2%`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// One percent, in parts per million.
const PERCENT_PPM: u32 = 10_000;
/// The most digits behind the point.
const MAX_DECIMALS: usize = 4;

/// From `0%` to `100%`, exact to a part per million.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Percent(u32);

/// The text is not a percentage.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a share from `0%` to `100%` is wanted, such as `2%` or `0.5%`, not `{0}`")]
pub(crate) struct PercentError(String);

impl Percent {
    /// So many whole percent: more than a hundred do not compile.
    pub(crate) const fn of(percent: u32) -> Self {
        assert!(percent <= 100, "more than everything");
        Self(percent * PERCENT_PPM)
    }

    /// In parts per million.
    pub(crate) const fn ppm(self) -> u32 {
        self.0
    }
}

impl FromStr for Percent {
    type Err = PercentError;
    fn from_str(text: &str) -> Result<Self, PercentError> {
        let read = || {
            let number = text.strip_suffix('%')?.trim_end();
            let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
            let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            if !is_number(whole) || !is_number(decimals) || decimals.len() > MAX_DECIMALS {
                return None;
            }
            let decimals: u32 = format!("{decimals:0<MAX_DECIMALS$}").parse().ok()?;
            let ppm = whole.parse::<u32>().ok()?.checked_mul(PERCENT_PPM)?.checked_add(decimals)?;
            (ppm <= Self::of(100).0).then_some(Self(ppm))
        };
        read().ok_or_else(|| PercentError(text.to_owned()))
    }
}

impl TryFrom<String> for Percent {
    type Error = PercentError;
    fn try_from(text: String) -> Result<Self, PercentError> {
        text.parse()
    }
}

impl From<Percent> for String {
    fn from(percent: Percent) -> Self {
        percent.to_string()
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.0 / PERCENT_PPM, self.0 % PERCENT_PPM);
        let decimals = format!("{decimals:04}");
        match decimals.trim_end_matches('0') {
            "" => write!(f, "{whole}%"),
            decimals => write!(f, "{whole}.{decimals}%"),
        }
    }
}

impl JsonSchema for Percent {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Percent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]{1,3}(\\.[0-9]{1,4})?%$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_reads_back_and_is_bounded() {
        for (text, ppm) in [("2%", 20_000), ("0.5%", 5_000), ("100%", 1_000_000), ("0%", 0), ("0.0001%", 1)] {
            let share: Percent = text.parse().expect(text);
            assert_eq!((share.ppm(), share.to_string().as_str()), (ppm, text));
        }
        for text in ["2", "%", "-1%", "101%", "100.1%", "1.23456%", "a%", "1.%"] {
            assert!(text.parse::<Percent>().is_err(), "{text}");
        }
    }
}
