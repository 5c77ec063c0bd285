//! Whole numbers within bounds.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A whole number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "u64")]
pub(crate) struct Number<const MIN: u64, const MAX: u64>(u64);

/// The number is outside its bounds.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a whole number from {min} to {max} is wanted, not {found}")]
pub(crate) struct NumberError {
    min: u64,
    max: u64,
    found: i64,
}

impl<const MIN: u64, const MAX: u64> Number<MIN, MAX> {
    /// A default: one that does not fit does not compile.
    pub(crate) const fn of(number: u64) -> Self {
        assert!(MIN <= number && number <= MAX, "the number is outside its bounds");
        Self(number)
    }

    /// The number.
    pub(crate) const fn get(self) -> u64 {
        self.0
    }
}

impl<const MIN: u64, const MAX: u64> TryFrom<i64> for Number<MIN, MAX> {
    type Error = NumberError;
    fn try_from(found: i64) -> Result<Self, NumberError> {
        match u64::try_from(found) {
            Ok(number) if (MIN..=MAX).contains(&number) => Ok(Self(number)),
            _ => Err(NumberError { min: MIN, max: MAX, found }),
        }
    }
}

impl<const MIN: u64, const MAX: u64> From<Number<MIN, MAX>> for u64 {
    fn from(number: Number<MIN, MAX>) -> Self {
        number.0
    }
}

impl<const MIN: u64, const MAX: u64> JsonSchema for Number<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Number{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_within_the_bounds_is_taken() {
        for (number, fits) in [(0, false), (1, true), (64, true), (65, false), (-1, false), (i64::MIN, false)]
        {
            assert_eq!(Number::<1, 64>::try_from(number).is_ok(), fits, "{number}");
        }
        let told = Number::<1, 64>::try_from(0).expect_err("too small").to_string();
        assert_eq!(told, "a whole number from 1 to 64 is wanted, not 0");
    }
}
