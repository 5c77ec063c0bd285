//! Answers that are well formed and wrong: what an endpoint with a broken index, a bad
//! cache or bad intentions says about logs and headers.

use bytes::Bytes;
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

use super::{
    counts::Kind,
    fate::{Fate, Twist},
    handle::Faults,
    request,
    share::Share,
};
use crate::{
    mix::{mix, mix_pair},
    node::RpcError,
};

/// The most seconds, blocks and the like that a wrong number is beside the right one.
const MAX_TIME_SHIFT_S: u64 = 3_600;
const MAX_NUMBER_SHIFT: u64 = 3;

/// What is wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// `eth_getLogs` answers with an empty list although there are logs.
    Empty,
    /// One log of the answer is left out.
    Missing,
    /// One log of the answer has another block's number.
    Number,
    /// One log of the answer has another block hash.
    Hash,
    /// One log of the answer has another `blockTimestamp`.
    Time,
    /// One log of the answer comes twice.
    Repeat,
    /// A block has another `parentHash`.
    Parent,
    /// Blocks with logs have an empty `logsBloom`. The share is one of blocks, not of
    /// calls: a block that has none never has one.
    Bloom,
}

impl Lie {
    /// All of them, for listings and tests.
    pub const ALL: [Self; 8] = [
        Self::Empty,
        Self::Missing,
        Self::Number,
        Self::Hash,
        Self::Time,
        Self::Repeat,
        Self::Parent,
        Self::Bloom,
    ];

    /// The name in a plan's text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Missing => "missing",
            Self::Number => "number",
            Self::Hash => "hash",
            Self::Time => "time",
            Self::Repeat => "repeat",
            Self::Parent => "parent",
            Self::Bloom => "bloom",
        }
    }

    const fn kind(self) -> Kind {
        match self {
            Self::Empty => Kind::LieEmpty,
            Self::Missing => Kind::LieMissing,
            Self::Number => Kind::LieNumber,
            Self::Hash => Kind::LieHash,
            Self::Time => Kind::LieTime,
            Self::Repeat => Kind::LieRepeat,
            Self::Parent => Kind::LieParent,
            Self::Bloom => Kind::LieBloom,
        }
    }

    /// The answer with the lie in it; nothing if the lie makes no difference to it.
    fn told(self, method: &str, answer: &[u8], draw: u64) -> Option<Bytes> {
        match (self, method) {
            (Self::Parent, "eth_getBlockByNumber" | "eth_getBlockByHash") => {
                changed_block(answer, "parentHash", |_| Some(made_up_hash(draw)))
            }
            (Self::Bloom, "eth_getBlockByNumber" | "eth_getBlockByHash") => {
                changed_block(answer, "logsBloom", without_digits)
            }
            (Self::Parent | Self::Bloom, _) => None,
            (lie, "eth_getLogs") => lie.about_logs(answer, draw),
            _ => None,
        }
    }

    fn about_logs(self, answer: &[u8], draw: u64) -> Option<Bytes> {
        let mut logs: Vec<Box<RawValue>> = serde_json::from_slice(answer).ok()?;
        let at = usize::try_from(draw.checked_rem(logs.len() as u64)?).ok()?;
        let shift = mix(draw);
        match self {
            Self::Empty => logs.clear(),
            Self::Missing => drop(logs.remove(at)),
            Self::Repeat => logs.insert(at, logs[at].clone()),
            Self::Number => {
                logs[at] = shifted(&logs[at], "blockNumber", 1 + shift % MAX_NUMBER_SHIFT)?;
            }
            Self::Time => logs[at] = shifted(&logs[at], "blockTimestamp", 1 + shift % MAX_TIME_SHIFT_S)?,
            Self::Hash => logs[at] = changed(&logs[at], "blockHash", |_| Some(made_up_hash(draw)))?,
            Self::Parent | Self::Bloom => return None,
        }
        serde_json::to_vec(&logs).ok().map(Bytes::from)
    }
}

impl Faults {
    /// The answer with the lies of the call's fate in it.
    pub(super) fn with_lies(
        &self,
        fate: &Fate,
        method: &str,
        result: Result<Bytes, RpcError>,
    ) -> Result<Bytes, RpcError> {
        let mut answer = result?;
        for twist in &fate.twists {
            let (kind, told) = match *twist {
                Twist::Lie { lie: Lie::Bloom, share, .. } if !self.is_without_bloom(&answer, share) => {
                    continue;
                }
                Twist::Lie { lie, draw, .. } => (lie.kind(), lie.told(method, &answer, draw)),
                Twist::NoLogTime if method == "eth_getLogs" => (Kind::NoLogTime, without_times(&answer)),
                _ => continue,
            };
            if let Some(told) = told {
                self.happened(kind);
                answer = told;
            }
        }
        Ok(answer)
    }

    /// Whether the block of an answer is one of those that never have a bloom.
    fn is_without_bloom(&self, answer: &[u8], share: Share) -> bool {
        let number = request::block_number(answer, "number");
        number.is_some_and(|number| share.strikes(mix_pair(mix(self.seed()), number)))
    }
}

/// The logs without their `blockTimestamp`; nothing if none has one.
fn without_times(answer: &[u8]) -> Option<Bytes> {
    let mut logs: Vec<Value> = serde_json::from_slice(answer).ok()?;
    let mut had_time = false;
    for log in logs.iter_mut().filter_map(Value::as_object_mut) {
        had_time |= log.remove("blockTimestamp").is_some();
    }
    had_time.then(|| serde_json::to_vec(&logs).ok().map(Bytes::from)).flatten()
}

fn shifted(log: &RawValue, field: &str, by: u64) -> Option<Box<RawValue>> {
    changed(log, field, |text| Some(format!("{:#x}", request::quantity(text)?.checked_add(by)?)))
}

fn changed_block(answer: &[u8], field: &str, change: impl Fn(&str) -> Option<String>) -> Option<Bytes> {
    let block: &RawValue = serde_json::from_slice(answer).ok()?;
    changed(block, field, change).map(|block| Bytes::from(block.get().to_owned()))
}

/// The same object with another text in a field, if it has that field.
fn changed(object: &RawValue, field: &str, change: impl Fn(&str) -> Option<String>) -> Option<Box<RawValue>> {
    let mut value: Value = serde_json::from_str(object.get()).ok()?;
    let text = change(value.get(field)?.as_str()?)?;
    value[field] = Value::String(text);
    to_raw_value(&value).ok()
}

/// All digits zero; nothing if they are already.
fn without_digits(text: &str) -> Option<String> {
    let digits = text.strip_prefix("0x")?;
    digits.bytes().any(|digit| digit != b'0').then(|| format!("0x{}", "0".repeat(digits.len())))
}

fn made_up_hash(draw: u64) -> String {
    let words: String = (1..=4).map(|at| format!("{:016x}", mix_pair(draw, at))).collect();
    format!("0x{words}")
}
