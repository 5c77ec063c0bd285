//! How paying goes, in numbers for Prometheus: what is read from the store. What is done is
//! counted where it is done, by the engine and the API.

use metrics::{describe_counter, describe_gauge, gauge};
use windlass_core::payout::gas::GasLevel;
use windlass_core::payout::state::PayoutState;
use windlass_engine::pay::counted::{ACTIONS_TOTAL, CLAIMS_TOTAL};
use windlass_engine::pay::ledger::REFUSED_TOTAL;

use super::health::PayLook;

/// What endpoints said to transactions, by outcome.
pub(crate) const PAY_SENT_TOTAL: &str = "windlass_pay_sent_total";
/// What endpoints answered to all else that paying asks, by method and outcome.
pub(crate) const PAY_ANSWERS_TOTAL: &str = "windlass_pay_chain_answers_total";
/// How many payouts stand where.
const PAYOUTS: &str = "windlass_pay_payouts";
/// Whether an account was halted.
const HALTED: &str = "windlass_pay_signer_halted";
/// What an account has for gas, and whether it is enough.
const GAS_WEI: &str = "windlass_pay_signer_gas_wei";
const GAS_SHORT: &str = "windlass_pay_signer_short_of_gas";
/// Whether the endpoints serve another chain than the vault's.
const OTHER_CHAIN: &str = "windlass_pay_other_chain";
/// The first nonce of an account that no transaction has yet.
const NEXT_NONCE: &str = "windlass_pay_signer_next_nonce";

/// Says what each of them is.
pub(crate) fn describe() {
    describe_gauge!(PAYOUTS, "how many payouts stand where, by state");
    describe_gauge!(HALTED, "1 where an account signs nothing until somebody has looked at it");
    describe_gauge!(GAS_WEI, "what an account has of the chain's own coin, in wei");
    describe_gauge!(GAS_SHORT, "1 where an account cannot pay for the gas of its next transaction");
    describe_gauge!(OTHER_CHAIN, "1 where the endpoints serve another chain of the same id than the vault's");
    describe_gauge!(NEXT_NONCE, "the first nonce of an account that no transaction has yet");
    describe_counter!(PAY_SENT_TOTAL, "what endpoints said to transactions, by outcome");
    describe_counter!(
        PAY_ANSWERS_TOTAL,
        "what endpoints answered to what paying asks, by method and outcome"
    );
    describe_counter!(ACTIONS_TOTAL, "entries of the audit log that this process has written, by action");
    describe_counter!(
        REFUSED_TOTAL,
        "rows of the ledger that were not written by Windlass as they stand, by table and kind"
    );
    describe_counter!(CLAIMS_TOTAL, "what this process has claimed, by lane and outcome");
}

/// Tells what was seen.
pub(crate) fn tell(look: &PayLook) {
    for state in PayoutState::ALL {
        let count = look.payouts.iter().find(|(known, _)| *known == state).map_or(0, |(_, count)| *count);
        // Counts stay far below the limit of whole numbers.
        gauge!(PAYOUTS, "state" => state.as_str()).set(count as f64);
    }
    for signer in &look.signers {
        let labels = [("chain", signer.chain.to_string()), ("account", signer.address.to_string())];
        gauge!(HALTED, &labels).set(if signer.halted.is_some() { 1.0 } else { 0.0 });
        gauge!(NEXT_NONCE, &labels).set(signer.next_nonce as f64);
    }
    gauge!(OTHER_CHAIN).set(if look.other_chain().is_some() { 1.0 } else { 0.0 });
    for (account, status) in &look.accounts {
        let Some(gas) = status.gas else { continue };
        let labels = [("account", account.to_string())];
        // For alerts, which need no more digits than a float has.
        gauge!(GAS_WEI, &labels).set(f64::from(gas.balance.0));
        gauge!(GAS_SHORT, &labels).set(if gas.level() == GasLevel::Short { 1.0 } else { 0.0 });
    }
}
