//! Transactions that are to be mined, and every signed form of them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::ReceiptSummary;
use crate::chain::{Address, B256, BlockRef, Bytes, ChainId, U256};
use crate::payout::fees::GasFees;
use crate::payout::request::PayoutId;
use crate::time::Timestamp;

/// Which transaction: an account uses every nonce once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IntentId {
    /// On which chain.
    pub chain: ChainId,
    /// Of which account.
    pub signer: Address,
    /// With which nonce.
    pub nonce: u64,
}

/// The text is not `chain-signer-nonce`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no transaction as chain, signer and nonce")]
pub struct IntentIdError(String);

impl fmt::Display for IntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:#x}-{}", self.chain, self.signer, self.nonce)
    }
}

impl FromStr for IntentId {
    type Err = IntentIdError;
    fn from_str(text: &str) -> Result<Self, IntentIdError> {
        let parts: Vec<&str> = text.split('-').collect();
        let [chain, signer, nonce] = parts.as_slice() else { return Err(IntentIdError(text.to_owned())) };
        let read = || {
            let (chain, signer) = (chain.parse().ok()?, signer.parse().ok()?);
            Some(Self { chain, signer, nonce: nonce.parse().ok()? })
        };
        read().filter(|id| id.to_string() == text).ok_or_else(|| IntentIdError(text.to_owned()))
    }
}

impl TryFrom<String> for IntentId {
    type Error = IntentIdError;
    fn try_from(text: String) -> Result<Self, IntentIdError> {
        text.parse()
    }
}

impl From<IntentId> for String {
    fn from(id: IntentId) -> String {
        id.to_string()
    }
}

/// A transaction that is to be mined: of one payout, or of many in a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// Which.
    pub id: IntentId,
    /// How often it was written.
    pub version: i64,
    /// Whom it calls. Never changes, nor does what follows up to the payouts.
    pub to: Address,
    /// With what.
    pub data: Bytes,
    /// With how much gas at most its first form may be mined; a later one may name another limit.
    pub gas_limit: u64,
    /// What it pays, in the order of its calldata.
    pub payouts: Vec<PayoutId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Where it stands.
    pub state: IntentState,
    /// When it was last written.
    pub updated_at: Timestamp,
    /// How many signed forms there are.
    pub attempts: u32,
    /// The newest block when the last of them was made: from here on patience is counted.
    pub signed_at_block: u64,
    /// The block it is in, as far as is known.
    pub inclusion: Option<Inclusion>,
    /// What its receipt in that block says, where an endpoint has told.
    pub receipt: Option<ReceiptSummary>,
    /// What authenticates it: see [`LedgerRow`](super::LedgerRow).
    #[serde(skip)]
    pub mac: B256,
}

/// Where a transaction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum IntentState {
    /// It may be mined, or be in a block that may go.
    Open,
    /// It is in a final block and has done what it was to do.
    Mined,
    /// It is in a final block and was reverted.
    Reverted,
    /// Another transaction has its nonce in a final block.
    Displaced,
}

/// Where a transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Inclusion {
    /// Its hash: of the form that was mined.
    pub transaction: B256,
    /// Its block.
    pub block: BlockRef,
}

/// A signed form of a transaction. Never changes, and is never forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Of which transaction.
    pub intent: IntentId,
    /// The how-manieth, from 1 on.
    pub number: u32,
    /// Its hash.
    pub hash: B256,
    /// What it offers for gas.
    pub fees: GasFees,
    /// The bytes that are sent.
    pub raw: Bytes,
    /// When it was signed.
    pub created_at: Timestamp,
}

impl IntentState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Open, Self::Mined, Self::Reverted, Self::Displaced];

    /// The name under which it is stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "OPEN",
            Self::Mined => "MINED",
            Self::Reverted => "REVERTED",
            Self::Displaced => "DISPLACED",
        }
    }

    /// Whether what it pays must not be paid by another transaction.
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Open | Self::Mined)
    }

    /// The state of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

impl Intent {
    /// One more signed form, made while `block` was the newest.
    #[must_use]
    pub fn signed_again(&self, block: u64, now: Timestamp) -> Self {
        Self { attempts: self.attempts + 1, signed_at_block: block, ..self.next(now) }
    }

    /// It is in a block, or no longer in the one it was in.
    #[must_use]
    pub fn seen(&self, inclusion: Option<Inclusion>, now: Timestamp) -> Self {
        Self { inclusion, receipt: None, ..self.next(now) }
    }

    /// It is over.
    #[must_use]
    pub fn ended(&self, state: IntentState, inclusion: Option<Inclusion>, now: Timestamp) -> Self {
        Self { state, inclusion, receipt: None, ..self.next(now) }
    }

    /// It was final, and the chain lost it: it may be mined again.
    #[must_use]
    pub fn reopened(&self, now: Timestamp) -> Self {
        Self { state: IntentState::Open, inclusion: None, receipt: None, ..self.next(now) }
    }

    /// The same with what the receipt of its inclusion says.
    #[must_use]
    pub fn with_receipt(self, receipt: Option<ReceiptSummary>) -> Self {
        let receipt = receipt.filter(|_| self.inclusion.is_some());
        Self { receipt, ..self }
    }

    /// A payout's share of the fee, in wei; `None` where the fee is not known, or the transaction
    /// does not pay it. The first payouts carry the remainder, so that all shares add up to the fee.
    pub fn fee_share(&self, payout: PayoutId) -> Option<U256> {
        let place = self.payouts.iter().position(|paid| *paid == payout)?;
        let (fee, count) = (self.receipt?.fee(), U256::from(self.payouts.len()));
        let (share, rest) = fee.div_rem(count);
        Some(share + U256::from(u8::from(U256::from(place) < rest)))
    }

    fn next(&self, now: Timestamp) -> Self {
        Self { version: self.version + 1, updated_at: now, ..self.clone() }
    }
}

/// What the transactions of a payout have cost it, in wei: its share of each whose receipt has told,
/// reverted ones as well. `None` where none has.
pub fn fees_of<'a>(payout: PayoutId, intents: impl IntoIterator<Item = &'a Intent>) -> Option<U256> {
    let shares = intents.into_iter().filter_map(|intent| intent.fee_share(payout));
    shares.reduce(|sum, share| sum.saturating_add(share))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_read_back() {
        let id = IntentId {
            chain: ChainId::new(137).expect("an id"),
            signer: Address::repeat_byte(0xab),
            nonce: 12,
        };
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in ["", "1-2-3", "1-0xab-1", "137-0xabababababababababababababababababababab-012"] {
            assert!(bad.parse::<IntentId>().is_err(), "{bad}");
        }
    }

    proptest! {
        /// Nothing is lost or counted twice when a batch's fee is divided.
        #[test]
        fn shares_of_a_fee_add_up_to_it(count in 1_usize..50, gas_used: u64, price in 0..u128::MAX) {
            let payouts: Vec<PayoutId> =
                (0..count).map(|number| PayoutId::new(Timestamp::from_ms(1), number as u128)).collect();
            let receipt = ReceiptSummary { gas_used, effective_gas_price: price, block_timestamp_s: 1 };
            let intent = Intent { receipt: Some(receipt), payouts: payouts.clone(), ..made() };
            let shares: Vec<U256> =
                payouts.iter().map(|payout| intent.fee_share(*payout).expect("a share")).collect();
            prop_assert_eq!(shares.iter().fold(U256::ZERO, |sum, one| sum + one), receipt.fee());
            prop_assert!(shares[0] - shares[count - 1] <= U256::ONE);
            let twice = fees_of(payouts[0], [&intent, &intent]);
            prop_assert_eq!(twice, Some(shares[0] + shares[0]));
            prop_assert_eq!(intent.fee_share(PayoutId::new(Timestamp::from_ms(2), 0)), None);
            prop_assert_eq!(Intent { receipt: None, ..intent }.fee_share(payouts[0]), None);
        }
    }

    fn made() -> Intent {
        let at = Timestamp::from_ms(1);
        Intent {
            id: IntentId { chain: ChainId::new(1).expect("an id"), signer: Address::ZERO, nonce: 1 },
            version: 1,
            to: Address::ZERO,
            data: Bytes::new(),
            gas_limit: 1,
            payouts: Vec::new(),
            created_at: at,
            state: IntentState::Open,
            updated_at: at,
            attempts: 1,
            signed_at_block: 1,
            inclusion: None,
            receipt: None,
            mac: B256::ZERO,
        }
    }

    #[test]
    fn a_receipt_goes_with_its_block() {
        let receipt = Some(ReceiptSummary { gas_used: 1, effective_gas_price: 2, block_timestamp_s: 3 });
        let at = Timestamp::from_ms(2);
        let inclusion =
            Inclusion { transaction: B256::ZERO, block: BlockRef { number: 8, hash: B256::ZERO } };
        assert_eq!(made().with_receipt(receipt).receipt, None, "it is in no block");
        let seen = made().seen(Some(inclusion), at).with_receipt(receipt);
        assert_eq!(seen.receipt, receipt);
        assert_eq!(seen.seen(None, at).receipt, None);
        let mined = seen.ended(IntentState::Mined, Some(inclusion), at).with_receipt(receipt);
        assert_eq!((mined.receipt, mined.reopened(at).receipt), (receipt, None));
    }

    #[test]
    fn what_is_over_without_payment_frees_what_it_was_to_pay() {
        let live: Vec<IntentState> = IntentState::ALL.into_iter().filter(|state| state.is_live()).collect();
        assert_eq!(live, [IntentState::Open, IntentState::Mined]);
        assert!(IntentState::ALL.into_iter().all(|state| IntentState::named(state.as_str()) == Some(state)));
    }
}
