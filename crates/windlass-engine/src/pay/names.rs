//! Under which names a vault's payouts keep their things.

use windlass_core::chain::Address;
use windlass_core::name::{CursorName, LaneKey, LeaseName, NameError, Partition, Queue, StateKey};
use windlass_core::payout::ledger::IntentId;
use windlass_core::payout::request::{PayoutId, VaultRef};

/// The names of one vault.
#[derive(Debug, Clone)]
pub struct PayNames {
    chain: String,
    /// Payouts that are to be signed: a lane each.
    pub submit: Queue,
    /// Transactions that are followed: a lane each.
    pub track: Queue,
    /// The messages about its payouts.
    pub partition: Partition,
    /// The process that holds it compares payments on the schedule.
    pub reconciling: LeaseName,
    /// When a process that compared payments stopped, in milliseconds since 1970.
    pub stopped: StateKey,
    /// Payouts whose final payments are gone, as a list of ids. Their rows decide; this says which to read.
    pub lost: StateKey,
    /// The last block whose events of the vault were compared.
    pub reconciled: CursorName,
}

impl PayNames {
    /// The names of a vault.
    pub fn new(vault: VaultRef) -> Result<Self, NameError> {
        let subject = format!("pay/{}/{:#x}", vault.chain, vault.address);
        Ok(Self {
            chain: vault.chain.to_string(),
            submit: Queue::new(format!("{subject}/submit"))?,
            track: Queue::new(format!("{subject}/track"))?,
            partition: Partition::new(subject.clone())?,
            reconciling: LeaseName::new(format!("{subject}/reconciling"))?,
            stopped: StateKey::new(format!("{subject}/stopped"))?,
            lost: StateKey::new(format!("{subject}/lost"))?,
            reconciled: CursorName::new(format!("{subject}/reconciled"))?,
        })
    }

    /// Who holds it gives out the account's nonces. An account may serve several vaults.
    pub fn signer(&self, address: Address) -> Result<LeaseName, NameError> {
        LeaseName::new(format!("pay/{}/signer/{address:#x}", self.chain))
    }

    /// The lane of a payout that is to be signed.
    pub fn payout_lane(payout: PayoutId) -> Result<LaneKey, NameError> {
        LaneKey::new(payout.to_string())
    }

    /// The lane of a transaction that is followed.
    pub fn intent_lane(intent: IntentId) -> Result<LaneKey, NameError> {
        LaneKey::new(intent.to_string())
    }
}
