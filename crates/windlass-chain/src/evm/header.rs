//! Blocks, as far as they are needed: the header.

use alloy_primitives::{B256, Bloom};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use windlass_core::chain::BlockHeader;
use windlass_core::reader::{BlockTag, Header};

use super::hex::{self, Hex, Storable};

/// A block's tag or height, as a parameter. A hash is asked for by another method.
pub(crate) struct TagParam(pub(crate) BlockTag);

impl Serialize for TagParam {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            BlockTag::Latest => serializer.serialize_str("latest"),
            BlockTag::Safe => serializer.serialize_str("safe"),
            BlockTag::Finalized => serializer.serialize_str("finalized"),
            BlockTag::Number(number) => serializer.collect_str(&format_args!("{number:#x}")),
            BlockTag::Hash(hash) => serializer.collect_map([("blockHash", hash)]),
        }
    }
}

/// The method that tells a header, and its parameters.
pub(crate) fn call(block: BlockTag) -> (&'static str, (BlockParam, bool)) {
    match block {
        BlockTag::Hash(hash) => ("eth_getBlockByHash", (BlockParam::Hash(hash), false)),
        tag => ("eth_getBlockByNumber", (BlockParam::Tag(TagParam(tag)), false)),
    }
}

/// The block a header is asked of.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum BlockParam {
    Hash(B256),
    Tag(TagParam),
}

/// Whether a header is of the block that was asked for.
pub(crate) fn answers(asked: BlockTag, header: &Header) -> bool {
    match asked {
        BlockTag::Number(number) => header.block.number == number,
        BlockTag::Hash(hash) => header.block.hash == hash,
        BlockTag::Latest | BlockTag::Safe | BlockTag::Finalized => true,
    }
}

/// A header as it is read.
pub(crate) struct ReadHeader(pub(crate) Header);

impl<'de> Deserialize<'de> for ReadHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        let wire: Wire = serde_json::from_str(text).map_err(D::Error::custom)?;
        // A chain whose headers have other members is read all the same.
        let whole = serde_json::from_str::<alloy_consensus::Header>(text);
        let is_hash_proven = whole.is_ok_and(|header| header.hash_slow() == wire.hash);
        Ok(Self(wire.header(is_hash_proven)))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(deserialize_with = "hex::de")]
    number: Storable,
    #[serde(deserialize_with = "hex::de")]
    hash: [u8; 32],
    #[serde(deserialize_with = "hex::de")]
    parent_hash: [u8; 32],
    #[serde(deserialize_with = "hex::de")]
    timestamp: Storable,
    #[serde(deserialize_with = "hex::de")]
    logs_bloom: [u8; 256],
    /// Chains that do not have one cannot be checked by it, but they can be read.
    #[serde(default)]
    receipts_root: Option<Hex<[u8; 32]>>,
}

impl Wire {
    fn header(self, is_hash_proven: bool) -> Header {
        let block = BlockHeader {
            number: self.number.0,
            hash: B256::from(self.hash),
            parent_hash: B256::from(self.parent_hash),
            timestamp_s: self.timestamp.0,
        };
        let receipts_root = self.receipts_root.map_or(B256::ZERO, |Hex(root)| B256::from(root));
        // Some chains have a bloom of all ones in the place of one, and hash other things than
        // headers: it says nothing, as an empty one does.
        let is_placeholder = !is_hash_proven && self.logs_bloom == [0xff; 256];
        let logs_bloom = if is_placeholder { Bloom::ZERO } else { Bloom::from(self.logs_bloom) };
        let logs_bloom = Box::new(logs_bloom);
        Header { block, logs_bloom, receipts_root, is_hash_proven }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_words_or_hexadecimal() {
        let tags = [BlockTag::Latest, BlockTag::Finalized, BlockTag::Number(0), BlockTag::Number(255)];
        let tags = tags.map(TagParam);
        let text = serde_json::to_string(&tags).expect("json");
        assert_eq!(text, r#"["latest","finalized","0x0","0xff"]"#);
    }

    #[test]
    fn a_header_needs_its_hash_and_its_bloom() {
        let zeros = |bytes: usize| format!("0x{}", "00".repeat(bytes));
        let mut json = serde_json::json!({
            "number": "0x1f", "hash": zeros(32), "parentHash": zeros(32), "timestamp": "0x5",
            "logsBloom": zeros(256), "receiptsRoot": zeros(32), "transactions": [], "difficulty": "0x0",
        });
        let ReadHeader(header) = serde_json::from_str(&json.to_string()).expect("a header");
        assert_eq!((header.block.number, header.block.timestamp_s), (31, 5));
        for key in ["number", "timestamp"] {
            let mut json = json.clone();
            json[key] = "0x7fffffffffffffff".into();
            assert!(serde_json::from_str::<ReadHeader>(&json.to_string()).is_ok(), "{key}");
            json[key] = "0x8000000000000000".into();
            assert!(
                serde_json::from_str::<ReadHeader>(&json.to_string()).is_err(),
                "no store keeps it: {key}"
            );
        }
        assert!(!header.is_hash_proven, "half of its members are missing");
        for (bloom, read) in [("ff", "00"), ("fe", "fe"), ("00", "00")] {
            json["logsBloom"] = format!("0x{}", bloom.repeat(256)).into();
            let ReadHeader(header) = serde_json::from_str(&json.to_string()).expect("a header");
            assert_eq!(header.logs_bloom.to_string(), format!("0x{}", read.repeat(256)));
        }
        json["hash"] = serde_json::Value::Null;
        assert!(serde_json::from_str::<ReadHeader>(&json.to_string()).is_err());
    }

    /// Whatever is changed in a header, it does not hash to its hash any more.
    #[test]
    fn a_header_proves_its_hash_or_does_not() {
        let header = alloy_consensus::Header {
            number: 7,
            timestamp: 1_700_000_000,
            base_fee_per_gas: Some(7),
            withdrawals_root: Some(B256::repeat_byte(1)),
            ..alloy_consensus::Header::default()
        };
        let mut json = serde_json::to_value(&header).expect("json");
        json["hash"] = header.hash_slow().to_string().into();
        json["transactions"] = serde_json::json!([B256::ZERO]);
        json["size"] = "0x220".into();
        let read = |json: &serde_json::Value| {
            serde_json::from_str::<ReadHeader>(&json.to_string()).expect("a header").0.is_hash_proven
        };
        assert!(read(&json));
        // A bloom that is part of the hash is what it is.
        let full = alloy_consensus::Header { logs_bloom: Bloom::repeat_byte(0xff), ..header.clone() };
        let mut full_json = serde_json::to_value(&full).expect("json");
        full_json["hash"] = full.hash_slow().to_string().into();
        let ReadHeader(full) = serde_json::from_str(&full_json.to_string()).expect("a header");
        assert_eq!((full.is_hash_proven, *full.logs_bloom), (true, Bloom::repeat_byte(0xff)));
        let other = |bytes: usize| format!("0x{}", "07".repeat(bytes));
        for (key, value) in [
            ("number", "0x8".to_owned()),
            ("timestamp", "0x1".to_owned()),
            ("parentHash", other(32)),
            ("receiptsRoot", other(32)),
            ("stateRoot", other(32)),
            ("logsBloom", other(256)),
            ("hash", other(32)),
        ] {
            let mut json = json.clone();
            json[key] = value.into();
            assert!(!read(&json), "{key}");
        }
    }
}
