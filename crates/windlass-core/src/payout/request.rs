//! What is asked for: so much of a token to somebody, once.
//!
//! Whoever asks gives a key of their own. The id under which the vault knows the
//! request is derived from it, so that a second payment for the same key is refused
//! by the vault itself, whatever a database has forgotten.

use std::fmt;

use alloy_primitives::keccak256;
use serde::{Deserialize, Serialize};

use super::memo::is_hidden;
use crate::chain::{Address, B256, ChainId, U256};
use crate::time::Timestamp;

/// The longest key.
pub const MAX_KEY_BYTES: usize = 200;

/// A key that the asking side has chosen: the same key is the same payout, for ever.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IdempotencyKey(String);

/// The text is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an idempotency key has 1 to {MAX_KEY_BYTES} bytes without spaces around it or control characters")]
pub struct IdempotencyKeyError;

impl IdempotencyKey {
    /// Checks and takes a key.
    pub fn new(text: impl Into<String>) -> Result<Self, IdempotencyKeyError> {
        let text = text.into();
        let fits = (1..=MAX_KEY_BYTES).contains(&text.len());
        if !fits || text.trim() != text || text.chars().any(char::is_control) {
            return Err(IdempotencyKeyError);
        }
        Ok(Self(text))
    }

    /// What stands for a key that could not be read: no key is empty.
    pub(super) const fn unreadable() -> Self {
        Self(String::new())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for IdempotencyKey {
    type Error = IdempotencyKeyError;
    fn try_from(text: String) -> Result<Self, IdempotencyKeyError> {
        Self::new(text)
    }
}

impl From<IdempotencyKey> for String {
    fn from(key: IdempotencyKey) -> Self {
        key.0
    }
}

/// The vault that pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VaultRef {
    /// Its chain.
    pub chain: ChainId,
    /// Its contract.
    pub address: Address,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PayoutRequest {
    /// Which vault pays.
    pub vault: VaultRef,
    /// The token's contract.
    pub token: Address,
    /// Who gets it.
    pub to: Address,
    /// How much, in base units.
    #[serde(with = "super::decimal")]
    pub amount: U256,
    /// The asking side's key.
    pub key: IdempotencyKey,
}

/// What no vault would pay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PayoutRequestError {
    /// The zero address.
    #[error("the recipient is the zero address")]
    ZeroRecipient,
    /// The vault, or the token's own contract.
    #[error("the recipient is the vault or the token itself")]
    SelfRecipient,
    /// Nothing.
    #[error("the amount is zero")]
    ZeroAmount,
    /// A key that shows otherwise than it is written. One that is stored stays readable.
    #[error("the idempotency key has line separators, or characters that change the direction of text")]
    HiddenInKey,
}

impl PayoutRequest {
    /// Refuses what no vault would pay.
    pub fn validate(&self) -> Result<(), PayoutRequestError> {
        if self.to.is_zero() {
            return Err(PayoutRequestError::ZeroRecipient);
        }
        if self.to == self.vault.address || self.to == self.token {
            return Err(PayoutRequestError::SelfRecipient);
        }
        if self.amount.is_zero() {
            return Err(PayoutRequestError::ZeroAmount);
        }
        if self.key.as_str().chars().any(is_hidden) {
            return Err(PayoutRequestError::HiddenInKey);
        }
        Ok(())
    }

    /// The id under which the vault knows it: of the chain, the vault and the key. The
    /// key comes last behind fields of a fixed length, so no two read alike.
    pub fn request_id(&self) -> B256 {
        let chain = U256::from(self.vault.chain.as_u64()).to_be_bytes::<32>();
        keccak256([&chain, self.vault.address.as_slice(), self.key.as_str().as_bytes()].concat())
    }

    /// What tells two requests of one key apart.
    pub fn parameters_hash(&self) -> B256 {
        let chain = U256::from(self.vault.chain.as_u64()).to_be_bytes::<32>();
        let amount = self.amount.to_be_bytes::<32>();
        let fields =
            [&chain[..], self.vault.address.as_slice(), self.token.as_slice(), self.to.as_slice(), &amount];
        keccak256(fields.concat())
    }
}

/// A payout's own id: a UUID of version 7, so that ids sort as payouts were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PayoutId(u128);

/// The text is not a UUID in lower case.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a payout's id")]
pub struct PayoutIdError(String);

impl PayoutId {
    /// An id of an instant; `random` tells those of one millisecond apart.
    pub const fn new(at: Timestamp, random: u128) -> Self {
        const VERSION: u128 = 7 << 76;
        const VARIANT: u128 = 0b10 << 62;
        const RANDOM: u128 = (0xfff << 64) | ((1 << 62) - 1);
        let at_ms = (at.as_ms().cast_unsigned() as u128) & ((1 << 48) - 1);
        Self((at_ms << 80) | VERSION | VARIANT | (random & RANDOM))
    }
}

impl PayoutId {
    /// The id of a number, whether or not a payout could have it: a bound of a range.
    pub(super) const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// The instant that it begins with.
    pub const fn created_at(self) -> Timestamp {
        Timestamp::from_ms((self.0 >> 80) as i64)
    }

    /// The least id of an instant: every payout that was created before it has a lower one.
    pub const fn first_at(at: Timestamp) -> Self {
        Self::new(at, 0)
    }
}

impl fmt::Display for PayoutId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:032x}", self.0);
        let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
        f.write_str(&parts.join("-"))
    }
}

impl std::str::FromStr for PayoutId {
    type Err = PayoutIdError;
    fn from_str(text: &str) -> Result<Self, PayoutIdError> {
        let wrong = || PayoutIdError(text.to_owned());
        let id = u128::from_str_radix(&text.replace('-', ""), 16).map(Self).map_err(|_| wrong())?;
        if id.to_string() == text { Ok(id) } else { Err(wrong()) }
    }
}

impl Serialize for PayoutId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PayoutId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_are_written_as_digits_and_read_back() {
        let request = PayoutRequest {
            vault: VaultRef { chain: ChainId::new(1).expect("an id"), address: Address::repeat_byte(1) },
            token: Address::repeat_byte(2),
            to: Address::repeat_byte(3),
            amount: U256::MAX,
            key: IdempotencyKey::new("k").expect("a key"),
        };
        let text = serde_json::to_value(&request).expect("json");
        assert_eq!(text["amount"], U256::MAX.to_string());
        assert_eq!(serde_json::from_value::<PayoutRequest>(text).expect("read back"), request);
    }

    fn request(key: &str) -> PayoutRequest {
        PayoutRequest {
            vault: VaultRef { chain: ChainId::new(1).expect("an id"), address: Address::repeat_byte(1) },
            token: Address::repeat_byte(2),
            to: Address::repeat_byte(3),
            amount: U256::from(5),
            key: IdempotencyKey::new(key).expect("a key"),
        }
    }

    #[test]
    fn the_request_id_is_of_chain_vault_and_key_alone() {
        let one = request("invoice-7");
        let id = one.request_id();
        assert_eq!(
            PayoutRequest { amount: U256::from(6), to: Address::ZERO, ..one.clone() }.request_id(),
            id
        );
        let chain = ChainId::new(2).expect("an id");
        assert_ne!(PayoutRequest { vault: VaultRef { chain, ..one.vault }, ..one.clone() }.request_id(), id);
        let address = Address::repeat_byte(9);
        assert_ne!(
            PayoutRequest { vault: VaultRef { address, ..one.vault }, ..one.clone() }.request_id(),
            id
        );
        assert_ne!(request("invoice-8").request_id(), id);
    }

    #[test]
    fn any_other_parameter_is_told_apart() {
        let one = request("k");
        let others = [
            PayoutRequest { amount: U256::from(6), ..one.clone() },
            PayoutRequest { to: Address::repeat_byte(8), ..one.clone() },
            PayoutRequest { token: Address::repeat_byte(8), ..one.clone() },
        ];
        assert!(others.iter().all(|other| other.parameters_hash() != one.parameters_hash()));
        assert_eq!(request("another key").parameters_hash(), one.parameters_hash());
    }

    #[test]
    fn what_no_vault_pays_is_refused() {
        let good = request("k");
        assert_eq!(good.validate(), Ok(()));
        let refused = |request: PayoutRequest| request.validate().expect_err("refused");
        assert_eq!(
            refused(PayoutRequest { to: Address::ZERO, ..good.clone() }),
            PayoutRequestError::ZeroRecipient
        );
        for to in [good.vault.address, good.token] {
            assert_eq!(refused(PayoutRequest { to, ..good.clone() }), PayoutRequestError::SelfRecipient);
        }
        assert_eq!(
            refused(PayoutRequest { amount: U256::ZERO, ..good.clone() }),
            PayoutRequestError::ZeroAmount
        );
        // It would show an approver another text than the one that it is.
        assert_eq!(refused(request("a\u{202e}b")), PayoutRequestError::HiddenInKey);
    }

    #[test]
    fn keys_are_bounded_and_plain() {
        for bad in ["", " k", "k ", "a\nb", &"x".repeat(MAX_KEY_BYTES + 1)] {
            assert_eq!(IdempotencyKey::new(bad), Err(IdempotencyKeyError), "{bad:?}");
        }
        assert!(IdempotencyKey::new("x".repeat(MAX_KEY_BYTES)).is_ok());
    }

    proptest! {
        #[test]
        fn ids_read_back_and_sort_by_time(at in 0_i64..1 << 47, random: u128, later in 1_i64..1 << 40, other: u128) {
            let id = PayoutId::new(Timestamp::from_ms(at), random);
            prop_assert_eq!(id.to_string().parse(), Ok(id));
            prop_assert_eq!(&id.to_string()[14..15], "7");
            prop_assert!(PayoutId::first_at(Timestamp::from_ms(at)) <= id);
            prop_assert!(id < PayoutId::first_at(Timestamp::from_ms(at + later)));
            prop_assert!(id < PayoutId::new(Timestamp::from_ms(at + later), other));
            prop_assert!(id.to_string() < PayoutId::new(Timestamp::from_ms(at + later), other).to_string());
        }
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for bad in ["", "7", "018F0000-0000-7000-8000-000000000000", "018f000000007000800000000000000"] {
            assert!(bad.parse::<PayoutId>().is_err(), "{bad}");
        }
    }
}
