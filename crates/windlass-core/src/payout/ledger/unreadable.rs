//! Rows that a store cannot read: a column holds a value that does not belong there.
//!
//! A store gives such a row as one that has its id, nothing else, and a code that no row carries. So it
//! fails no page of rows, is never authentic, and the ledger refuses it like any other forged row.

use super::{
    ApiKey, Approval, Attempt, Budget, BudgetKey, Intent, IntentId, IntentState, LedgerRow, Payout, Role,
    SignerRow,
};
use crate::chain::{Address, B256, Bytes, ChainId, U256};
use crate::payout::fees::GasFees;
use crate::payout::request::{IdempotencyKey, PayoutId, PayoutRequest, VaultRef};
use crate::time::Timestamp;

/// The code of a row that could not be read.
const UNREADABLE: B256 = B256::repeat_byte(0xff);
const NEVER: Timestamp = Timestamp::from_ms(0);

/// Whether a row is one that its store could not read.
pub fn is_unreadable(row: &impl LedgerRow) -> bool {
    row.mac() == UNREADABLE
}

impl Payout {
    /// The payout of this id, whose row cannot be read. The chain is any: nothing of it counts.
    pub fn unreadable(id: PayoutId) -> Self {
        let vault = VaultRef { chain: ChainId::MAX, address: Address::ZERO };
        let request = PayoutRequest {
            vault,
            token: Address::ZERO,
            to: Address::ZERO,
            amount: U256::ZERO,
            key: IdempotencyKey::unreadable(),
        };
        Self { version: 0, mac: UNREADABLE, ..Self::new(id, request, "", NEVER) }
    }

    /// The payout as it was read, which stands in the database under a request id. Under another one
    /// than its request's it was not written by Windlass as it stands: its code does not count.
    #[must_use]
    pub fn stored_under(self, request_id: B256) -> Self {
        let is_its = request_id == self.request.request_id();
        Self { mac: if is_its { self.mac } else { B256::ZERO }, ..self }
    }
}

impl Approval {
    /// The approval of a payout by somebody, whose row cannot be read.
    pub fn unreadable(payout: PayoutId, approver: impl Into<String>) -> Self {
        Self { payout, approver: approver.into(), at: NEVER, mac: UNREADABLE }
    }
}

impl Budget {
    /// The sum of a key, whose row cannot be read.
    pub const fn unreadable(key: BudgetKey) -> Self {
        // Version 0 is a sum that is not there.
        Self { key, version: -1, total: U256::MAX, mac: UNREADABLE }
    }
}

impl Intent {
    /// The transaction of this id, whose row cannot be read.
    pub const fn unreadable(id: IntentId) -> Self {
        Self {
            id,
            version: 0,
            to: Address::ZERO,
            data: Bytes::new(),
            gas_limit: 0,
            payouts: Vec::new(),
            created_at: NEVER,
            state: IntentState::Open,
            updated_at: NEVER,
            attempts: 0,
            signed_at_block: 0,
            inclusion: None,
            receipt: None,
            mac: UNREADABLE,
        }
    }
}

impl Attempt {
    /// A signed form whose row cannot be read: it has no bytes, so its account has not signed it.
    pub const fn unreadable(intent: IntentId, number: u32) -> Self {
        let fees = GasFees { max_fee: 0, priority_fee: 0 };
        Self { intent, number, hash: B256::ZERO, fees, raw: Bytes::new(), created_at: NEVER }
    }

    /// Whether its row could not be read.
    pub fn is_unreadable(&self) -> bool {
        self.raw.is_empty()
    }
}

impl SignerRow {
    /// The account of this address, whose row cannot be read.
    pub fn unreadable(chain: ChainId, address: Address) -> Self {
        let row = Self::new(chain, address, 0, NEVER);
        Self { version: 0, halted: Some("its row cannot be read".to_owned()), mac: UNREADABLE, ..row }
    }
}

impl ApiKey {
    /// The key of this name, whose row cannot be read.
    pub fn unreadable(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: 0,
            role: Role::Viewer,
            hash: B256::ZERO,
            created_at: NEVER,
            revoked_at: Some(NEVER),
            mac: UNREADABLE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payout::audit::AuditKey;

    const KEY: AuditKey = AuditKey::new([7; 32]);

    fn is_refused(row: &impl LedgerRow) -> bool {
        is_unreadable(row) && !KEY.is_authentic(row)
    }

    #[test]
    fn what_cannot_be_read_is_never_authentic() {
        let payout = PayoutId::new(NEVER, 1);
        let chain = ChainId::new(1).expect("an id");
        let address = Address::repeat_byte(1);
        let vault = VaultRef { chain, address };
        let key = BudgetKey { vault, token: address, day: crate::payout::day::UtcDay(1), to: None };
        let intent = IntentId { chain, signer: address, nonce: 1 };
        assert!(is_refused(&Payout::unreadable(payout)));
        assert!(is_refused(&Approval::unreadable(payout, "ann")));
        assert!(is_refused(&Budget::unreadable(key)));
        assert!(is_refused(&Intent::unreadable(intent)));
        assert!(is_refused(&SignerRow::unreadable(chain, address)));
        assert!(is_refused(&ApiKey::unreadable("ann")));
        assert!(Attempt::unreadable(intent, 1).is_unreadable());
    }

    #[test]
    fn a_payout_under_another_request_id_loses_its_code() {
        let mut payout = Payout::unreadable(PayoutId::new(NEVER, 1));
        KEY.authenticate(&mut payout);
        let its = payout.request.request_id();
        assert!(KEY.is_authentic(&payout.clone().stored_under(its)));
        assert!(!KEY.is_authentic(&payout.stored_under(B256::ZERO)));
    }
}
