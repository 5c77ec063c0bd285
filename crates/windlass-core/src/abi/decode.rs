//! Logs to values, by the shape of their event.
//!
//! # What fits
//!
//! A log fits when alloy's decoder takes it: as many topics as the event has, the first
//! of them the event's, and data that is long enough for every field. Bytes behind what
//! the fields need are ignored, and offsets may point anywhere inside the data. Three
//! things differ, and each has its reason:
//!
//! - Every word must be a value of its type, as Solidity's own decoder wants it. alloy
//!   would take any word for a `bool`, and cut an `address` out of any.
//! - Data may be read [`MAX_READINGS`] times over, not more: offsets that share a place
//!   could make megabytes of a kilobyte.
//! - A NUL in a string is replaced, as bytes that are not UTF-8 are: PostgreSQL has no
//!   place for it.
//!
//! When every field is one word, words are read straight from the log.

use std::sync::Arc;

use super::EventShape;
use super::body::{Allowance, Body, Fault};
use super::kind::{AbiType, WordType};
use super::word::{WORD_BYTES, Word};
use crate::chain::{B256, Bytes};
use crate::event::Topics;
use crate::table::Value;

/// How many times over a log's data may be read by offsets that share places.
pub const MAX_READINGS: usize = 8;

/// Why a log is not one of its event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// It has more or fewer topics.
    #[error("it has {found} topics, the event has {expected}")]
    Topics {
        /// How many the event has.
        expected: usize,
        /// How many the log has.
        found: usize,
    },
    /// Its first topic is another event's.
    #[error("its first topic {found} is another event's")]
    OtherEvent {
        /// What stands there.
        found: B256,
    },
    /// Its data is too short for its fields.
    #[error("its data has {found} bytes, the event needs {expected} at least")]
    TooShort {
        /// How many the event needs.
        expected: usize,
        /// How many the log has.
        found: usize,
    },
    /// A word is no value of its type.
    #[error("`{field}` holds a word that is no `{ty}`")]
    Word {
        /// The field it is in.
        field: Arc<str>,
        /// The type that it should have.
        ty: WordType,
    },
    /// An offset or a length leads out of the data.
    #[error("`{field}` has an offset or a length that leads out of the data")]
    Beyond {
        /// The field it is in.
        field: Arc<str>,
    },
    /// Its offsets make the data read more than [`MAX_READINGS`] times over.
    #[error("`{field}` has offsets that repeat the data more than {MAX_READINGS} times")]
    Repeats {
        /// The field at which it became too much.
        field: Arc<str>,
    },
    /// The values do not fit the columns of the table they were meant for.
    #[error("the table has other columns than the event has fields")]
    Columns,
}

/// Reads logs of one event.
#[derive(Debug, Clone)]
pub struct Decoder {
    topic0: Option<B256>,
    topic_count: usize,
    least_bytes: usize,
    has_only_words: bool,
    slots: Vec<Slot>,
}

/// Where a field is read from.
#[derive(Debug, Clone)]
struct Slot {
    field: Arc<str>,
    from: Origin,
}

#[derive(Debug, Clone)]
enum Origin {
    /// A topic that is the value.
    Topic(usize, WordType),
    /// A topic that is the hash of the value.
    Hash(usize),
    /// The next word of the data.
    Word(WordType),
    /// The data, at the next place.
    Data(AbiType),
}

impl Decoder {
    /// Compiles a shape.
    pub fn new(shape: &EventShape) -> Self {
        let mut topic = usize::from(!shape.anonymous());
        let mut slots = Vec::with_capacity(shape.fields().len());
        let mut least_words = 0_usize;
        for (place, field) in shape.fields().iter().enumerate() {
            let from = match (&field.ty, field.indexed) {
                (AbiType::Word(word), true) => Origin::Topic(topic, *word),
                (_, true) => Origin::Hash(topic),
                (AbiType::Word(word), false) => Origin::Word(*word),
                (ty, false) => Origin::Data(ty.clone()),
            };
            if field.indexed {
                topic += 1;
            } else {
                least_words = least_words.saturating_add(field.ty.least_words());
            }
            let name =
                if field.name.is_empty() { format!("field_{}", place + 1) } else { field.name.clone() };
            slots.push(Slot { field: name.into(), from });
        }
        Self {
            topic0: shape.topic0(),
            topic_count: topic,
            least_bytes: least_words.saturating_mul(WORD_BYTES),
            has_only_words: !slots.iter().any(|slot| matches!(slot.from, Origin::Data(_))),
            slots,
        }
    }

    /// The first topic of its logs; `None` when the event is anonymous.
    pub const fn topic0(&self) -> Option<B256> {
        self.topic0
    }

    /// Appends a value for each field of a log, in the order of the fields. When the log
    /// does not fit, some of them may be there already.
    pub fn decode(&self, topics: &Topics, data: &[u8], into: &mut Vec<Value>) -> Result<(), Misfit> {
        let topics = topics.as_slice();
        if topics.len() != self.topic_count {
            return Err(Misfit::Topics { expected: self.topic_count, found: topics.len() });
        }
        if let (Some(topic0), Some(found)) = (self.topic0, topics.first())
            && topic0 != *found
        {
            return Err(Misfit::OtherEvent { found: *found });
        }
        if data.len() < self.least_bytes {
            return Err(Misfit::TooShort { expected: self.least_bytes, found: data.len() });
        }
        if self.has_only_words {
            self.decode_words(topics, data, into)
        } else {
            self.decode_data(topics, data, into)
        }
    }

    /// The data has a word for each field, and its length was checked.
    fn decode_words(&self, topics: &[B256], data: &[u8], into: &mut Vec<Value>) -> Result<(), Misfit> {
        let mut words = data.as_chunks::<WORD_BYTES>().0.iter();
        for slot in &self.slots {
            let (word, ty) = match slot.from {
                Origin::Topic(topic, ty) => (&topics[topic].0, ty),
                Origin::Word(ty) => match words.next() {
                    Some(word) => (word, ty),
                    None => return Err(slot.misfit(Fault::Beyond)),
                },
                Origin::Hash(topic) => {
                    into.push(hash(&topics[topic]));
                    continue;
                }
                Origin::Data(_) => return Err(slot.misfit(Fault::Beyond)),
            };
            into.push(slot.word(word, ty)?);
        }
        Ok(())
    }

    fn decode_data(&self, topics: &[B256], data: &[u8], into: &mut Vec<Value>) -> Result<(), Misfit> {
        let mut body = Body::new(data);
        let mut allowance = Allowance::of(data, MAX_READINGS);
        for slot in &self.slots {
            into.push(match &slot.from {
                Origin::Topic(topic, ty) => slot.word(&topics[*topic].0, *ty)?,
                Origin::Hash(topic) => hash(&topics[*topic]),
                Origin::Word(ty) => {
                    body.value(&AbiType::Word(*ty), &mut allowance).map_err(|fault| slot.misfit(fault))?
                }
                Origin::Data(ty) => body.value(ty, &mut allowance).map_err(|fault| slot.misfit(fault))?,
            });
        }
        Ok(())
    }
}

impl Slot {
    #[inline]
    fn word(&self, word: &Word, ty: WordType) -> Result<Value, Misfit> {
        ty.value(word).ok_or_else(|| self.misfit(Fault::Word(ty)))
    }

    #[cold]
    fn misfit(&self, fault: Fault) -> Misfit {
        let field = self.field.clone();
        match fault {
            Fault::Beyond => Misfit::Beyond { field },
            Fault::Repeats => Misfit::Repeats { field },
            Fault::Word(ty) => Misfit::Word { field, ty },
        }
    }
}

fn hash(topic: &B256) -> Value {
    Value::Bytes(Bytes::copy_from_slice(topic.as_slice()))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{U256, address, hex, keccak256};

    use super::*;
    use crate::chain::Address;

    const FEES: &str = "FeesCollected(address indexed token, address indexed integrator, \
                        uint256 integratorFee, uint256 lifiFee)";

    fn decoder(text: &str) -> Decoder {
        Decoder::new(&text.parse().expect("an event"))
    }

    fn decode(text: &str, indexed: &[B256], data: &[u8]) -> Result<Vec<Value>, Misfit> {
        let decoder = decoder(text);
        let topics: Vec<B256> = decoder.topic0.into_iter().chain(indexed.iter().copied()).collect();
        let mut values = Vec::new();
        decoder.decode(&Topics::new(&topics).expect("few enough"), data, &mut values).map(|()| values)
    }

    fn words(hex: &[&str]) -> Vec<u8> {
        let word = |text: &&str| hex::decode(format!("{text:0>64}")).expect("hex");
        hex.iter().flat_map(word).collect()
    }

    #[test]
    fn a_log_of_the_reference_is_read() {
        let token = address!("c2132D05D31c914a87C6611C10748AEb04B58e8F");
        let values = decode(FEES, &[token.into_word(), B256::ZERO], &words(&["ff", "01"]));
        assert_eq!(
            values.expect("it fits"),
            [
                Value::Address(token),
                Value::Address(Address::ZERO),
                Value::Uint(U256::from(255)),
                Value::Uint(U256::from(1)),
            ]
        );
    }

    #[test]
    fn a_misfit_says_why() {
        let two = [B256::ZERO, B256::ZERO];
        let data = words(&["1", "2"]);
        let why = |text: &str, topics: &[B256], data: &[u8]| {
            decode(text, topics, data).expect_err("a misfit").to_string()
        };
        assert_eq!(why(FEES, &two[..1], &data), "it has 2 topics, the event has 3");
        assert_eq!(why(FEES, &two, &data[..63]), "its data has 63 bytes, the event needs 64 at least");
        assert_eq!(
            why(FEES, &[B256::ZERO, B256::repeat_byte(1)], &data),
            "`integrator` holds a word that is no `address`"
        );
        assert_eq!(why("E(bool)", &[], &words(&["2"])), "`field_1` holds a word that is no `bool`");
        assert_eq!(
            why("E(string s)", &[], &words(&["21"])),
            "`s` has an offset or a length that leads out of the data"
        );
        let other = decoder("E()").decode(&Topics::new(&two[..1]).expect("one"), &[], &mut Vec::new());
        assert_eq!(other, Err(Misfit::OtherEvent { found: B256::ZERO }));
    }

    #[test]
    fn bytes_behind_the_fields_are_ignored() {
        let mut data = words(&["1", "2"]);
        data.extend([7; 5]);
        assert!(decode(FEES, &[B256::ZERO, B256::ZERO], &data).is_ok());
    }

    #[test]
    fn an_indexed_value_that_is_longer_than_a_topic_is_its_hash() {
        let hash = keccak256("hello");
        let values = decode("E(string indexed a, uint8[] indexed b)", &[hash, B256::ZERO], &[]);
        assert_eq!(values.expect("it fits")[0], Value::Bytes(hash.into()));
    }

    #[test]
    fn arrays_and_tuples_are_json() {
        let json = |text: &str, data: &[u8]| match decode(text, &[], data).expect("it fits").remove(0) {
            Value::Text(json) => json,
            other => panic!("{other:?}"),
        };
        assert_eq!(json("E(uint8[] a)", &words(&["20", "2", "7", "8"])), r#"["7","8"]"#);
        assert_eq!(json("E((uint8 x, bool y) a)", &words(&["7", "1"])), r#"{"x":"7","y":true}"#);
        assert_eq!(json("E((uint8 x, bool) a)", &words(&["7", "1"])), r#"["7",true]"#);
        assert_eq!(json("E(bool[2] a)", &words(&["0", "1"])), "[false,true]");
        assert_eq!(json("E(bytes[] a)", &words(&["20", "1", "20", "0"])), r#"["0x"]"#);
    }

    #[test]
    fn text_is_what_every_store_takes() {
        let mut data = words(&["20", "4"]);
        data.extend(b"a\0\xffb");
        assert_eq!(decode("E(string)", &[], &data), Ok(vec![Value::Text("a\u{fffd}\u{fffd}b".into())]));
    }

    #[test]
    fn a_small_log_cannot_be_made_large() {
        let elements = 1_000_usize;
        let mut data = words(&["20", &format!("{elements:x}")]);
        for _ in 0..elements {
            data.extend(words(&[&format!("{:x}", elements * 32)]));
        }
        data.extend(words(&[&format!("{:x}", 30_000)]));
        data.extend(vec![1; 30_000]);
        let misfit = decode("E(bytes[] a)", &[], &data).expect_err("thirty megabytes");
        assert_eq!(misfit, Misfit::Repeats { field: "a".into() });
        let nested = words(&["0", "0", "0", "0", "0", "0", "0", "0"]);
        assert_eq!(decode("E(uint8[][][][][][][] a)", &[], &nested), Ok(vec![Value::Text("[]".into())]));
    }
}
