//! The JSON of a keystore file, and what of it is understood.

use alloy_primitives::{Address, hex};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::KeystoreTrouble;
use super::kdf::Kdf;

/// A keystore file.
#[derive(Serialize, Deserialize)]
pub(super) struct Document {
    version: Version,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Whose key it is; some wallets keep it to themselves.
    #[serde(default, with = "plain_address", skip_serializing_if = "Option::is_none")]
    pub(super) address: Option<Address>,
    /// The key, closed.
    #[serde(alias = "Crypto")]
    pub(super) crypto: Crypto,
}

/// A closed key.
#[derive(Serialize, Deserialize)]
pub(super) struct Crypto {
    cipher: Cipher,
    cipherparams: CipherParams,
    /// The key, encrypted.
    pub(super) ciphertext: HexBytes,
    /// From the passphrase to the cipher's key.
    #[serde(flatten)]
    pub(super) kdf: Kdf,
    /// Over the ciphertext, under a part of the derived key.
    pub(super) mac: HexBytes,
}

#[derive(Serialize, Deserialize)]
enum Cipher {
    #[serde(rename = "aes-128-ctr")]
    Aes128Ctr,
}

#[derive(Serialize, Deserialize)]
struct CipherParams {
    iv: HexBytes,
}

/// The one version that is understood.
#[derive(Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
#[derive(Clone)]
struct Version;

impl TryFrom<u64> for Version {
    type Error = &'static str;
    fn try_from(version: u64) -> Result<Self, &'static str> {
        if version == 3 { Ok(Self) } else { Err("another version") }
    }
}

impl From<Version> for u64 {
    fn from(_: Version) -> Self {
        3
    }
}

impl Document {
    /// Reads a file's content. Where it is not understood, the place is told and never the
    /// content: somebody may have put a bare key there.
    pub(super) fn parse(json: &[u8]) -> Result<Self, KeystoreTrouble> {
        serde_json::from_slice(json)
            .map_err(|error| KeystoreTrouble::Foreign { line: error.line(), column: error.column() })
    }

    /// A document of a closed key.
    pub(super) fn new(id: [u8; 16], address: Address, iv: [u8; 16], closed: Closed) -> Self {
        let crypto = Crypto {
            cipher: Cipher::Aes128Ctr,
            cipherparams: CipherParams { iv: HexBytes(iv.to_vec()) },
            ciphertext: HexBytes(closed.ciphertext.to_vec()),
            kdf: closed.kdf,
            mac: HexBytes(closed.mac.to_vec()),
        };
        Self { version: Version, id: Some(random_uuid(id)), address: Some(address), crypto }
    }

    /// As it is written.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let mut json = serde_json::to_vec_pretty(self).expect("plain fields are JSON");
        json.push(b'\n');
        json
    }

    /// The counter that the cipher begins with.
    pub(super) fn iv(&self) -> Result<[u8; 16], KeystoreTrouble> {
        self.crypto.cipherparams.iv.array("cipherparams.iv")
    }
}

/// What closing a key gives.
pub(super) struct Closed {
    pub(super) ciphertext: [u8; 32],
    pub(super) kdf: Kdf,
    pub(super) mac: [u8; 32],
}

/// A UUID of version 4 of random bytes.
fn random_uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = hex::encode(bytes);
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// Bytes, in hexadecimal digits without a prefix; one is read over.
#[derive(Clone)]
pub(super) struct HexBytes(pub(super) Vec<u8>);

impl HexBytes {
    /// The bytes, if there are as many as there have to be.
    pub(super) fn array<const N: usize>(&self, name: &'static str) -> Result<[u8; N], KeystoreTrouble> {
        self.0.as_slice().try_into().map_err(|_| KeystoreTrouble::Parameter(name))
    }
}

impl Serialize for HexBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for HexBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        hex::decode(text).map(Self).map_err(|_| D::Error::custom("no hexadecimal digits"))
    }
}

/// Addresses as keystores write them: in lower case, without a prefix.
mod plain_address {
    use super::{Address, Deserialize, Deserializer, HexBytes, Serialize, Serializer};
    use serde::de::Error;

    pub(super) fn serialize<S: Serializer>(
        address: &Option<Address>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        address.map(|address| HexBytes(address.to_vec())).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Address>, D::Error> {
        let Some(HexBytes(bytes)) = Option::deserialize(deserializer)? else { return Ok(None) };
        if bytes.is_empty() {
            return Ok(None);
        }
        Address::try_from(bytes.as_slice()).map(Some).map_err(|_| D::Error::custom("no address"))
    }
}
