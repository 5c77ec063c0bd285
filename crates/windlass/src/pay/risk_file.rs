//! A `risk.json`: limits in base units, a denylist, and how many blocks confirm.

use std::path::Path;

use serde::Deserialize;
use windlass_core::chain::{Address, U256};
use windlass_core::code::Code;
use windlass_core::payout::risk::RiskRules;

use crate::config::address::parse_address;
use crate::failure::Failure;

/// The longest file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// What such a file says. What else is in it is left alone: it holds more than rules.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RiskFile {
    /// How many blocks confirm a payout.
    pub(crate) confirmations: Option<u32>,
    max_per_request: Option<Units>,
    max_daily_total: Option<Units>,
    denylist: Vec<AnyCase>,
}

/// An address in whatever case: such files were compared in lower case.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct AnyCase(Address);

impl TryFrom<String> for AnyCase {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        parse_address(&text.to_lowercase()).map(Self)
    }
}

/// Base units, as a number or as digits in quotes.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "serde_json::Value")]
struct Units(U256);

impl TryFrom<serde_json::Value> for Units {
    type Error = &'static str;
    fn try_from(value: serde_json::Value) -> Result<Self, &'static str> {
        let text = match &value {
            serde_json::Value::Number(number) => number.to_string(),
            serde_json::Value::String(text) => text.clone(),
            _ => String::new(),
        };
        let is_whole = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
        let units = U256::from_str_radix(&text, 10).ok().filter(|_| is_whole);
        units.map(Self).ok_or("a whole number of base units is wanted")
    }
}

impl RiskFile {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |reason: String| {
            Failure::coded(Code::ConfigInvalid, format_args!("cannot use `{}`: {reason}", path.display()))
                .hint("it has `maxPerRequest`, `maxDailyTotal`, `denylist` and `confirmations`; or remove `file` from `[pay.risk]`")
        };
        let size = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?.len();
        if size > MAX_FILE_BYTES {
            return Err(wrong(format!("it is longer than {MAX_FILE_BYTES} bytes")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        // A list would do for a struct, too; here it would be a file of another kind.
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        serde_json::from_value(object.into()).map_err(|error| wrong(error.to_string()))
    }

    /// Adds what the rules do not say themselves; denylists are both in force.
    pub(crate) fn add_to(&self, rules: &mut RiskRules) {
        let limits = &mut rules.limits;
        limits.max_per_request = limits.max_per_request.or(self.max_per_request.map(|units| units.0));
        limits.max_daily_total = limits.max_daily_total.or(self.max_daily_total.map(|units| units.0));
        rules.denylist.extend(self.denylist.iter().map(|address| address.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_references_shape_is_accepted() {
        let text = r#"{"confirmations": 3, "maxPerRequest": "25000000", "maxDailyTotal": 100000000,
            "denylist": ["0x00000000000000000000000000000000000000dE"],
            "demo": {"asset": "USDC", "amount": "1000000"}}"#;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("risk.json");
        std::fs::write(&path, text).expect("written");
        let file = RiskFile::read(&path).expect("accepted");
        let mut rules = RiskRules::default();
        rules.limits.max_daily_total = Some(U256::from(7));
        file.add_to(&mut rules);
        assert_eq!(file.confirmations, Some(3));
        assert_eq!(rules.limits.max_per_request, Some(U256::from(25_000_000)));
        assert_eq!(rules.limits.max_daily_total, Some(U256::from(7)), "what the section says comes first");
        assert_eq!(rules.denylist.len(), 1);
    }

    #[test]
    fn what_is_no_limit_is_told_with_the_file() {
        for text in [r#"{"maxPerRequest": 1.5}"#, r#"{"maxPerRequest": "-1"}"#, "[]", "{"] {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("risk.json");
            std::fs::write(&path, text).expect("written");
            assert!(RiskFile::read(&path).expect_err(text).message.contains("risk.json"));
        }
    }
}
