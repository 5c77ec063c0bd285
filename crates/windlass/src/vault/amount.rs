//! Tokens and amounts as people write them: `12.5 USDC`; base units where nobody knows the decimals.

use windlass_core::chain::{Address, U256};
use windlass_core::money::{Amount, Token};
use windlass_core::payout::vault::admin::limit::{self, LimitError};

use super::site::Site;
use crate::config::address::parse_address;
use crate::failure::Failure;

/// How no limit is written.
const NONE: &str = "none";
/// How everything is written.
pub(crate) const ALL: &str = "all";

/// A token as it was named.
#[derive(Debug, Clone)]
pub(crate) struct NamedToken {
    /// Its contract, or [`NATIVE_COIN`](windlass_core::money::NATIVE_COIN).
    pub(crate) address: Address,
    /// What is known of it.
    known: Option<Token>,
}

impl NamedToken {
    /// A token by its symbol in the configuration, or any by its address.
    pub(crate) fn read(site: &Site, text: &str) -> Result<Self, Failure> {
        if text.starts_with("0x") {
            let address = parse_address(text).map_err(Failure::usage)?;
            return Ok(Self { address, known: site.token(address).cloned() });
        }
        let unknown = || {
            Failure::refused(format_args!("no token is configured for chain {}", site.name))
                .hint("name it by its address, with amounts in base units")
        };
        let known = site.tokens.as_ref().ok_or_else(unknown)?.find(text)?;
        Ok(Self { address: known.address(), known: Some(known) })
    }

    /// An amount: `12.5`, `12.5 USDC`, or a whole number of base units of a token whose
    /// decimals are not configured.
    pub(crate) fn units(&self, text: &str) -> Result<U256, Failure> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, symbol) = (&text[..end], text[end..].trim());
        let is_whole = !number.is_empty() && !number.contains('.');
        if self.known.is_none() && symbol.is_empty() && is_whole {
            let units = U256::from_str_radix(number, 10);
            return units.map_err(|_| Failure::usage("the amount does not fit 256 bits"));
        }
        let Some(token) = &self.known else {
            let message =
                format!("`{text}` cannot be read: the decimals of {} are not configured", self.address);
            return Err(Failure::usage(message)
                .hint("give a whole number of base units, or add a `[pay.token.<symbol>]`"));
        };
        if !symbol.is_empty() && !symbol.eq_ignore_ascii_case(&token.symbol) {
            return Err(Failure::usage(format_args!("`{text}` is no amount of {}", token.symbol))
                .hint(format_args!("write `12.5` or `12.5 {}`", token.symbol)));
        }
        let amount = Amount::parse(number, token.clone());
        amount.map(|amount| amount.units).map_err(Failure::usage)
    }

    /// A limit: an amount that the vault can keep, or `none`.
    pub(crate) fn limit(&self, text: &str) -> Result<U256, Failure> {
        if text.trim().eq_ignore_ascii_case(NONE) {
            return Ok(U256::ZERO);
        }
        let units = self.units(text)?;
        if units.is_zero() {
            return Err(Failure::usage("a limit of nothing would be none at all for the vault")
                .hint("write `none` to lift the limit, or --disable to stop paying the token"));
        }
        limit::check_limit(units).map_err(|error| self.unkept(text, error))?;
        Ok(units)
    }

    /// The vault cannot keep this limit; near ones that it can are told as they are written.
    fn unkept(&self, text: &str, error: LimitError) -> Failure {
        let known = self.known.as_ref();
        match error {
            LimitError::TooLarge => {
                let most = shown(known, limit::max_limit());
                Failure::refused(format_args!("`{text}` is above the largest limit, {most}"))
                    .hint("`none` lifts the limit")
            }
            LimitError::TooPrecise(below, above) => {
                let message = format!(
                    "`{text}` is too precise: a limit has up to twelve digits and then zeros, in base units"
                );
                let (below, above) = (shown(known, below), shown(known, above));
                Failure::refused(message).hint(format_args!("round it: {below} or {above}"))
            }
        }
    }
}

/// Base units for people: with the symbol where it is known.
pub(crate) fn shown(token: Option<&Token>, units: U256) -> String {
    match token {
        Some(token) => Amount { units, token: token.clone() }.to_string(),
        None => format!("{units} base units"),
    }
}

/// A limit for people.
pub(crate) fn shown_limit(token: Option<&Token>, units: U256) -> String {
    if units.is_zero() { NONE.to_owned() } else { shown(token, units) }
}

#[cfg(test)]
mod tests {
    use windlass_core::chain::ChainId;

    use super::*;

    fn token(is_known: bool) -> NamedToken {
        let address = Address::repeat_byte(1);
        let chain = ChainId::new(1).expect("an id");
        let known = Token { chain, contract: Some(address), symbol: "USDC".into(), decimals: 6 };
        NamedToken { address, known: is_known.then_some(known) }
    }

    #[test]
    fn amounts_are_human_wherever_the_decimals_are_known() {
        let units = |token: &NamedToken, text: &str| token.units(text).map_err(|failure| failure.message);
        let (known, unknown) = (token(true), token(false));
        assert_eq!(units(&known, "12.5"), Ok(U256::from(12_500_000)));
        assert_eq!(units(&known, "12"), Ok(U256::from(12_000_000)));
        assert_eq!(units(&known, " 12.5 usdc "), Ok(U256::from(12_500_000)));
        assert_eq!(units(&unknown, "12"), Ok(U256::from(12)));
        for (token, text, told) in [
            (&unknown, "12.5", "decimals"),
            (&unknown, "12 USDC", "decimals"),
            (&known, "12 DAI", "no amount of USDC"),
            (&known, "", "not an amount"),
            (&known, "1.0000001", "more decimals"),
            (&known, "-1", "no amount of USDC"),
        ] {
            let error = units(token, text).expect_err(text);
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn a_limit_is_none_or_fits() {
        let usdc = token(true);
        let limit = |text: &str| usdc.limit(text).map_err(|failure| failure.message);
        assert_eq!(limit("none"), Ok(U256::ZERO));
        assert_eq!(limit("1000"), Ok(U256::from(1_000_000_000_u64)));
        assert!(limit("0").expect_err("ambiguous").contains("a limit of nothing"));
        assert!(limit("1234567890.123456").expect_err("too precise").contains("twelve digits"));
    }

    #[test]
    fn amounts_read_well() {
        let known = token(true).known;
        assert_eq!(shown(known.as_ref(), U256::from(1_500_000)), "1.5 USDC");
        assert_eq!(shown(None, U256::from(7)), "7 base units");
        assert_eq!(shown_limit(known.as_ref(), U256::ZERO), "none");
    }
}
