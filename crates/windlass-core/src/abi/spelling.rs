//! How types are written: canonical, as they enter an event's hash, or with the names of
//! components, as they are read back.

use std::fmt;

use super::kind::{AbiType, Component, WordType};

impl AbiType {
    /// The type with the names of components, as it is read back.
    pub(super) fn named(&self) -> Named<'_> {
        Named(self)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, names: bool) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "{word}"),
            Self::Bytes => f.write_str("bytes"),
            Self::Text => f.write_str("string"),
            Self::List(item) => {
                item.write(f, names)?;
                f.write_str("[]")
            }
            Self::Array(item, len) => {
                item.write(f, names)?;
                write!(f, "[{len}]")
            }
            Self::Tuple(components) => write_tuple(components, f, names),
        }
    }
}

fn write_tuple(components: &[Component], f: &mut fmt::Formatter<'_>, names: bool) -> fmt::Result {
    f.write_str("(")?;
    for (place, component) in components.iter().enumerate() {
        if place > 0 {
            f.write_str(if names { ", " } else { "," })?;
        }
        component.ty.write(f, names)?;
        if names && !component.name.is_empty() {
            write!(f, " {}", component.name)?;
        }
    }
    f.write_str(")")
}

impl fmt::Display for WordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Address => f.write_str("address"),
            Self::Uint(bits) => write!(f, "uint{bits}"),
            Self::Int(bits) => write!(f, "int{bits}"),
            Self::Bytes(len) => write!(f, "bytes{len}"),
            Self::Function => f.write_str("function"),
        }
    }
}

/// The canonical name, as it enters an event's hash.
impl fmt::Display for AbiType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, false)
    }
}

/// See [`AbiType::named`].
pub(super) struct Named<'a>(&'a AbiType);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f, true)
    }
}
