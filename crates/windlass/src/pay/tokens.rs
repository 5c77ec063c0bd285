//! Tokens by symbol or address, and amounts of them as people write them.

use std::collections::BTreeMap;

use windlass_core::chain::{Address, ChainId, U256};
use windlass_core::code::Code;
use windlass_core::money::{Amount, Token};

use crate::config::Config;
use crate::config::address::parse_address;
use crate::config::pay::Pay;
use crate::config::problem::nearest;
use crate::failure::Failure;

/// The tokens that are paid.
#[derive(Debug, Clone)]
pub(crate) struct Tokens(BTreeMap<Address, Token>);

/// An amount as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Written {
    /// So much of a token.
    Of(Amount),
    /// So many base units, of whatever token.
    Units(U256),
}

impl Tokens {
    /// The tokens of the configuration; none where nothing is paid.
    pub(crate) fn of(config: &Config) -> Result<Self, Failure> {
        let Some(pay) = &config.pay else { return Ok(Self(BTreeMap::new())) };
        let chain = config.chain.get(&pay.chain).ok_or_else(|| {
            Failure::coded(Code::ConfigInvalid, format_args!("there is no `[chain.{}]`", pay.chain))
        })?;
        Ok(Self::new(chain.id, pay))
    }

    /// The tokens of a vault on this chain.
    pub(crate) fn new(chain: ChainId, pay: &Pay) -> Self {
        // A section that says too little, or contradicts itself, is reported by the check of `[pay]`.
        let read = pay.token.iter().filter_map(|(symbol, token)| Some((symbol, token.read().ok()?)));
        let tokens = read.map(|(symbol, (contract, decimals))| {
            let token = Token { chain, contract, symbol: symbol.to_string(), decimals };
            (token.address(), token)
        });
        Self(tokens.collect())
    }

    /// All of them, by address; the chain's own coin is at
    /// [`NATIVE_COIN`](windlass_core::money::NATIVE_COIN).
    pub(crate) const fn all(&self) -> &BTreeMap<Address, Token> {
        &self.0
    }

    /// A token by its symbol, in whatever case, or by its address.
    pub(crate) fn find(&self, text: &str) -> Result<Token, Failure> {
        self.named(text).map_err(|message| {
            Failure::coded(Code::PayoutRefused, message)
                .hint("tokens have sections of their own: `[pay.token.<symbol>]`")
        })
    }

    /// The same, and what to say where there is none.
    pub(crate) fn named(&self, text: &str) -> Result<Token, String> {
        if text.starts_with("0x") {
            let address = parse_address(text)?;
            let found = self.0.get(&address);
            return found.cloned().ok_or_else(|| format!("no token at {address} is configured"));
        }
        let found = self.0.values().find(|token| token.symbol.eq_ignore_ascii_case(text));
        found.cloned().ok_or_else(|| {
            let known = self.0.values().map(|token| token.symbol.as_str());
            match nearest(text, known.clone()) {
                Some(near) => format!("no token `{text}` is configured; `{near}` is"),
                None => {
                    let known: Vec<&str> = known.collect();
                    format!("no token `{text}` is configured; known: {}", known.join(", "))
                }
            }
        })
    }

    /// Reads `12.5 USDC`, or a whole number of base units: as the configuration has amounts.
    pub(crate) fn amount(&self, text: &str) -> Result<Written, String> {
        let (number, symbol) = self.split(text, ", or a whole number of base units")?;
        if symbol.is_empty() {
            let is_whole = number.bytes().all(|digit| digit.is_ascii_digit());
            if !is_whole {
                let example = self.written(number);
                return Err(format!(
                    "`{number}` names no token: write `{example}`, or a whole number of base units"
                ));
            }
            let units = U256::from_str_radix(number, 10);
            return units.map(Written::Units).map_err(|_| "the amount does not fit 256 bits".to_owned());
        }
        let token = self.named(symbol)?;
        Amount::parse(number, token).map(Written::Of).map_err(|error| error.to_string())
    }

    /// Reads `12.5 USDC`, or `12.5` of a token that is given apart: whole tokens, never base units, so that
    /// `12` and `12.5` beside each other mean what they look like. `apart` says how to give the token apart.
    pub(crate) fn whole(&self, text: &str, token: Option<&str>, apart: &str) -> Result<Amount, String> {
        let token = token.map(|token| self.named(token)).transpose()?;
        let (number, symbol) = self.split(text, "")?;
        let token = match (symbol, token) {
            ("", Some(token)) => token,
            ("", None) => {
                return Err(format!(
                    "`{number}` names no token: write `{}`, or {apart}",
                    self.written(number)
                ));
            }
            (symbol, None) => self.named(symbol)?,
            (symbol, Some(token)) => {
                let named = self.named(symbol)?;
                if !named.is_same_as(&token) {
                    let (of, given) = (named.symbol, token.symbol);
                    return Err(format!("the amount is of {of}, and the token is {given}"));
                }
                token
            }
        };
        Amount::parse(number, token).map_err(|error| error.to_string())
    }

    /// The number and the token's name, which may be empty. `otherwise` is what else may be written.
    fn split<'a>(&self, text: &'a str, otherwise: &str) -> Result<(&'a str, &'a str), String> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, symbol) = (&text[..end], text[end..].trim());
        let example = self.written("12.5");
        if number.is_empty() {
            return Err(format!("`{text}` is not an amount: write `{example}`{otherwise}"));
        }
        // Whether `1,500` is one and a half or fifteen hundred is for its writer to say.
        if symbol
            .strip_prefix([',', '\'', '_'])
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        {
            return Err(format!(
                "`{text}` is not an amount: write it with a decimal point and without a separator of \
                 thousands, such as `{example}`"
            ));
        }
        Ok((number, symbol))
    }

    /// An amount of a token that is paid, as an example: no token of somebody else's configuration.
    fn written(&self, number: &str) -> String {
        let mut all = self.0.values();
        let token = all.clone().find(|token| token.contract.is_some()).or_else(|| all.next());
        format!("{number} {}", token.map_or("USDC", |token| token.symbol.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens() -> Tokens {
        let token = |symbol: &str, byte, decimals| {
            let address = Address::repeat_byte(byte);
            let chain = ChainId::new(1).expect("an id");
            (address, Token { chain, contract: Some(address), symbol: symbol.to_owned(), decimals })
        };
        let chain = ChainId::new(1).expect("an id");
        let coin = Token { chain, contract: None, symbol: "ETH".to_owned(), decimals: 18 };
        Tokens(BTreeMap::from([token("USDC", 1, 6), token("DAI", 2, 18), (coin.address(), coin)]))
    }

    #[test]
    fn amounts_are_of_a_token_or_base_units() {
        for text in ["12.5 USDC", "12.5usdc", " 12.5  Usdc "] {
            let Ok(Written::Of(amount)) = tokens().amount(text) else { panic!("{text}") };
            assert_eq!((amount.units, amount.token.symbol.as_str()), (U256::from(12_500_000), "USDC"));
        }
        assert_eq!(tokens().amount("25000000"), Ok(Written::Units(U256::from(25_000_000))));
        for (text, told) in [
            ("12.5", "`12.5` names no token: write `12.5 USDC`, or a whole number of base units"),
            ("", "is not an amount"),
            ("1,5 USDC", "with a decimal point"),
            ("1 USDT", "`USDC` is"),
            ("1.0000001 USDC", "more decimals"),
            ("-1 USDC", "`-1 USDC` is not an amount: write `12.5 USDC`, or a whole number of base units"),
            ("1 ZEBRA", "known: ETH, USDC, DAI"),
        ] {
            let error = tokens().amount(text).expect_err(text);
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    /// Base units are for the configuration: beside a token, `12` is twelve of it.
    #[test]
    fn commands_take_whole_tokens_and_name_a_token_that_is_paid() {
        let (dai, apart) = (Address::repeat_byte(2), "add --token");
        let mut own = tokens();
        own.0.retain(|address, _| *address == dai);
        for (text, token) in [("12.5 DAI", None), ("12.5", Some("dai")), ("12.5dai", Some("DAI"))] {
            let amount = own.whole(text, token, apart).expect(text);
            assert_eq!(amount.to_string(), "12.5 DAI");
        }
        for (text, token, told) in [
            ("2.5", None, "`2.5` names no token: write `2.5 DAI`, or add --token"),
            ("12", None, "`12` names no token: write `12 DAI`, or add --token"),
            ("abc", None, "`abc` is not an amount: write `12.5 DAI`"),
            ("abc", Some("DAI"), "`abc` is not an amount: write `12.5 DAI`"),
            ("3,5 DAI", None, "with a decimal point"),
            ("3,5", Some("DAI"), "with a decimal point"),
            ("1'000 DAI", None, "without a separator of thousands, such as `12.5 DAI`"),
        ] {
            let error = own.whole(text, token, apart).expect_err(text);
            assert!(error.contains(told) && !error.contains("base units"), "{text}: {error}");
        }
        let error = tokens().whole("1 USDC", Some("DAI"), apart).expect_err("two tokens");
        assert_eq!(error, "the amount is of USDC, and the token is DAI");
    }

    #[test]
    fn a_token_is_found_by_symbol_or_address() {
        assert_eq!(tokens().named("dai").expect("known").decimals, 18);
        assert_eq!(tokens().named(&Address::repeat_byte(1).to_string()).expect("known").symbol, "USDC");
        assert!(tokens().named(&Address::repeat_byte(9).to_string()).is_err());
        for name in ["ETH", "eth", &Address::ZERO.to_string()] {
            assert_eq!(tokens().named(name).expect("known").contract, None, "{name}");
        }
    }
}
