//! Events of any types, logs of them, and what alloy makes of a log.

use std::fmt;

use alloy_dyn_abi::{DynSolEvent, DynSolType, DynSolValue};
use alloy_primitives::{Address, B256, Function, I256, U256};
use proptest::collection::vec;
use proptest::prelude::*;
use windlass_core::abi::EventShape;
use windlass_core::event::Topics;
use windlass_core::table::Value;

/// An event, as alloy knows it.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) fields: Vec<(DynSolType, bool)>,
    pub(crate) anonymous: bool,
}

/// A log: of an event, or of none.
#[derive(Clone)]
pub(crate) struct Log {
    pub(crate) topics: Vec<B256>,
    pub(crate) data: Vec<u8>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.data.chunks(32).map(alloy_primitives::hex::encode).collect();
        f.debug_struct("Log").field("topics", &self.topics).field("data", &words).finish()
    }
}

impl Log {
    pub(crate) fn topics(&self) -> Topics {
        Topics::new(&self.topics).expect("few enough")
    }
}

impl Event {
    pub(crate) fn shape(&self) -> EventShape {
        let field = |(ty, indexed): &(DynSolType, bool)| {
            format!("{}{}", ty.sol_type_name(), if *indexed { " indexed" } else { "" })
        };
        let fields: Vec<String> = self.fields.iter().map(field).collect();
        let text = format!("E({}){}", fields.join(","), if self.anonymous { " anonymous" } else { "" });
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    fn types(&self, indexed: bool) -> impl Iterator<Item = &DynSolType> {
        self.fields.iter().filter(move |field| field.1 == indexed).map(|field| &field.0)
    }

    fn alloy(&self, of: impl Fn(&DynSolType) -> DynSolType) -> DynSolEvent {
        let body = DynSolType::Tuple(self.types(false).map(&of).collect());
        DynSolEvent::new(self.shape().topic0(), self.types(true).map(of).collect(), body).expect("an event")
    }

    /// A log with these values; an indexed value that is longer than a topic is any hash.
    pub(crate) fn log(&self, values: &[DynSolValue], hash: B256) -> Log {
        let of = |indexed: bool| {
            self.fields
                .iter()
                .zip(values)
                .filter(move |(field, _)| field.1 == indexed)
                .map(|(_, value)| value)
        };
        let body: Vec<DynSolValue> = of(false).cloned().collect();
        let topic = |value: &DynSolValue| value.as_word().unwrap_or(hash);
        Log {
            topics: self.shape().topic0().into_iter().chain(of(true).map(topic)).collect(),
            data: DynSolValue::Tuple(body).abi_encode_sequence().unwrap_or_default(),
        }
    }

    /// What alloy decodes, in the order of the fields, and the length of its encoding.
    pub(crate) fn by_alloy(&self, log: &Log) -> Option<(Vec<DynSolValue>, usize)> {
        let decoded = self.alloy(DynSolType::clone).decode_log_parts(log.topics.clone(), &log.data).ok()?;
        let len = DynSolValue::Tuple(decoded.body.clone()).abi_encode_sequence().map_or(0, |data| data.len());
        Some((self.in_order(decoded.indexed, decoded.body), len))
    }

    /// Whether every word is one that a contract would write: decoded as bare words, each
    /// is what alloy would encode for the value it made of it.
    pub(crate) fn is_clean(&self, log: &Log, values: &[DynSolValue]) -> bool {
        let bare = self.alloy(bare).decode_log_parts(log.topics.clone(), &log.data).expect("as it was");
        let words = self.in_order(bare.indexed, bare.body);
        values.iter().zip(&words).all(|(value, word)| is_clean(value, word))
    }

    fn in_order(&self, indexed: Vec<DynSolValue>, body: Vec<DynSolValue>) -> Vec<DynSolValue> {
        let (mut indexed, mut body) = (indexed.into_iter(), body.into_iter());
        let next = |field: &(DynSolType, bool)| if field.1 { indexed.next() } else { body.next() };
        self.fields.iter().filter_map(next).collect()
    }
}

/// The type with nothing but its layout.
fn bare(ty: &DynSolType) -> DynSolType {
    match ty {
        DynSolType::Bytes | DynSolType::String => DynSolType::Bytes,
        DynSolType::Array(item) => DynSolType::Array(Box::new(bare(item))),
        DynSolType::FixedArray(item, len) => DynSolType::FixedArray(Box::new(bare(item)), *len),
        DynSolType::Tuple(items) => DynSolType::Tuple(items.iter().map(bare).collect()),
        _ => DynSolType::FixedBytes(32),
    }
}

fn is_clean(value: &DynSolValue, word: &DynSolValue) -> bool {
    let all = |values: &[DynSolValue], words: &DynSolValue| {
        let words = words.as_array().or_else(|| words.as_fixed_seq()).expect("a sequence");
        values.iter().zip(words).all(|(value, word)| is_clean(value, word))
    };
    match value {
        DynSolValue::Bool(_) | DynSolValue::Address(_) | DynSolValue::Function(_) => {
            value.as_word() == word.as_word()
        }
        DynSolValue::Uint(uint, bits) => uint.bit_len() <= *bits,
        DynSolValue::Int(int, bits) => {
            let unused = 256 - bits;
            int.asr(bits - 1) == I256::ZERO || int.asr(bits - 1) == I256::MINUS_ONE || unused == 0
        }
        DynSolValue::FixedBytes(bytes, len) => bytes[*len..].iter().all(|byte| *byte == 0),
        DynSolValue::Bytes(_) | DynSolValue::String(_) => true,
        DynSolValue::Array(values) | DynSolValue::FixedArray(values) | DynSolValue::Tuple(values) => {
            all(values, word)
        }
    }
}

/// What a column should hold for a value that alloy decoded.
pub(crate) fn expected(value: &DynSolValue) -> Value {
    match value {
        DynSolValue::Bool(is) => Value::Bool(*is),
        DynSolValue::Address(address) => Value::Address(*address),
        DynSolValue::Uint(uint, bits) if *bits <= 56 => Value::Integer(uint.to::<i64>()),
        DynSolValue::Uint(uint, _) => Value::Uint(*uint),
        DynSolValue::Int(int, bits) if *bits <= 64 => Value::Integer(int.as_i64()),
        DynSolValue::Int(int, _) => Value::Int(*int),
        DynSolValue::FixedBytes(bytes, len) => Value::Bytes(bytes[..*len].to_vec().into()),
        DynSolValue::Function(function) => Value::Bytes(function.to_vec().into()),
        DynSolValue::Bytes(bytes) => Value::Bytes(bytes.clone().into()),
        DynSolValue::String(text) => Value::Text(text.replace('\0', "\u{fffd}")),
        DynSolValue::Array(_) | DynSolValue::FixedArray(_) | DynSolValue::Tuple(_) => {
            Value::Text(json(value).to_string())
        }
    }
}

fn json(value: &DynSolValue) -> serde_json::Value {
    match value {
        DynSolValue::Bool(is) => (*is).into(),
        DynSolValue::Uint(uint, _) => uint.to_string().into(),
        DynSolValue::Int(int, _) => int.to_string().into(),
        DynSolValue::Array(values) | DynSolValue::FixedArray(values) | DynSolValue::Tuple(values) => {
            values.iter().map(json).collect()
        }
        other => expected(other).to_string().into(),
    }
}

fn word_type() -> impl Strategy<Value = DynSolType> {
    let bits = || (1_usize..=32).prop_map(|bytes| bytes * 8);
    prop_oneof![
        Just(DynSolType::Bool),
        Just(DynSolType::Address),
        Just(DynSolType::Function),
        bits().prop_map(DynSolType::Uint),
        bits().prop_map(DynSolType::Int),
        (1_usize..=32).prop_map(DynSolType::FixedBytes),
    ]
}

fn any_type() -> impl Strategy<Value = DynSolType> {
    let leaf = prop_oneof![4 => word_type(), 1 => Just(DynSolType::Bytes), 1 => Just(DynSolType::String)];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|item| DynSolType::Array(Box::new(item))),
            (inner.clone(), 1_usize..4).prop_map(|(item, len)| DynSolType::FixedArray(Box::new(item), len)),
            vec(inner, 1..4).prop_map(DynSolType::Tuple),
        ]
    })
}

fn value_of(ty: &DynSolType) -> BoxedStrategy<DynSolValue> {
    let word = || any::<[u8; 32]>().prop_map(U256::from_be_bytes::<32>);
    match ty {
        DynSolType::Bool => any::<bool>().prop_map(DynSolValue::Bool).boxed(),
        DynSolType::Address => any::<[u8; 20]>().prop_map(|it| Address::from(it).into()).boxed(),
        DynSolType::Function => {
            any::<[u8; 24]>().prop_map(|it| DynSolValue::Function(Function::from(it))).boxed()
        }
        &DynSolType::Uint(bits) => (word(), 0..bits)
            .prop_map(move |(word, less)| DynSolValue::Uint(word >> (256 - bits + less), bits))
            .boxed(),
        &DynSolType::Int(bits) => (word(), 0..bits)
            .prop_map(move |(word, less)| DynSolValue::Int(I256::from_raw(word).asr(256 - bits + less), bits))
            .boxed(),
        &DynSolType::FixedBytes(len) => any::<[u8; 32]>()
            .prop_map(move |mut bytes| {
                bytes[len..].fill(0);
                DynSolValue::FixedBytes(bytes.into(), len)
            })
            .boxed(),
        DynSolType::Bytes => vec(any::<u8>(), 0..70).prop_map(DynSolValue::Bytes).boxed(),
        DynSolType::String => any::<String>().prop_map(DynSolValue::String).boxed(),
        DynSolType::Array(item) => vec(value_of(item), 0..4).prop_map(DynSolValue::Array).boxed(),
        DynSolType::FixedArray(item, len) => {
            vec(value_of(item), *len).prop_map(DynSolValue::FixedArray).boxed()
        }
        DynSolType::Tuple(items) => {
            items.iter().map(value_of).collect::<Vec<_>>().prop_map(DynSolValue::Tuple).boxed()
        }
    }
}

fn event_of(ty: impl Strategy<Value = DynSolType>) -> impl Strategy<Value = Event> {
    (vec((ty, any::<bool>()), 0..6), any::<bool>()).prop_map(|(mut fields, anonymous)| {
        let most = if anonymous { 4 } else { 3 };
        fields.iter_mut().filter(|field| field.1).skip(most).for_each(|field| field.1 = false);
        Event { fields, anonymous }
    })
}

/// An event of any types.
pub(crate) fn event() -> impl Strategy<Value = Event> {
    event_of(any_type())
}

fn logged(event: Event) -> impl Strategy<Value = (Event, Vec<DynSolValue>, Log)> {
    let values: Vec<_> = event.fields.iter().map(|(ty, _)| value_of(ty)).collect();
    (values, any::<[u8; 32]>()).prop_map(move |(values, hash)| {
        let log = event.log(&values, hash.into());
        (event.clone(), values, log)
    })
}

/// An event of any types, its values, and the log of them.
pub(crate) fn any_log() -> impl Strategy<Value = (Event, Vec<DynSolValue>, Log)> {
    event().prop_flat_map(logged)
}

/// The same, of fields that are one word each.
pub(crate) fn word_log() -> impl Strategy<Value = (Event, Vec<DynSolValue>, Log)> {
    event_of(word_type()).prop_flat_map(logged)
}

/// A change to a log.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Byte(prop::sample::Index, u8),
    Word(prop::sample::Index, u16),
    Topic(prop::sample::Index, prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Append(Vec<u8>),
    DropTopic,
    AddTopic,
}

/// Any change; most of them leave the log's length as it is.
pub(crate) fn change() -> impl Strategy<Value = Change> {
    let place = any::<prop::sample::Index>;
    prop_oneof![
        4 => (place(), any::<u8>()).prop_map(|(place, byte)| Change::Byte(place, byte)),
        4 => (place(), 0_u16..400).prop_map(|(place, number)| Change::Word(place, number)),
        2 => (place(), place(), any::<u8>()).prop_map(|(topic, place, byte)| Change::Topic(topic, place, byte)),
        1 => place().prop_map(Change::Cut),
        1 => vec(any::<u8>(), 0..70).prop_map(Change::Append),
        1 => Just(Change::DropTopic),
        1 => Just(Change::AddTopic),
    ]
}

impl Log {
    pub(crate) fn change(&mut self, change: &Change) {
        let len = self.data.len();
        match change {
            Change::Byte(place, byte) if len > 0 => self.data[place.index(len)] = *byte,
            Change::Word(place, number) if len >= 32 => {
                let at = place.index(len / 32) * 32;
                self.data[at..at + 32].copy_from_slice(&U256::from(*number).to_be_bytes::<32>());
            }
            Change::Topic(topic, place, byte) if !self.topics.is_empty() => {
                let topic = topic.index(self.topics.len());
                self.topics[topic].0[place.index(32)] = *byte;
            }
            Change::Cut(place) if len > 0 => self.data.truncate(place.index(len)),
            Change::Append(bytes) => self.data.extend(bytes),
            Change::DropTopic => drop(self.topics.pop()),
            Change::AddTopic if self.topics.len() < 4 => self.topics.push(B256::ZERO),
            _ => {}
        }
    }
}
