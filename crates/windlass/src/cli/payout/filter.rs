//! Which payouts: the filters that listing and exporting have in common.

use windlass_core::chain::Address;
use windlass_core::payout::memo::Reference;
use windlass_core::payout::request::{IdempotencyKey, PayoutId};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::PayoutQuery;
use windlass_core::time::Timestamp;

use crate::config::address::parse_address;
use crate::export::bound::Bound;
use crate::failure::Failure;
use crate::pay::tokens::{Tokens, Written};

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
    /// Only payouts of exactly this amount, such as "12.5 USDC"
    #[arg(long)]
    amount: Option<String>,
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
        let mut token = self.token.as_deref().map(|text| contract(tokens, text)).transpose()?;
        let amount = match self.amount.as_deref().map(|text| tokens.amount(text)).transpose() {
            Ok(None) => None,
            Ok(Some(Written::Units(units))) => Some(units),
            Ok(Some(Written::Of(amount))) => {
                token = token.or(Some(amount.token.address()));
                Some(amount.units)
            }
            Err(message) => return Err(Failure::usage(message)),
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

/// A token by its address, which need not be configured any more, or by its symbol.
fn contract(tokens: &Tokens, text: &str) -> Result<Address, Failure> {
    if let Ok(address) = parse_address(text) {
        return Ok(address);
    }
    Ok(tokens.find(text)?.address())
}
