//! The names by which stored things are addressed.
//!
//! Each is its own type, so that a queue cannot be passed where a lease is
//! meant, and each is bounded, so that a key column cannot grow without limit.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest name, in bytes.
pub const MAX_NAME_BYTES: usize = 256;

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing but white space.
    #[error("a {kind} must not be blank")]
    Blank {
        /// What the name is of.
        kind: &'static str,
    },
    /// Longer than [`MAX_NAME_BYTES`].
    #[error("a {kind} is at most {MAX_NAME_BYTES} bytes long, this one has {bytes}")]
    TooLong {
        /// What the name is of.
        kind: &'static str,
        /// How long it is.
        bytes: usize,
    },
    /// A control character, which PostgreSQL or a terminal would trip over.
    #[error("a {kind} must not hold control characters")]
    Control {
        /// What the name is of.
        kind: &'static str,
    },
}

fn check(kind: &'static str, text: &str) -> Result<(), NameError> {
    if text.trim().is_empty() {
        return Err(NameError::Blank { kind });
    }
    if text.len() > MAX_NAME_BYTES {
        return Err(NameError::TooLong { kind, bytes: text.len() });
    }
    if text.chars().any(char::is_control) {
        return Err(NameError::Control { kind });
    }
    Ok(())
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident = $kind:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks and takes a name.
            pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
                let text: String = text.into();
                check($kind, &text)?;
                Ok(Self(text.into()))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0.as_ref().to_owned()
            }
        }
    )*};
}

names! {
    /// A kind of work; its lanes are claimed together.
    Queue = "queue";
    /// The serial key of a lane within its queue: a wallet, a chain, a range.
    LaneKey = "lane key";
    /// What a lease is on.
    LeaseName = "lease name";
    /// One worker of one process run; never shared by two.
    Owner = "owner";
    /// What a cursor is the position of.
    CursorName = "cursor name";
    /// The serial key of messages: their order is kept within it.
    Partition = "partition";
    /// A destination of the outbox, with a position of its own.
    Sink = "sink";
    /// What a piece of state is about.
    StateKey = "state key";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_neither_blank_nor_long_nor_unprintable() {
        assert_eq!(Queue::new("  "), Err(NameError::Blank { kind: "queue" }));
        assert!(Queue::new("x".repeat(MAX_NAME_BYTES)).is_ok());
        assert!(matches!(
            Queue::new("x".repeat(MAX_NAME_BYTES + 1)),
            Err(NameError::TooLong { bytes: 257, .. })
        ));
        assert_eq!(Owner::new("a\0b"), Err(NameError::Control { kind: "owner" }));
    }

    #[test]
    fn reading_a_name_checks_it() {
        assert!(serde_json::from_str::<Sink>("\"\"").is_err());
        assert_eq!(serde_json::from_str::<Sink>("\"nats\"").expect("a name").as_str(), "nats");
    }
}
