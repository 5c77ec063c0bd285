//! Integers of 64 bits, which GraphQL's own do not hold.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};

/// An integer from 0 to 2^64 - 1, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Long(pub(crate) u64);

#[Scalar]
impl ScalarType for Long {
    fn parse(value: Value) -> InputValueResult<Self> {
        match &value {
            Value::Number(number) => {
                number.as_u64().map(Self).ok_or_else(|| InputValueError::expected_type(value))
            }
            _ => Err(InputValueError::expected_type(value)),
        }
    }

    fn to_value(&self) -> Value {
        Value::from(self.0)
    }
}
