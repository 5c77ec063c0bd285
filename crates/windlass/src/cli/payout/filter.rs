//! Which payouts: the filters that listing and exporting have in common.

use windlass_core::chain::{Address, U256};
use windlass_core::money::Amount;
use windlass_core::payout::memo::Reference;
use windlass_core::payout::request::{IdempotencyKey, PayoutId};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::PayoutQuery;
use windlass_core::time::Timestamp;

use super::create::amount;
use crate::config::address::parse_address;
use crate::export::bound::Bound;
use crate::failure::Failure;
use crate::output;
use crate::pay::tokens::Tokens;

#[derive(Debug, clap::Args)]
pub(super) struct Filter {
    /// Only payouts in this state, such as pending_risk
    #[arg(long, value_parser = state)]
    state: Option<PayoutState>,
    /// Only payouts to this address
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    to: Option<Address>,
    /// Only payouts of this token: its symbol or its address
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// Only payouts of exactly this amount: "12.5 USDC", or 12.5 with --token
    #[arg(long)]
    amount: Option<String>,
    /// Only payouts of exactly this many base units, of whatever token
    #[arg(long, value_name = "UNITS", conflicts_with = "amount", value_parser = base_units)]
    amount_base_units: Option<U256>,
    /// Only the payout with this idempotency key
    #[arg(long, value_parser = key)]
    key: Option<IdempotencyKey>,
    /// Only payouts with this external reference
    #[arg(long, value_parser = reference)]
    reference: Option<Reference>,
    /// Only payouts created on or after this date or time, UTC
    #[arg(long, value_name = "TIME", value_parser = instant)]
    from: Option<Timestamp>,
    /// Only payouts created before this date or time, UTC
    #[arg(long, value_name = "TIME", value_parser = instant)]
    until: Option<Timestamp>,
}

fn state(text: &str) -> Result<PayoutState, String> {
    let known = || PayoutState::ALL.map(|state| state.as_str().to_lowercase()).join(", ");
    text.to_uppercase().parse().map_err(|_| format!("known are {}", known()))
}

fn base_units(text: &str) -> Result<U256, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let units = is_number.then(|| U256::from_str_radix(text, 10).ok()).flatten();
    units.ok_or_else(|| "a whole number of base units is wanted".to_owned())
}

fn key(text: &str) -> Result<IdempotencyKey, String> {
    IdempotencyKey::new(text).map_err(|error| error.to_string())
}

/// An external reference as it is written.
pub(super) fn reference(text: &str) -> Result<Reference, String> {
    Reference::new(text).map_err(|error| error.to_string())
}

/// A date or a time; dates begin at midnight, UTC.
fn instant(text: &str) -> Result<Timestamp, String> {
    match text.parse() {
        Ok(Bound::Time(second)) => Ok(Timestamp::from_ms(second.saturating_mul(1_000))),
        _ => Err("a date such as 2025-11-01, or a time such as 2025-11-01T12:00:00Z is wanted".to_owned()),
    }
}

impl Filter {
    /// The question, without its order and its page.
    pub(super) fn query(&self, tokens: &Tokens) -> Result<PayoutQuery, Failure> {
        let (token, amount) = match self.amount.as_deref() {
            Some(text) => {
                let amount = self.whole_tokens(tokens, text)?;
                (Some(amount.token.address()), Some(amount.units))
            }
            None => {
                let token = self.token.as_deref().map(|text| contract(tokens, text)).transpose()?;
                (token, self.amount_base_units)
            }
        };
        Ok(PayoutQuery {
            state: self.state,
            to: self.to,
            token,
            amount,
            key: self.key.clone(),
            reference: self.reference.clone(),
            from: self.from.map(PayoutId::first_at),
            before: self.until.map(PayoutId::first_at),
            ..PayoutQuery::default()
        })
    }
}

impl Filter {
    /// An amount in whole tokens: of the token that it names, or of `--token`.
    fn whole_tokens(&self, tokens: &Tokens, text: &str) -> Result<Amount, Failure> {
        let amount = amount(tokens, text, self.token.as_deref())
            .map_err(|message| Failure::usage(message).hint("base units go to --amount-base-units"))?;
        if text.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            output::note(&format!("--amount {} is read as {amount}", text.trim()));
        }
        Ok(amount)
    }
}

/// A token by its address, which need not be configured any more, or by its symbol.
fn contract(tokens: &Tokens, text: &str) -> Result<Address, Failure> {
    if let Ok(address) = parse_address(text) {
        return Ok(address);
    }
    Ok(tokens.find(text)?.address())
}
