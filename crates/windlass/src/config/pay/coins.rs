//! An amount of a chain's own coin, written in whole coins like `"0.05"`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use windlass_core::chain::{ChainId, U256};
use windlass_core::money::{Amount, Token};

/// The decimals of a chain's own coin.
const DECIMALS: u8 = 18;

/// So many coins, exact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Coins {
    text: String,
    wei: U256,
}

impl Coins {
    /// The amount in wei.
    pub(crate) const fn wei(&self) -> U256 {
        self.wei
    }
}

impl TryFrom<String> for Coins {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let chain = ChainId::new(1).map_err(|error| error.to_string())?;
        let coin = Token { chain, contract: None, symbol: "coins".to_owned(), decimals: DECIMALS };
        match Amount::parse(&text, coin) {
            Ok(amount) => Ok(Self { text, wei: amount.units }),
            Err(_) => Err(format!("an amount of the chain's coin is written like `\"0.05\"`, not `{text}`")),
        }
    }
}

impl From<Coins> for String {
    fn from(coins: Coins) -> Self {
        coins.text
    }
}

impl JsonSchema for Coins {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Coins".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]+(\\.[0-9]{1,18})?$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coins_are_exact() {
        let wei = |text: &str| Coins::try_from(text.to_owned()).map(|coins| coins.wei().to_string());
        assert_eq!(wei("0.05"), Ok("50000000000000000".to_owned()));
        assert_eq!(wei("2"), Ok("2000000000000000000".to_owned()));
        assert_eq!(wei("0.000000000000000001"), Ok("1".to_owned()));
        for wrong in ["", "-1", "1 ETH", "1e18", "0.0000000000000000001"] {
            assert!(wei(wrong).is_err_and(|error| error.contains("0.05")), "{wrong}");
        }
    }
}
