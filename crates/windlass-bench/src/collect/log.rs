//! A fee log, borrowed from the answer it came in and read as far as a table wants it.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The columns of the table, as bytes.
pub(super) struct Row {
    pub(super) block_number: i64,
    pub(super) log_index: i64,
    pub(super) block_hash: [u8; 32],
    pub(super) timestamp_s: i64,
    pub(super) transaction_hash: [u8; 32],
    pub(super) address: [u8; 20],
    pub(super) token: [u8; 20],
    pub(super) integrator: [u8; 20],
    pub(super) fees: [[u8; 32]; 2],
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Log<'a> {
    address: &'a str,
    topics: [&'a str; 3],
    data: &'a str,
    block_number: &'a str,
    block_hash: &'a str,
    block_timestamp: &'a str,
    transaction_hash: &'a str,
    log_index: &'a str,
}

type Unreadable = Box<dyn std::error::Error + Send + Sync>;

/// Reads an answer to `eth_getLogs`, one log after another: no list of them comes to be.
pub(super) fn each(body: &[u8], take: impl FnMut(Row)) -> Result<(), Unreadable> {
    // Checked once as a whole, not string by string.
    serde_json::Deserializer::from_str(std::str::from_utf8(body)?).deserialize_map(Answer(take))?;
    Ok(())
}

/// The logs of an answer as rows.
pub(super) fn rows(body: &[u8]) -> Result<Vec<Row>, Unreadable> {
    let mut rows = Vec::new();
    each(body, |row| rows.push(row))?;
    Ok(rows)
}

struct Answer<F>(F);

impl<'de, F: FnMut(Row)> Visitor<'de> for Answer<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an answer to eth_getLogs")
    }

    fn visit_map<M: MapAccess<'de>>(mut self, mut members: M) -> Result<(), M::Error> {
        let mut is_answered = false;
        while let Some(name) = members.next_key::<&str>()? {
            if name == "result" {
                members.next_value_seed(Logs(&mut self.0))?;
                is_answered = true;
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        if is_answered { Ok(()) } else { Err(M::Error::missing_field("result")) }
    }
}

struct Logs<'a, F>(&'a mut F);

impl<'de, F: FnMut(Row)> DeserializeSeed<'de> for Logs<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(Row)> Visitor<'de> for Logs<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of logs")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut logs: S) -> Result<(), S::Error> {
        while let Some(log) = logs.next_element::<Log<'_>>()? {
            (self.0)(row(&log).map_err(S::Error::custom)?);
        }
        Ok(())
    }
}

fn row(log: &Log<'_>) -> Result<Row, Unreadable> {
    let data = log.data.get(2..).filter(|data| data.len() == 128).ok_or("data of another length")?;
    let topic_address = |topic: &str| topic.get(26..).map(|digits| bytes::<20>(digits.as_bytes()));
    Ok(Row {
        block_number: number(log.block_number)?,
        log_index: number(log.log_index)?,
        block_hash: hex::<32>(log.block_hash)?,
        timestamp_s: number(log.block_timestamp)?,
        transaction_hash: hex::<32>(log.transaction_hash)?,
        address: hex::<20>(log.address)?,
        token: topic_address(log.topics[1]).ok_or("a short topic")??,
        integrator: topic_address(log.topics[2]).ok_or("a short topic")??,
        fees: [bytes(&data.as_bytes()[..64])?, bytes(&data.as_bytes()[64..])?],
    })
}

fn number(text: &str) -> Result<i64, Unreadable> {
    Ok(i64::from_str_radix(text.strip_prefix("0x").ok_or("no 0x")?, 16)?)
}

fn hex<const N: usize>(text: &str) -> Result<[u8; N], Unreadable> {
    bytes(text.strip_prefix("0x").ok_or("no 0x")?.as_bytes())
}

fn bytes<const N: usize>(digits: &[u8]) -> Result<[u8; N], Unreadable> {
    let mut bytes = [0; N];
    alloy_primitives::hex::decode_to_slice(digits, &mut bytes)?;
    Ok(bytes)
}
