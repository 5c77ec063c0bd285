//! Amounts in JSON: digits in quotes, as the API, messages and commands write them. A
//! number would lose digits in many readers, and hexadecimal is for machines.

use serde::{Deserialize, Deserializer, Serializer};

use crate::chain::U256;

pub(crate) fn serialize<S: Serializer>(amount: &U256, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(amount)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<U256, D::Error> {
    let text = String::deserialize(deserializer)?;
    U256::from_str_radix(&text, 10).map_err(serde::de::Error::custom)
}
