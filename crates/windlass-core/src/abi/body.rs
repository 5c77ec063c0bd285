//! Fields whose place is not one word: bytes, text, arrays and tuples.
//!
//! Offsets and lengths are followed by alloy's cursor, as deep as it goes and as lenient
//! as it is: values may stand in any order, overlap, and have anything behind them.
//! Values are written straight to where they go, without a tree of them in between, and
//! an allowance bounds how much is read: offsets that point to one place many times make
//! a small log large, and a contract may want that.

use alloy_dyn_abi::Decoder as Cursor;
use alloy_primitives::{Bytes, hex};

use super::kind::{AbiType, Component, WordType};
use super::word::WORD_BYTES;
use crate::table::Value;
use crate::table_rules::storable_text;

/// Why a value cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// An offset or a length leads out of the data.
    Beyond,
    /// The data is read over and over.
    Repeats,
    /// A word is no value of its type.
    Word(WordType),
}

/// How much may still be read.
pub(super) struct Allowance {
    bytes: usize,
}

impl Allowance {
    /// So many times the data.
    pub(super) const fn of(data: &[u8], times: usize) -> Self {
        Self { bytes: data.len().saturating_mul(times) }
    }

    fn take_words(&mut self, words: usize) -> Result<(), Fault> {
        let left = words.checked_mul(WORD_BYTES).and_then(|bytes| self.bytes.checked_sub(bytes));
        self.bytes = left.ok_or(Fault::Repeats)?;
        Ok(())
    }
}

/// A body that is being read: where, and how much more of it.
pub(super) struct Body<'d, 'c> {
    cursor: Cursor<'d, 'c>,
}

impl<'d> Body<'d, 'static> {
    pub(super) const fn new(data: &'d [u8]) -> Self {
        Self { cursor: Cursor::new(data) }
    }
}

impl<'d> Body<'d, '_> {
    /// Reads the next value.
    pub(super) fn value(&mut self, ty: &AbiType, allowance: &mut Allowance) -> Result<Value, Fault> {
        match ty {
            AbiType::Word(word) => word.value(self.word(allowance)?).ok_or(Fault::Word(*word)),
            AbiType::Bytes => self.bytes(allowance).map(|bytes| Value::Bytes(Bytes::copy_from_slice(bytes))),
            AbiType::Text => self.text(allowance).map(Value::Text),
            AbiType::List(_) | AbiType::Array(..) | AbiType::Tuple(_) => {
                let mut json = String::new();
                self.json(ty, allowance, &mut json)?;
                Ok(Value::Text(json))
            }
        }
    }

    /// Reads the next value and writes it as JSON.
    fn json(&mut self, ty: &AbiType, allowance: &mut Allowance, json: &mut String) -> Result<(), Fault> {
        match ty {
            AbiType::Word(word) => word.json(self.word(allowance)?, json).ok_or(Fault::Word(*word)),
            AbiType::Bytes => {
                json.push('"');
                json.push_str(&hex::encode_prefixed(self.bytes(allowance)?));
                json.push('"');
                Ok(())
            }
            AbiType::Text => {
                json.push_str(&serde_json::Value::from(self.text(allowance)?).to_string());
                Ok(())
            }
            AbiType::List(item) => self.list(item, allowance, json),
            AbiType::Array(item, len) => {
                self.inside(ty, allowance, |body, allowance| body.items(item, *len, allowance, json))
            }
            AbiType::Tuple(components) => {
                self.inside(ty, allowance, |body, allowance| body.tuple(components, allowance, json))
            }
        }
    }

    /// Goes to where a fixed array or tuple is: right here, or behind an offset.
    fn inside(
        &mut self,
        ty: &AbiType,
        allowance: &mut Allowance,
        read: impl FnOnce(&mut Body<'d, '_>, &mut Allowance) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if !ty.is_dynamic() {
            return read(self, allowance);
        }
        allowance.take_words(1)?;
        let cursor = self.cursor.take_indirection().map_err(|_| Fault::Beyond)?;
        read(&mut Body { cursor }, allowance)
    }

    fn list(&mut self, item: &AbiType, allowance: &mut Allowance, json: &mut String) -> Result<(), Fault> {
        allowance.take_words(2)?;
        let mut head = self.cursor.take_indirection().map_err(|_| Fault::Beyond)?;
        let len = head.take_offset().map_err(|_| Fault::Beyond)?;
        let cursor = head.raw_child().map_err(|_| Fault::Beyond)?;
        let least = item.least_words().checked_mul(len).ok_or(Fault::Beyond)?;
        if cursor.remaining_words() < least {
            return Err(Fault::Beyond);
        }
        Body { cursor }.items(item, len, allowance, json)
    }

    fn items(
        &mut self,
        item: &AbiType,
        len: usize,
        allowance: &mut Allowance,
        json: &mut String,
    ) -> Result<(), Fault> {
        json.push('[');
        for place in 0..len {
            if place > 0 {
                json.push(',');
            }
            self.json(item, allowance, json)?;
        }
        json.push(']');
        Ok(())
    }

    fn tuple(
        &mut self,
        components: &[Component],
        allowance: &mut Allowance,
        json: &mut String,
    ) -> Result<(), Fault> {
        let named = are_named(components);
        json.push(if named { '{' } else { '[' });
        for (place, component) in components.iter().enumerate() {
            if place > 0 {
                json.push(',');
            }
            if named {
                json.push('"');
                json.push_str(&component.name);
                json.push_str("\":");
            }
            self.json(&component.ty, allowance, json)?;
        }
        json.push(if named { '}' } else { ']' });
        Ok(())
    }

    fn word(&mut self, allowance: &mut Allowance) -> Result<&'d [u8; WORD_BYTES], Fault> {
        allowance.take_words(1)?;
        self.cursor.take_word().map(|word| &word.0).map_err(|_| Fault::Beyond)
    }

    fn bytes(&mut self, allowance: &mut Allowance) -> Result<&'d [u8], Fault> {
        let mut cursor = self.cursor.take_indirection().map_err(|_| Fault::Beyond)?;
        let len = cursor.take_offset().map_err(|_| Fault::Beyond)?;
        let bytes = cursor.take_slice(len).map_err(|_| Fault::Beyond)?;
        allowance.take_words(2 + len.div_ceil(WORD_BYTES))?;
        Ok(bytes)
    }

    fn text(&mut self, allowance: &mut Allowance) -> Result<String, Fault> {
        let bytes = self.bytes(allowance)?;
        Ok(storable_text(&String::from_utf8_lossy(bytes)).into_owned())
    }
}

/// Whether a tuple is an object: each component has a name, and no two the same.
fn are_named(components: &[Component]) -> bool {
    let is_new = |place: usize, name: &str| components.iter().take(place).all(|other| other.name != name);
    components
        .iter()
        .enumerate()
        .all(|(place, component)| !component.name.is_empty() && is_new(place, &component.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tuple_is_an_object_when_all_its_names_differ() {
        let tuple = |names: &[&str]| -> Vec<Component> {
            let component =
                |name: &&str| Component { name: (*name).to_owned(), ty: AbiType::Word(WordType::Bool) };
            names.iter().map(component).collect()
        };
        assert!(are_named(&tuple(&["a", "b"])));
        assert!(!are_named(&tuple(&["a", ""])));
        assert!(!are_named(&tuple(&["a", "a"])));
    }

    #[test]
    fn an_allowance_runs_out() {
        let mut allowance = Allowance::of(&[0; 64], 2);
        assert_eq!(allowance.take_words(3), Ok(()));
        assert_eq!(allowance.take_words(2), Err(Fault::Repeats));
        assert_eq!(allowance.take_words(1), Ok(()));
        assert_eq!(allowance.take_words(usize::MAX), Err(Fault::Repeats));
    }
}
