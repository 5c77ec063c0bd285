//! Payouts and what belongs to them.

use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use windlass_core::chain::{Address, B256, BlockRef, ChainId, U256};
use windlass_core::payout::audit::{AuditEntry, AuditKey};
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::fees::GasFees;
use windlass_core::payout::ledger::{Attempt, BudgetKey, Inclusion, Intent, IntentId, IntentState, Payout};
use windlass_core::payout::request::{IdempotencyKey, PayoutId, PayoutRequest, VaultRef};
use windlass_core::payout::transaction::Transaction;
use windlass_core::time::Timestamp;

/// The log's key in every case.
pub const AUDIT_KEY: AuditKey = AuditKey::new([7; 32]);

/// The vault of every case.
pub fn vault() -> VaultRef {
    VaultRef { chain: ChainId::new(1).expect("an id"), address: Address::repeat_byte(0x11) }
}

/// A payout that was just asked for, told from others by a number.
pub fn payout(number: u8) -> Payout {
    let at = Timestamp::from_ms(1_000 + i64::from(number));
    let request = PayoutRequest {
        vault: vault(),
        token: Address::repeat_byte(0x22),
        to: Address::repeat_byte(number),
        amount: U256::MAX - U256::from(number),
        key: IdempotencyKey::new(format!("key-{number}")).expect("a key"),
    };
    let payout = Payout::new(PayoutId::new(at, u128::from(number)), request, "asker", at);
    Payout { mac: B256::repeat_byte(number), ..payout }
}

/// A transaction's id.
pub fn intent_id(nonce: u64) -> IntentId {
    IntentId { chain: vault().chain, signer: signer().address(), nonce }
}

/// The account that signs in every case.
fn signer() -> PrivateKeySigner {
    PrivateKeySigner::from_bytes(&B256::repeat_byte(1)).expect("a key")
}

/// A transaction that pays these.
pub fn intent(nonce: u64, payouts: &[&Payout]) -> Intent {
    let at = Timestamp::from_ms(2_000);
    Intent {
        id: intent_id(nonce),
        version: 1,
        to: vault().address,
        data: vec![1, 2, 3].into(),
        gas_limit: 90_000,
        payouts: payouts.iter().map(|payout| payout.id).collect(),
        created_at: at,
        state: IntentState::Open,
        updated_at: at,
        attempts: 1,
        signed_at_block: 5,
        inclusion: None,
        receipt: None,
        mac: B256::repeat_byte(0x4d),
    }
}

/// A signed form of a transaction.
pub fn attempt(nonce: u64, number: u32) -> Attempt {
    let fees = GasFees { max_fee: u128::MAX, priority_fee: u128::from(number) };
    let Intent { to, data, gas_limit, .. } = intent(nonce, &[]);
    let transaction = Transaction { chain: vault().chain, nonce, to: Some(to), data, gas_limit, fees };
    let signature = signer().sign_hash_sync(&transaction.signing_hash()).expect("signed");
    let signed = transaction.signed(&signature);
    Attempt {
        intent: intent_id(nonce),
        number,
        hash: signed.hash,
        fees,
        raw: signed.raw,
        created_at: Timestamp::from_ms(2_001),
    }
}

/// A place in a block.
pub fn inclusion(number: u64) -> Inclusion {
    let block = BlockRef { number, hash: B256::repeat_byte(number as u8) };
    Inclusion { transaction: B256::repeat_byte(0xaa), block }
}

/// A day's sum for everybody or for somebody.
pub fn budget_key(day: i64, to: Option<u8>) -> BudgetKey {
    let to = to.map(Address::repeat_byte);
    BudgetKey { vault: vault(), token: Address::repeat_byte(0x22), day: UtcDay(day), to }
}

/// An entry of the audit log.
pub fn audit_entry(action: &str, subject: &str) -> AuditEntry {
    AuditEntry {
        actor: "worker".to_owned(),
        action: action.to_owned(),
        subject: subject.to_owned(),
        detail: "{\"é\":1}".to_owned(),
        rows: format!("[\"{subject}\"]"),
    }
}
