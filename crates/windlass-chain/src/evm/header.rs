//! Blocks, as far as they are needed: the header.

use alloy_primitives::{B256, Bloom};
use serde::{Deserialize, Serialize, Serializer};
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
#[derive(Deserialize)]
#[serde(from = "Wire")]
pub(crate) struct ReadHeader(pub(crate) Header);

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

impl From<Wire> for ReadHeader {
    fn from(wire: Wire) -> Self {
        let block = BlockHeader {
            number: wire.number.0,
            hash: B256::from(wire.hash),
            parent_hash: B256::from(wire.parent_hash),
            timestamp_s: wire.timestamp.0,
        };
        let receipts_root = wire.receipts_root.map_or(B256::ZERO, |Hex(root)| B256::from(root));
        Self(Header { block, logs_bloom: Box::new(Bloom::from(wire.logs_bloom)), receipts_root })
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
        json["hash"] = serde_json::Value::Null;
        assert!(serde_json::from_str::<ReadHeader>(&json.to_string()).is_err());
    }
}
