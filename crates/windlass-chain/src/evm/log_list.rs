//! The logs of an answer, each read straight into its place in the list.
//!
//! A log has three hundred bytes. Built member by member and handed from reader to reader, it
//! would be copied four times on its way, which costs as much as reading it; and the data of
//! all logs lie in one buffer, so that ten thousand logs are not ten thousand allocations.

use std::fmt;

use alloy_primitives::Bytes;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use windlass_core::event::{MAX_TOPICS, Topics};

use super::hex::{FillHex, Hex, Storable};
use super::log::RpcLog;

/// Logs in the order in which they came.
pub(crate) struct LogList(pub(crate) Vec<RpcLog>);

impl<'de> Deserialize<'de> for LogList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor).map(Self)
    }
}

struct ListVisitor;

impl<'de> Visitor<'de> for ListVisitor {
    type Value = Vec<RpcLog>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of logs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<RpcLog>, A::Error> {
        let (mut logs, mut data, mut data_ends) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            let log = logs.push_mut(RpcLog::empty());
            if seq.next_element_seed(LogPlace { log, data: &mut data })?.is_none() {
                logs.pop();
                break;
            }
            data_ends.push(data.len());
        }
        let data = Bytes::from(data);
        let mut start = 0;
        for (log, end) in logs.iter_mut().zip(data_ends) {
            log.data = data.slice(start..end);
            start = end;
        }
        Ok(logs)
    }
}

/// Where a log goes; its data are appended to those of the logs before.
struct LogPlace<'a> {
    log: &'a mut RpcLog,
    data: &'a mut Vec<u8>,
}

/// What a log consists of. Whatever else a node tells is of no use here.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Member {
    BlockNumber,
    BlockHash,
    LogIndex,
    TransactionHash,
    Address,
    Topics,
    Data,
    BlockTimestamp,
    Removed,
    #[serde(other)]
    Other,
}

/// The members that every log has.
const REQUIRED: [(Member, &str); 7] = [
    (Member::BlockNumber, "blockNumber"),
    (Member::BlockHash, "blockHash"),
    (Member::LogIndex, "logIndex"),
    (Member::TransactionHash, "transactionHash"),
    (Member::Address, "address"),
    (Member::Topics, "topics"),
    (Member::Data, "data"),
];

/// Which members have been read.
#[derive(Default)]
struct Seen(u16);

impl Seen {
    /// Adds a member; `false` when it is there already.
    fn add(&mut self, member: Member) -> bool {
        let is_new = !self.has(member);
        self.0 |= 1 << member as u16;
        is_new
    }

    fn has(&self, member: Member) -> bool {
        self.0 & 1 << member as u16 != 0
    }
}

impl<'de> DeserializeSeed<'de> for LogPlace<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for LogPlace<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a log")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut seen = Seen::default();
        while let Some(member) = map.next_key::<Member>()? {
            if member != Member::Other && !seen.add(member) {
                return Err(A::Error::custom("a member of a log that is there twice"));
            }
            self.read(member, &mut map)?;
        }
        match REQUIRED.iter().find(|(member, _)| !seen.has(*member)) {
            Some((_, name)) => Err(A::Error::missing_field(name)),
            None => Ok(()),
        }
    }
}

impl LogPlace<'_> {
    fn read<'de, A: MapAccess<'de>>(&mut self, member: Member, map: &mut A) -> Result<(), A::Error> {
        let log = &mut *self.log;
        match member {
            Member::BlockNumber => log.block.number = map.next_value::<Hex<Storable>>()?.0.0,
            Member::BlockHash => map.next_value_seed(FillHex(&mut log.block.hash.0))?,
            Member::LogIndex => log.log_index = log_index(map.next_value::<Hex<u64>>()?.0)?,
            Member::TransactionHash => map.next_value_seed(FillHex(&mut log.transaction_hash.0))?,
            Member::Address => map.next_value_seed(FillHex(&mut log.address.0.0))?,
            Member::Topics => map.next_value_seed(TopicsPlace(&mut log.topics))?,
            Member::Data => map.next_value_seed(FillHex(&mut *self.data))?,
            Member::BlockTimestamp => log.timestamp_s = known_time(map.next_value()?),
            Member::Removed => not_removed(map.next_value()?)?,
            Member::Other => drop(map.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }
}

/// Some nodes write zero where they do not know.
fn known_time(time: Option<Hex<Storable>>) -> Option<u64> {
    time.map(|Hex(Storable(seconds))| seconds).filter(|seconds| *seconds > 0)
}

/// A log that has left the chain is no answer to a question about the chain.
fn not_removed<E: Error>(removed: Option<bool>) -> Result<(), E> {
    if removed == Some(true) { Err(E::custom("a log that was removed")) } else { Ok(()) }
}

fn log_index<E: Error>(index: u64) -> Result<u32, E> {
    u32::try_from(index).map_err(|_| E::custom("a log index beyond 2^32"))
}

/// Where a log's topics go.
struct TopicsPlace<'a>(&'a mut Topics);

impl<'de> DeserializeSeed<'de> for TopicsPlace<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for TopicsPlace<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "up to {MAX_TOPICS} topics")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(place) = self.0.next_place() {
            if seq.next_element_seed(FillHex(&mut place.0))?.is_none() {
                self.0.drop_last();
                return Ok(());
            }
        }
        match seq.next_element::<IgnoredAny>()? {
            None => Ok(()),
            Some(_) => Err(A::Error::invalid_length(MAX_TOPICS + 1, &"up to 4 topics")),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, B256};
    use windlass_core::chain::ChainId;

    use super::*;

    fn json(topics: usize) -> serde_json::Value {
        let word = |byte: u8| format!("0x{}", format!("{byte:02x}").repeat(32));
        serde_json::json!({
            "address": format!("0x{}", "ab".repeat(20)), "blockHash": word(1), "blockNumber": "0x10",
            "data": "0x0102", "logIndex": "0x3", "removed": false, "transactionHash": word(2),
            "transactionIndex": "0x0",
            "topics": (0..topics).map(|topic| word(topic as u8 + 3)).collect::<Vec<_>>(),
        })
    }

    fn read(value: &serde_json::Value) -> Result<RpcLog, serde_json::Error> {
        let LogList(mut logs) = serde_json::from_str(&format!("[{value}]"))?;
        assert_eq!(logs.len(), 1);
        Ok(logs.remove(0))
    }

    #[test]
    fn each_log_has_its_own_data() {
        let datas: [&[u8]; 4] = [&[1, 2], &[], &[3], &[4, 5, 6]];
        let logs: Vec<serde_json::Value> = datas
            .iter()
            .map(|data| {
                let mut value = json(data.len());
                value["data"] = alloy_primitives::hex::encode_prefixed(data).into();
                value
            })
            .collect();
        let text = serde_json::to_string(&logs).expect("json");
        let LogList(logs) = serde_json::from_str(&text).expect("logs");
        assert_eq!(logs.iter().map(|log| log.data.as_ref()).collect::<Vec<_>>(), datas);
        let topics: Vec<usize> = logs.iter().map(|log| log.topics.as_slice().len()).collect();
        assert_eq!(topics, [2, 0, 1, 3]);
        assert!(serde_json::from_str::<LogList>("[]").expect("logs").0.is_empty());
    }

    #[test]
    fn a_member_that_is_missing_or_there_twice_is_refused() {
        for (member, name) in REQUIRED {
            let mut value = json(1);
            value.as_object_mut().expect("an object").remove(name);
            let error = read(&value).expect_err(name).to_string();
            assert!(error.contains(name), "{error}");
            let whole = json(1);
            let twice = format!("{{\"{name}\":{},{}", whole[name], &whole.to_string()[1..]);
            assert!(serde_json::from_str::<LogList>(&format!("[{twice}]")).is_err(), "{name}");
            assert!(member != Member::Other);
        }
    }

    #[test]
    fn a_log_becomes_an_event() {
        let log = read(&json(4)).expect("a log");
        assert_eq!(log.topics.as_slice().len(), 4);
        assert_eq!(log.timestamp_s, None);
        let event = log.into_event(ChainId::new(137).expect("an id"), 99);
        assert_eq!((event.block.number, event.log_index, event.timestamp_s), (16, 3, 99));
        assert_eq!(event.data.as_ref(), [1, 2]);
        assert_eq!(event.address, Address::repeat_byte(0xab));
        assert_eq!(event.topics.as_slice()[3], B256::repeat_byte(6));
    }

    #[test]
    fn a_timestamp_is_taken_where_there_is_one() {
        let mut value = json(0);
        value["blockTimestamp"] = "0x65".into();
        assert_eq!(read(&value).expect("a log").timestamp_s, Some(101));
        for unknown in [serde_json::Value::Null, "0x0".into()] {
            value["blockTimestamp"] = unknown;
            assert_eq!(read(&value).expect("a log").timestamp_s, None);
        }
    }

    #[test]
    fn a_log_that_makes_no_sense_is_refused() {
        assert!(read(&json(5)).is_err());
        for (key, wrong) in [
            ("blockNumber", "0x"),
            ("blockNumber", "0xffffffffffffffff"),
            ("blockTimestamp", "0xffffffffffffffff"),
            ("blockHash", "0x00"),
            ("logIndex", "0x100000000"),
        ] {
            let mut value = json(1);
            value[key] = wrong.into();
            assert!(read(&value).is_err(), "{key}");
        }
        for (removed, refused) in
            [(true.into(), true), (false.into(), false), (serde_json::Value::Null, false)]
        {
            let mut value = json(1);
            value["removed"] = removed;
            assert_eq!(read(&value).is_err(), refused, "{value}");
        }
        let mut pending = json(1);
        pending["blockNumber"] = serde_json::Value::Null;
        assert!(read(&pending).is_err());
    }
}
