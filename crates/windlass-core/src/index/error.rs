//! What can be wrong with an index, and what to do about it.

use super::{MAX_BLOCK, MAX_CONTRACTS, MAX_EVENTS};
use crate::chain::Address;
use crate::table::Identifier;

/// What is wrong with an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// Nobody to listen to.
    #[error("no contract is named")]
    NoContract,
    /// The zero address.
    #[error("a contract has the zero address, which emits nothing")]
    ZeroAddress,
    /// The same contract twice.
    #[error("contract {0} is named twice")]
    ContractTwice(Address),
    /// More than [`MAX_CONTRACTS`].
    #[error("{0} contracts are named, an index has at most {MAX_CONTRACTS}")]
    TooManyContracts(usize),
    /// Nothing to listen for.
    #[error("no event is named")]
    NoEvent,
    /// More than [`MAX_EVENTS`].
    #[error("{0} events are named, an index has at most {MAX_EVENTS}")]
    TooManyEvents(usize),
    /// The same event twice.
    #[error("event `{0}` is named twice")]
    EventTwice(String),
    /// Two events whose logs look the same.
    #[error("logs of `{0}` and `{1}` cannot be told apart")]
    Ambiguous(String, String),
    /// No such field in the event that creates.
    #[error("event `{event}` has no field `{field}`")]
    NoField {
        /// The event.
        event: String,
        /// What was asked for.
        field: String,
        /// The fields that hold an address.
        addresses: Vec<String>,
    },
    /// That field holds something else.
    #[error("field `{field}` of event `{event}` is `{found}`, not an address")]
    NotAnAddress {
        /// The event.
        event: String,
        /// The field.
        field: String,
        /// Its type.
        found: String,
        /// The fields that hold an address.
        addresses: Vec<String>,
    },
    /// A block that no store can hold.
    #[error("start block {0} is above {MAX_BLOCK}")]
    StartTooHigh(u64),
    /// Its tables would be mistaken for the database's own.
    #[error("an index cannot be called `{0}`: names that begin so belong to the database")]
    Reserved(Identifier),
}

impl IndexError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NoContract => "name one: `contract = \"0x…\"`".to_owned(),
            Self::ZeroAddress | Self::ContractTwice(_) => "take it out of `contract`".to_owned(),
            Self::TooManyContracts(_) => {
                "name the contract that creates them, or make several indexes".to_owned()
            }
            Self::NoEvent => {
                "name one: `events = [\"Transfer(address indexed from, …)\"]`, or an `abi`".to_owned()
            }
            Self::TooManyEvents(_) => "make several indexes".to_owned(),
            Self::EventTwice(_) => "take one of them out of `events`".to_owned(),
            Self::Ambiguous(..) => {
                "they differ only in which fields are `indexed`: keep the one that the contract emits"
                    .to_owned()
            }
            Self::NoField { addresses, .. } | Self::NotAnAddress { addresses, .. } => {
                if addresses.is_empty() {
                    "it has no address: take another event".to_owned()
                } else {
                    format!("it has {}", addresses.join(", "))
                }
            }
            Self::StartTooHigh(_) => "a block number is meant, not a time".to_owned(),
            Self::Reserved(_) => "choose another name".to_owned(),
        }
    }
}
