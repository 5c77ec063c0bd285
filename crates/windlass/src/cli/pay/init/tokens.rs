//! The token that `pay init` sets up: by address, by symbol where that is well known, or
//! a new one on a test chain.

use alloy_sol_types::{SolCall, sol};
use windlass_core::chain::{Address, ChainId};
use windlass_core::code::Code;
use windlass_core::money::{Amount, MAX_DECIMALS, Token};
use windlass_core::payout::vault::admin::limit;
use windlass_core::payout::vault::{answer, calldata};
use windlass_core::reader::BlockTag;

use crate::config::address::parse_address;
use crate::config::pay::token::Symbol;
use crate::failure::Failure;
use crate::vault::site::Site;

sol! {
    function symbol() returns (string);
}

/// How a new test token is asked for.
pub(super) const NEW: &str = "new";
/// What a new test token is called, and how many decimals it has.
const TEST_SYMBOL: &str = "DUSD";
const TEST_DECIMALS: u8 = 6;
/// USDC as Circle issues it, by chain.
const USDC: [(u64, &str); 6] = [
    (1, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),
    (10, "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85"),
    (137, "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"),
    (8_453, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
    (42_161, "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"),
    (43_114, "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E"),
];

/// A token as it was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenChoice {
    /// A new one, on a test chain.
    New,
    /// One that exists; the symbol where it was given.
    At(Address, Option<Symbol>),
}

impl TokenChoice {
    /// Reads `0x…`, `USDC=0x…`, `USDC` or `new`.
    pub(super) fn read(text: &str, chain: ChainId, is_test: bool) -> Result<Self, String> {
        if text.eq_ignore_ascii_case(NEW) {
            let refused = || format!("`{NEW}` makes a token on a test chain, and chain {chain} is none");
            return is_test.then_some(Self::New).ok_or_else(refused);
        }
        if text.starts_with("0x") {
            return Ok(Self::At(parse_address(text)?, None));
        }
        if let Some((symbol, address)) = text.split_once('=') {
            let symbol = Symbol::try_from(symbol.to_owned())?;
            return Ok(Self::At(parse_address(address)?, Some(symbol)));
        }
        let known = USDC.iter().find(|(id, _)| *id == chain.as_u64() && text.eq_ignore_ascii_case("USDC"));
        let (_, address) = known.ok_or_else(|| {
            format!("the address of `{text}` on chain {chain} is not known: give the token's address, 0x…")
        })?;
        Ok(Self::At(parse_address(address)?, None))
    }

    /// What most people would name on a chain.
    pub(super) fn default(chain: ChainId, is_test: bool) -> Option<&'static str> {
        match is_test {
            true => Some(NEW),
            false => USDC.iter().any(|(id, _)| *id == chain.as_u64()).then_some("USDC"),
        }
    }

    /// The token with the decimals and the symbol that its contract states; without a contract where
    /// it is still to be made.
    pub(super) async fn look_up(self, site: &Site) -> Result<Token, Failure> {
        let (address, symbol) = match self {
            Self::New => {
                let (symbol, decimals) = (TEST_SYMBOL.to_owned(), TEST_DECIMALS);
                return Ok(Token { chain: site.id, contract: None, symbol, decimals });
            }
            Self::At(address, symbol) => (address, symbol),
        };
        let answer_bytes = site.call(address, calldata::decimals(), BlockTag::Latest).await;
        let decimals = answer_bytes.ok().and_then(|bytes| answer::decimals(&bytes).ok());
        let decimals = decimals.filter(|decimals| *decimals <= MAX_DECIMALS).ok_or_else(|| {
            let message = format!("{address} on chain {} ({}) is no token with decimals", site.name, site.id);
            Failure::coded(Code::ConfigInvalid, message).hint("check the address and the chain")
        })?;
        let symbol = match symbol {
            Some(symbol) => symbol,
            None => read_symbol(site, address).await?,
        };
        Ok(Token { chain: site.id, contract: Some(address), symbol: symbol.to_string(), decimals })
    }
}

async fn read_symbol(site: &Site, address: Address) -> Result<Symbol, Failure> {
    let answer_bytes = site.call(address, symbolCall {}.abi_encode().into(), BlockTag::Latest).await;
    let symbol = answer_bytes.ok().and_then(|bytes| symbolCall::abi_decode_returns(&bytes).ok());
    symbol.and_then(|symbol| Symbol::try_from(symbol).ok()).ok_or_else(|| {
        Failure::coded(
            Code::ConfigInvalid,
            format_args!("the token {address} states no symbol that can be used"),
        )
        .hint(format_args!("give it one: --token SYMBOL={address}"))
    })
}

/// A limit: `25000`, or `25000 USDC`. The vault keeps limits of up to twelve digits.
pub(super) fn limit(text: &str, token: &Token) -> Result<Amount, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, symbol) = (&text[..end], text[end..].trim());
    if !symbol.is_empty() && !symbol.eq_ignore_ascii_case(&token.symbol) {
        return Err(format!("`{text}` is no amount of {}", token.symbol));
    }
    let amount = Amount::parse(number, token.clone()).map_err(|error| error.to_string())?;
    if amount.units.is_zero() {
        return Err("a limit is above zero".to_owned());
    }
    limit::check_limit(amount.units)
        .map_err(|_| format!("`{text}` is too large or too precise: the vault keeps twelve digits"))?;
    Ok(amount)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(id: u64) -> ChainId {
        ChainId::new(id).expect("an id")
    }

    #[test]
    fn a_token_is_named_by_address_symbol_or_as_new() {
        for (id, address) in USDC {
            let found = TokenChoice::read("usdc", chain(id), false);
            assert_eq!(found, Ok(TokenChoice::At(address.parse().expect("an address"), None)));
            assert_eq!(TokenChoice::default(chain(id), false), Some("USDC"));
        }
        assert_eq!(TokenChoice::read("new", chain(31_337), true), Ok(TokenChoice::New));
        assert!(TokenChoice::read("new", chain(1), false).expect_err("real").contains("is none"));
        assert!(TokenChoice::read("DAI", chain(1), false).expect_err("unknown").contains("0x…"));
        let named = TokenChoice::read("DAI=0x1111111111111111111111111111111111111111", chain(1), false);
        let symbol = Symbol::try_from("DAI".to_owned()).expect("a symbol");
        assert_eq!(named, Ok(TokenChoice::At(Address::repeat_byte(0x11), Some(symbol))));
    }

    #[test]
    fn a_limit_is_above_zero_and_fits_the_vault() {
        let token = Token { chain: chain(1), contract: None, symbol: "USDC".to_owned(), decimals: 6 };
        let limit = |text: &str| limit(text, &token).map(|amount| amount.to_string());
        assert_eq!(limit("25000"), Ok("25000 USDC".to_owned()));
        assert_eq!(limit(" 12.5 usdc"), Ok("12.5 USDC".to_owned()));
        for wrong in ["0", "", "1 DAI", "1234567890.123456", "1.0000001"] {
            assert!(limit(wrong).is_err(), "{wrong}");
        }
    }
}
