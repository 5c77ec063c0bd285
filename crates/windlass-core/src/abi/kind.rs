//! The types of event fields, with the names of a tuple's components.
//!
//! alloy reads the names of types; its own tree keeps no component names, which
//! the JSON of a tuple needs, so this is the tree that everything here walks.

use alloy_dyn_abi::DynSolType;

use super::check_field_name;
use super::error::AbiError;
use crate::table::ColumnKind;

/// How deep arrays and tuples may be nested: as deep as alloy's decoder follows, which
/// takes two of its 16 steps for an array and one for bytes in it.
pub const MAX_NESTING: usize = 7;

/// The most words a type may take at the least: fixed arrays have no limit of their own.
pub const MAX_STATIC_WORDS: usize = 4_096;

/// A type whose every value is one word of 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WordType {
    /// `bool`.
    Bool,
    /// `address`.
    Address,
    /// `uint8` to `uint256`, by bits.
    Uint(u16),
    /// `int8` to `int256`, by bits.
    Int(u16),
    /// `bytes1` to `bytes32`, by length.
    Bytes(u8),
    /// `function`: an address and a selector, 24 bytes.
    Function,
}

/// A type of an event's field.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AbiType {
    /// One word.
    Word(WordType),
    /// `bytes`.
    Bytes,
    /// `string`.
    Text,
    /// `T[]`.
    List(Box<AbiType>),
    /// `T[n]`.
    Array(Box<AbiType>, usize),
    /// A struct.
    Tuple(Vec<Component>),
}

/// A component of a tuple.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Component {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its type.
    pub ty: AbiType,
}

impl WordType {
    /// What a column of such values holds.
    pub const fn column(self) -> ColumnKind {
        match self {
            Self::Bool => ColumnKind::Bool,
            Self::Address => ColumnKind::Address,
            Self::Uint(bits) if bits <= 56 => ColumnKind::Integer,
            Self::Uint(_) => ColumnKind::Uint,
            Self::Int(bits) if bits <= 64 => ColumnKind::Integer,
            Self::Int(_) => ColumnKind::Int,
            Self::Bytes(_) | Self::Function => ColumnKind::Bytes,
        }
    }

    fn check(self) -> Result<(), AbiError> {
        let exists = match self {
            Self::Bool | Self::Address | Self::Function => true,
            Self::Uint(bits) | Self::Int(bits) => bits % 8 == 0 && (8..=256).contains(&bits),
            Self::Bytes(len) => (1..=32).contains(&len),
        };
        if exists { Ok(()) } else { Err(AbiError::new(format!("there is no type `{self}`"))) }
    }
}

impl AbiType {
    /// What a column of such values holds. An indexed value that is longer than a topic
    /// is there as its hash only.
    pub const fn column(&self, indexed: bool) -> ColumnKind {
        match self {
            Self::Word(word) => word.column(),
            _ if indexed => ColumnKind::Bytes,
            Self::Bytes => ColumnKind::Bytes,
            Self::Text => ColumnKind::Text,
            Self::List(_) | Self::Array(..) | Self::Tuple(_) => ColumnKind::Json,
        }
    }

    /// Whether its place in the data holds an offset to where the value is.
    pub fn is_dynamic(&self) -> bool {
        match self {
            Self::Word(_) => false,
            Self::Bytes | Self::Text | Self::List(_) => true,
            Self::Array(item, _) => item.is_dynamic(),
            Self::Tuple(components) => components.iter().any(|component| component.ty.is_dynamic()),
        }
    }

    /// The least number of words of a value, as alloy counts them: an offset or a length
    /// is one, what stands behind it counts only inside fixed arrays and tuples.
    pub fn least_words(&self) -> usize {
        match self {
            Self::Word(_) | Self::Bytes | Self::Text | Self::List(_) => 1,
            Self::Array(item, len) => item.least_words().saturating_mul(*len),
            Self::Tuple(components) => components
                .iter()
                .fold(0, |words: usize, component| words.saturating_add(component.ty.least_words())),
        }
    }

    fn nesting(&self) -> usize {
        match self {
            Self::Word(_) | Self::Bytes | Self::Text => 0,
            Self::List(item) | Self::Array(item, _) => 1 + item.nesting(),
            Self::Tuple(components) => {
                1 + components.iter().map(|component| component.ty.nesting()).max().unwrap_or(0)
            }
        }
    }

    /// Refuses what no contract can emit and no decoder should be made to follow.
    pub(super) fn check(&self) -> Result<(), AbiError> {
        if self.nesting() > MAX_NESTING {
            return Err(AbiError::new(format!(
                "arrays and tuples are nested deeper than {MAX_NESTING} levels"
            )));
        }
        if self.least_words() > MAX_STATIC_WORDS {
            return Err(AbiError::new(format!("a value takes more than {MAX_STATIC_WORDS} words")));
        }
        self.check_parts()
    }

    fn check_parts(&self) -> Result<(), AbiError> {
        match self {
            Self::Bytes | Self::Text => Ok(()),
            Self::Word(word) => word.check(),
            Self::Array(_, 0) => Err(AbiError::new("an array has room for nothing")),
            Self::List(item) | Self::Array(item, _) => item.check_parts(),
            Self::Tuple(components) if components.is_empty() => {
                Err(AbiError::new("a tuple has no components")
                    .with_hint("write the struct's fields between the parentheses"))
            }
            Self::Tuple(components) => components.iter().try_for_each(|component| {
                check_field_name(&component.name)?;
                component.ty.check_parts()
            }),
        }
    }

    /// The type in square brackets after a type: `[]` without a length.
    pub(super) fn listed(self, len: Option<usize>) -> Self {
        match len {
            Some(len) => Self::Array(Box::new(self), len),
            None => Self::List(Box::new(self)),
        }
    }
}

impl From<&DynSolType> for AbiType {
    fn from(ty: &DynSolType) -> Self {
        let narrow = |size: usize| u16::try_from(size).unwrap_or(u16::MAX);
        match ty {
            DynSolType::Bool => Self::Word(WordType::Bool),
            DynSolType::Address => Self::Word(WordType::Address),
            DynSolType::Uint(bits) => Self::Word(WordType::Uint(narrow(*bits))),
            DynSolType::Int(bits) => Self::Word(WordType::Int(narrow(*bits))),
            DynSolType::FixedBytes(len) => Self::Word(WordType::Bytes(u8::try_from(*len).unwrap_or(32))),
            DynSolType::Function => Self::Word(WordType::Function),
            DynSolType::Bytes => Self::Bytes,
            DynSolType::String => Self::Text,
            DynSolType::Array(item) => Self::from(&**item).listed(None),
            DynSolType::FixedArray(item, len) => Self::from(&**item).listed(Some(*len)),
            DynSolType::Tuple(items) => Self::Tuple(
                items.iter().map(|item| Component { name: String::new(), ty: Self::from(item) }).collect(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty(text: &str) -> AbiType {
        AbiType::from(&DynSolType::parse(text).expect("a type"))
    }

    #[test]
    fn kinds_are_the_narrowest_that_hold_every_value() {
        for (text, kind) in [
            ("uint8", ColumnKind::Integer),
            ("uint56", ColumnKind::Integer),
            ("uint64", ColumnKind::Uint),
            ("uint256", ColumnKind::Uint),
            ("int64", ColumnKind::Integer),
            ("int72", ColumnKind::Int),
            ("bool", ColumnKind::Bool),
            ("address", ColumnKind::Address),
            ("bytes4", ColumnKind::Bytes),
            ("function", ColumnKind::Bytes),
            ("bytes", ColumnKind::Bytes),
            ("string", ColumnKind::Text),
            ("uint8[]", ColumnKind::Json),
            ("uint8[2]", ColumnKind::Json),
            ("(bool,string)", ColumnKind::Json),
        ] {
            assert_eq!(ty(text).column(false), kind, "{text}");
        }
    }

    #[test]
    fn an_indexed_value_longer_than_a_topic_is_a_hash() {
        for text in ["string", "bytes", "uint8[]", "uint8[2]", "(bool,bool)"] {
            assert_eq!(ty(text).column(true), ColumnKind::Bytes, "{text}");
        }
        assert_eq!(ty("uint8").column(true), ColumnKind::Integer);
    }

    #[test]
    fn words_and_names_are_alloys() {
        for text in ["uint8", "(string,uint8)[3]", "bytes[2][]", "((bool,address),int8)", "uint8[3][2]"] {
            let alloy = DynSolType::parse(text).expect("a type");
            let ours = ty(text);
            assert_eq!(ours.least_words(), alloy.minimum_words(), "{text}");
            assert_eq!(ours.is_dynamic(), alloy.is_dynamic(), "{text}");
            assert_eq!(ours.to_string(), text);
        }
    }

    #[test]
    fn what_cannot_be_decoded_is_refused() {
        assert!(ty("()").check().is_err());
        assert!(ty("(bool,())[2]").check().is_err());
        assert!(AbiType::Array(Box::new(ty("bool")), 0).check().is_err());
        for word in [WordType::Uint(264), WordType::Int(0), WordType::Uint(9), WordType::Bytes(33)] {
            assert!(AbiType::Word(word).check().is_err(), "{word}");
        }
        let odd = Component { name: "a\"b".to_owned(), ty: ty("bool") };
        assert!(AbiType::Tuple(vec![odd]).check().is_err());
        assert!(ty(&format!("bool{}", "[]".repeat(MAX_NESTING))).check().is_ok());
        assert!(ty(&format!("bool{}", "[]".repeat(MAX_NESTING + 1))).check().is_err());
        assert!(ty("uint256[4096]").check().is_ok());
        assert!(ty("uint256[4097]").check().is_err());
        assert!(ty("uint256[99999999999][99999999999]").check().is_err());
    }
}
