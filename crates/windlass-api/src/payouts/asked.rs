//! From what was sent to what is asked for: every value is checked, and what is wrong with
//! it is told by the name of its field.

use std::fmt::Display;

use windlass_core::chain::{Address, U256};
use windlass_core::payout::desk::{DeskInfo, NewPayout};
use windlass_core::payout::memo::{Memo, Reference};
use windlass_core::payout::request::{IdempotencyKey, PayoutId, PayoutRequest, PayoutRequestError};

use crate::error::{ApiError, ApiResult, ErrorCode};
use crate::filter::shown;

/// A payout as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Draft {
    pub(crate) to: String,
    pub(crate) amount: String,
    pub(crate) token: String,
    pub(crate) key: Option<String>,
    pub(crate) memo: Option<String>,
    pub(crate) reference: Option<String>,
}

/// What the fields of a draft are called where it came from.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    /// What stands before every name, such as `payouts[3].`.
    pub(crate) prefix: String,
    pub(crate) token: &'static str,
}

impl Draft {
    /// What it asks for, with what is noted on it.
    pub(crate) fn read(&self, info: &DeskInfo, names: &Names) -> ApiResult<NewPayout> {
        let request = self.request(info, names)?;
        let field = |name: &str| format!("{}{name}", names.prefix);
        let memo = self.memo.as_ref().map(Memo::new).transpose();
        let reference = self.reference.as_ref().map(Reference::new).transpose();
        Ok(NewPayout {
            request,
            memo: memo.map_err(|error| invalid_field(&field("memo"), error))?,
            reference: reference.map_err(|error| invalid_field(&field("reference"), error))?,
        })
    }

    /// What is to be paid. Without a key it gets one that nobody else has.
    fn request(&self, info: &DeskInfo, names: &Names) -> ApiResult<PayoutRequest> {
        let field = |name: &str| format!("{}{name}", names.prefix);
        let refuse = |name: &str, why: String| invalid_field(&field(name), why);
        let to = address(&self.to).map_err(|why| refuse("to", why))?;
        let amount = amount(&self.amount).map_err(|why| refuse("amount", why))?;
        let token = token(&self.token, info).map_err(|error| error.within(&field(names.token)))?;
        let key = match &self.key {
            Some(key) => idempotency_key(&field("idempotencyKey"), key)?,
            None => random_key()?,
        };
        let request = PayoutRequest { vault: info.vault, token, to, amount, key };
        // The amount was looked at above, so it is the recipient that no vault pays, or the key.
        request.validate().map_err(|error| {
            let name = if error == PayoutRequestError::HiddenInKey { "idempotencyKey" } else { "to" };
            refuse(name, error.to_string())
        })?;
        Ok(request)
    }
}

/// Why a name stands for no token.
struct NoToken {
    why: String,
    hint: Option<String>,
}

impl NoToken {
    fn within(self, field: &str) -> ApiError {
        let error = invalid_field(field, self.why);
        match self.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

/// A field's value that it cannot have.
pub(crate) fn invalid_field(field: &str, why: impl Display) -> ApiError {
    ApiError::new(ErrorCode::InvalidParameter, format!("field `{field}`: {why}"))
}

/// An address. Whoever writes capitals has to write the right ones: they are its checksum.
pub(super) fn address(text: &str) -> Result<Address, String> {
    let is_address = text.len() == 42 && text.starts_with("0x");
    let plain = || format!("`{}` is not an address: `0x` and 40 hexadecimal digits", shown(text));
    let address: Address = text.parse().ok().filter(|_| is_address).ok_or_else(plain)?;
    let is_lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
    if !is_lower && address.to_checksum(None) != text {
        return Err(format!("the checksum of `{text}` is wrong, so it has a slip in it"));
    }
    Ok(address)
}

/// A positive number of base units.
pub(super) fn amount(text: &str) -> Result<U256, String> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    let amount = U256::from_str_radix(text, 10).ok().filter(|_| is_number && !text.is_empty());
    amount.ok_or_else(|| {
        let told = "is not an amount: a whole number of base units from 1 to 2^256 - 1, in digits";
        format!("`{}` {told}", shown(text))
    })
}

/// A token that is paid, by its symbol or its address.
fn token(text: &str, info: &DeskInfo) -> Result<Address, NoToken> {
    let mut named = info.tokens.iter().filter(|(_, token)| token.symbol == text).map(|(address, _)| *address);
    match (named.next(), named.next()) {
        (Some(token), None) => return Ok(token),
        (Some(_), Some(_)) => {
            let why = format!("several tokens are called `{}`", shown(text));
            return Err(NoToken { why, hint: Some("name it by its address".to_owned()) });
        }
        (None, _) => {}
    }
    let known = || {
        let symbols: Vec<&str> = info.tokens.values().map(|token| token.symbol.as_str()).take(20).collect();
        (!symbols.is_empty()).then(|| format!("these are paid: {}", symbols.join(", ")))
    };
    if !text.starts_with("0x") {
        let why = format!("`{}` is neither the symbol nor the address of a token", shown(text));
        return Err(NoToken { why, hint: known() });
    }
    let token = address(text).map_err(|why| NoToken { why, hint: None })?;
    if !info.tokens.is_empty() && !info.tokens.contains_key(&token) {
        let why = format!("token `{text}` is not among those that are paid");
        return Err(NoToken { why, hint: known() });
    }
    Ok(token)
}

/// A key that was sent.
pub(crate) fn idempotency_key(field: &str, text: &str) -> ApiResult<IdempotencyKey> {
    IdempotencyKey::new(text).map_err(|error| invalid_field(field, error))
}

/// A key that nobody else has: 128 random bits, written as a UUID of version 4.
pub(crate) fn random_key() -> ApiResult<IdempotencyKey> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(ApiError::internal)?;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let digits = format!("{:032x}", u128::from_be_bytes(bytes));
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    IdempotencyKey::new(parts.join("-")).map_err(ApiError::internal)
}

/// A payout's id, or the reason why the text is none.
pub(crate) fn payout_id(text: &str) -> ApiResult<PayoutId> {
    text.parse().map_err(|_| ApiError::new(ErrorCode::NotFound, "request not found"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use windlass_core::chain::ChainId;
    use windlass_core::money::Token;
    use windlass_core::payout::request::VaultRef;
    use windlass_core::payout::risk::RiskRules;

    use super::*;

    const TO: &str = "0x52908400098527886E0F7030069857D2E4169EE7";

    fn info(symbols: &[(u8, &str)]) -> DeskInfo {
        let chain = ChainId::new(1).unwrap();
        let token = |&(byte, symbol): &(u8, &str)| {
            let address = Address::repeat_byte(byte);
            let symbol = symbol.to_owned();
            (address, Token { chain, contract: Some(address), symbol, decimals: 6 })
        };
        DeskInfo {
            vault: VaultRef { chain, address: Address::repeat_byte(0x11) },
            tokens: symbols.iter().map(token).collect::<BTreeMap<_, _>>(),
            rules: RiskRules::default(),
        }
    }

    fn draft() -> Draft {
        let key = Some("k".into());
        Draft { to: TO.into(), amount: "7".into(), token: "USDC".into(), key, ..Draft::default() }
    }

    fn new(draft: &Draft) -> Result<NewPayout, String> {
        let names = Names { prefix: "payouts[3].".to_owned(), token: "token" };
        draft.read(&info(&[(2, "USDC"), (3, "DAI"), (4, "DAI")]), &names).map_err(|error| error.message)
    }

    fn read(draft: &Draft) -> Result<PayoutRequest, String> {
        new(draft).map(|new| new.request)
    }

    #[test]
    fn a_memo_and_a_reference_are_read_and_named_where_they_are_wrong() {
        let noted = Draft { memo: Some("rent".into()), reference: Some("R-7".into()), ..draft() };
        let read = new(&noted).unwrap();
        assert_eq!(read.memo.map(String::from).as_deref(), Some("rent"));
        assert_eq!(read.reference.map(String::from).as_deref(), Some("R-7"));
        for bad in ["", " x", "a\nb", &"x".repeat(501)] {
            let told = new(&Draft { memo: Some(bad.to_owned()), ..draft() }).unwrap_err();
            assert!(told.starts_with("field `payouts[3].memo`: "), "{told}");
            let told = new(&Draft { reference: Some(bad.to_owned()), ..draft() }).unwrap_err();
            assert!(told.starts_with("field `payouts[3].reference`: "), "{told}");
        }
    }

    #[test]
    fn what_is_right_is_read() {
        let request = read(&draft()).unwrap();
        assert_eq!((request.token, request.amount), (Address::repeat_byte(2), U256::from(7)));
        assert_eq!(request.to.to_checksum(None), TO);
        let lower = Draft { to: TO.to_lowercase(), ..draft() };
        assert_eq!(read(&lower), Ok(request.clone()));
        let by_address = Draft { token: Address::repeat_byte(2).to_string(), ..draft() };
        assert_eq!(read(&by_address), Ok(request));
        let most = Draft { amount: U256::MAX.to_string(), ..draft() };
        assert_eq!(read(&most).unwrap().amount, U256::MAX);
    }

    #[test]
    fn the_chains_coin_is_read_by_its_symbol_and_by_the_zero_address() {
        let mut info = info(&[(2, "USDC")]);
        let chain = info.vault.chain;
        let coin = Token { chain, contract: None, symbol: "POL".to_owned(), decimals: 18 };
        let names = Names { prefix: String::new(), token: "token" };
        let zero = Draft { token: Address::ZERO.to_string(), ..draft() };
        let told = zero.request(&info, &names).map_err(|error| error.message).unwrap_err();
        assert!(told.contains("is not among those that are paid"), "{told}");
        info.tokens.insert(coin.address(), coin);
        for token in ["POL".to_owned(), Address::ZERO.to_string()] {
            let draft = Draft { token, ..draft() };
            let request = draft.request(&info, &names).map_err(|error| error.message).unwrap();
            assert_eq!((request.token, request.amount), (Address::ZERO, U256::from(7)));
        }
    }

    #[test]
    fn what_is_wrong_is_told_by_the_name_of_its_field() {
        let slip = TO.replace('E', "e");
        let vault = Address::repeat_byte(0x11).to_string();
        let bad_to = ["", "0x", &TO[2..], &slip, "0x0000000000000000000000000000000000000000", &vault];
        for to in bad_to {
            let told = read(&Draft { to: to.to_owned(), ..draft() }).unwrap_err();
            assert!(told.starts_with("field `payouts[3].to`: "), "{to}: {told}");
        }
        let over = format!("{}0", U256::MAX);
        for amount in ["", "0", "007", "-1", "+1", "1.5", "1e3", "0x1", " 1", "1_000", "²", &over] {
            let told = read(&Draft { amount: amount.to_owned(), ..draft() }).unwrap_err();
            assert!(told.starts_with("field `payouts[3].amount`: "), "{amount}: {told}");
        }
        let unpaid = Address::repeat_byte(9).to_string();
        for token in ["", "usdc", "DAI", "0x12", &unpaid] {
            let told = read(&Draft { token: token.to_owned(), ..draft() }).unwrap_err();
            assert!(told.starts_with("field `payouts[3].token`: "), "{token}: {told}");
        }
        for key in ["", " k", "a\nb", &"x".repeat(201)] {
            let told = read(&Draft { key: Some(key.to_owned()), ..draft() }).unwrap_err();
            assert!(told.starts_with("field `payouts[3].idempotencyKey`: "), "{key}: {told}");
        }
    }

    #[test]
    fn a_desk_without_a_list_pays_any_token_by_its_address() {
        let names = Names { prefix: String::new(), token: "asset" };
        let any = Draft { token: Address::repeat_byte(9).to_string(), ..draft() };
        assert_eq!(any.request(&info(&[]), &names).unwrap().token, Address::repeat_byte(9));
        assert!(draft().request(&info(&[]), &names).unwrap_err().message.starts_with("field `asset`"));
    }

    #[test]
    fn keys_that_are_made_up_differ() {
        let keys = [random_key().unwrap(), random_key().unwrap()];
        assert_ne!(keys[0], keys[1]);
        assert_eq!(&keys[0].as_str()[14..15], "4");
    }
}
