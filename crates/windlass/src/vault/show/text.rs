//! A vault for people.

use std::fmt::Write;

use windlass_core::chain::U256;
use windlass_core::money::{NATIVE_COIN, Token};

use super::{PendingAccount, PendingWithdrawal, TokenState, VaultState, When};
use crate::config::address::WrittenAddress;
use crate::output::human;
use crate::output::table::{self, Side};
use crate::vault::amount;
use crate::vault::site::instant;

/// Everything, a line each, and a table of tokens.
pub(super) fn render(state: &VaultState) -> String {
    let mut lines = Lines(String::new());
    lines.add("vault", format!("{} on {} ({})", state.vault, state.chain, state.chain_id));
    lines.add("block", format!("{}, {}", human::count(state.block), instant(state.block_time_s)));
    lines.add("payouts", if state.paused { "paused" } else { "going on" });
    lines.add("admin", state.admin.to_string());
    lines.pending("admin announced", state.pending_admin);
    rules(&mut lines, state);
    roles(&mut lines, state);
    lines.add("deployed", format!("in block {}", human::count(state.deployed_at_block)));
    let code = match state.code_is_carried {
        Some(true) => "the contract of this binary",
        Some(false) => "NOT the contract of this binary",
        None => "cannot be compared: the endpoint does not try deployments",
    };
    lines.add("code", format!("{code}, {}", state.code_hash));
    lines.0 + &tokens(&state.tokens)
}

struct Lines(String);

impl Lines {
    fn add(&mut self, name: &str, value: impl AsRef<str>) {
        // Writing to a `String` cannot fail.
        let _ = writeln!(self.0, "{name:<21}  {}", value.as_ref());
    }

    fn pending(&mut self, name: &str, pending: Option<PendingAccount>) {
        if let Some(PendingAccount { account, when }) = pending {
            let account = if account.0.is_zero() { "nobody".to_owned() } else { account.to_string() };
            self.add(name, format!("{account}, {}", shown_when(when)));
        }
    }

    fn accounts(&mut self, name: &str, accounts: &[WrittenAddress]) {
        let shown: Vec<String> = accounts.iter().map(ToString::to_string).collect();
        self.add(name, if shown.is_empty() { "none".to_owned() } else { shown.join(" ") });
    }
}

fn rules(lines: &mut Lines, state: &VaultState) {
    let signer = match (state.risk_signer, state.approval_required) {
        (Some(signer), _) => signer.to_string(),
        (None, true) => "revoked: nothing is paid until there is another".to_owned(),
        (None, false) => "none".to_owned(),
    };
    lines.add("risk signer", signer);
    lines.pending("risk signer announced", state.pending_risk_signer);
    let required = if state.approval_required { "required" } else { "not required" };
    lines.add("approvals", format!("{required}, nonce {}", state.approval_nonce));
    lines.add("treasury", state.treasury.to_string());
    lines.add("delay", human::seconds(state.delay_s));
}

fn roles(lines: &mut Lines, state: &VaultState) {
    match (&state.roles, &state.roles_missing) {
        (Some(roles), _) => {
            lines.accounts("operators", &roles.operators);
            lines.accounts("guardians", &roles.guardians);
            lines.accounts("denied", &roles.denied);
        }
        (None, why) => {
            lines.add("roles", format!("cannot be told: {}", why.as_deref().unwrap_or("no events")));
        }
    }
}

fn tokens(tokens: &[TokenState]) -> String {
    if tokens.is_empty() {
        return "\nno token has rules, and none is configured\n".to_owned();
    }
    let header = [
        ("token", Side::Left),
        ("payable", Side::Left),
        ("a payout", Side::Right),
        ("a day", Side::Right),
        ("spent today", Side::Right),
        ("left today", Side::Right),
        ("balance", Side::Right),
    ];
    let mut text = format!("\n{}", table::render(&header, tokens.iter().map(row)));
    for state in tokens {
        if let Some(PendingWithdrawal { amount, when }) = &state.pending_withdrawal {
            let amount = amount.as_ref().map_or("everything".to_owned(), |units| units_of(state, units));
            let _ = writeln!(
                text,
                "announced: {amount} of {} to the treasury, {}",
                name(state),
                shown_when(*when)
            );
        }
    }
    text
}

fn row(state: &TokenState) -> Vec<String> {
    let limit =
        |units: &Option<String>| units.as_ref().map_or("no limit".to_owned(), |units| units_of(state, units));
    let payable = match (state.enabled, state.ever_enabled) {
        (true, _) => "yes",
        (false, true) => "no, was",
        (false, false) => "no",
    };
    vec![
        name(state),
        payable.to_owned(),
        limit(&state.per_payout),
        limit(&state.per_day),
        units_of(state, &state.spent_today),
        limit(&state.remaining_today),
        state.balance.as_ref().map_or("unknown".to_owned(), |units| units_of(state, units)),
    ]
}

fn name(state: &TokenState) -> String {
    if state.token.0 == NATIVE_COIN {
        return state.symbol.clone().unwrap_or_else(|| "the chain's coin".to_owned());
    }
    state
        .symbol
        .as_ref()
        .map_or_else(|| state.token.to_string(), |symbol| format!("{symbol} {}", state.token))
}

/// Without the symbol, which the first column has.
fn units_of(state: &TokenState, units: &str) -> String {
    let Ok(number) = units.parse::<U256>() else { return units.to_owned() };
    let known: Option<&Token> = state.known.as_ref();
    let shown = amount::shown(known, number);
    shown.split_once(' ').map_or(shown.clone(), |(number, _)| number.to_owned())
}

fn shown_when(when: When) -> String {
    let (from, until) = (instant(when.ready_at_s), instant(when.expires_at_s));
    match when.status {
        "ready" => format!("ready until {until}"),
        "expired" => format!("expired at {until}"),
        _ => format!("ready from {from} to {until}"),
    }
}
