//! `[chain.<name>]`: a chain and the endpoints that serve it.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;
use windlass_core::chain::ChainId;

use super::interval::Interval;
use super::number::Number;
use super::percent::Percent;
use super::poll_interval::RealtimeInterval;
use super::redact;
use super::secret::{Secret, SecretError};

/// The most endpoints of one chain.
const MAX_ENDPOINTS: usize = 64;

/// A chain and the endpoints that serve it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chain {
    /// The chain's id (EIP-155); endpoints that serve another chain are refused.
    #[schemars(with = "u64", range(min = 1, max = 9_223_372_036_854_775_807_u64))]
    pub(crate) id: ChainId,
    /// HTTP or WebSocket endpoints, each written out, `env:NAME` or `file:PATH`.
    #[schemars(length(min = 1, max = 64))]
    pub(crate) rpc: Endpoints,
    /// From when on a block is final: `finalized`, `safe`, or a depth in blocks.
    #[serde(default)]
    pub(crate) finality: Finality,
    /// How many blocks behind the head still count as being there; five times as many are the past again.
    #[serde(default = "batch_size")]
    pub(crate) batch_size: Number<1, 1_000_000>,
    /// How long a process that has died keeps the ranges and the head it held.
    #[serde(default = "lease_ttl")]
    pub(crate) lease_ttl: Interval<1_000, 86_400_000>,
    /// How long to wait when there is nothing to do, while there is a past to catch up with.
    #[serde(default = "historical_poll_interval")]
    pub(crate) historical_poll_interval: PollInterval,
    /// The time from one look at the head to the next: `auto` (half the time between blocks), or fixed. A WebSocket's news come at once.
    #[serde(default)]
    pub(crate) realtime_poll_interval: RealtimeInterval,
    /// How many ranges of the past this process collects at a time.
    #[serde(default = "workers")]
    pub(crate) workers: Number<1, 64>,
    /// No range of the past is larger, in blocks, whatever an endpoint takes.
    #[serde(default = "max_range")]
    pub(crate) max_range: Number<1, 10_000_000>,
    /// How much of what was collected in ranges is verified in the background.
    #[serde(default)]
    pub(crate) verify: Verify,
    /// The share of all requests that verification may use, such as `2%`.
    #[serde(default = "verify_share")]
    pub(crate) verify_share: Percent,
}

/// How much of what was collected in ranges is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verify {
    /// Nothing.
    Off,
    /// Headers of some blocks of each segment, and some blocks whole.
    #[default]
    Sample,
    /// Every header, and every block whole that may have logs.
    Full,
}

/// How long to wait with nothing to do.
type PollInterval = Interval<10, 86_400_000>;

const fn batch_size() -> Number<1, 1_000_000> {
    Number::of(100)
}

const fn lease_ttl() -> Interval<1_000, 86_400_000> {
    Interval::of_ms(120_000)
}

const fn historical_poll_interval() -> PollInterval {
    Interval::of_ms(5_000)
}

/// Enough that answers which take 20 ms are no bound, and few enough for 200 MiB.
const fn workers() -> Number<1, 64> {
    Number::of(8)
}

const fn verify_share() -> Percent {
    Percent::of(2)
}

const fn max_range() -> Number<1, 10_000_000> {
    Number::of(1_000_000)
}

/// At least one endpoint.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<RpcUrl>")]
pub(crate) struct Endpoints(Vec<RpcUrl>);

impl Endpoints {
    /// These endpoints with relative paths in them taken from a folder on.
    pub(crate) fn anchored(self, folder: &Path) -> Self {
        Self(self.0.into_iter().map(|RpcUrl(secret)| RpcUrl(secret.anchored(folder))).collect())
    }

    /// The endpoints in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &RpcUrl> {
        self.0.iter()
    }
}

/// The first two places that have one URL, as a client asks it: hosts in any case, the usual port
/// or none, `/` or nothing.
pub(crate) fn repeated_url(urls: &[&str]) -> Option<(usize, usize)> {
    let normalised = |url: &&str| match Url::parse(url) {
        Ok(mut parsed) => {
            parsed.set_fragment(None);
            if parsed.query() == Some("") {
                parsed.set_query(None);
            }
            parsed.as_str().trim_end_matches('/').to_owned()
        }
        Err(_) => (*url).to_owned(),
    };
    let urls: Vec<String> = urls.iter().map(normalised).collect();
    let second = (1..urls.len()).find(|place| urls[..*place].contains(&urls[*place]))?;
    urls.iter().position(|url| *url == urls[second]).map(|first| (first, second))
}

impl TryFrom<Vec<RpcUrl>> for Endpoints {
    type Error = String;
    fn try_from(urls: Vec<RpcUrl>) -> Result<Self, String> {
        match urls.len() {
            1..=MAX_ENDPOINTS => Ok(Self(urls)),
            count => Err(format!("a chain has 1 to {MAX_ENDPOINTS} endpoints, not {count}")),
        }
    }
}

/// A chain's name: it appears in table names, metrics and environment variables.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct ChainName(String);

impl TryFrom<String> for ChainName {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if (1..=32).contains(&name.len()) && name.chars().all(fits) {
            return Ok(Self(name));
        }
        Err(format!("a name is 1 to 32 lower-case letters, digits and `_`, not `{name}`"))
    }
}

impl From<ChainName> for String {
    fn from(name: ChainName) -> Self {
        name.0
    }
}

impl fmt::Display for ChainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for ChainName {
    fn schema_name() -> Cow<'static, str> {
        "ChainName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// An endpoint's URL, or where to find it. Shown by its host alone.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Secret", into = "Secret")]
pub(crate) struct RpcUrl(Secret);

/// The text is no endpoint. Never repeats the text.
#[derive(Debug, thiserror::Error)]
#[error("an endpoint begins with `https://`, `http://`, `wss://` or `ws://` and names a host")]
pub(crate) struct RpcUrlError;

impl RpcUrl {
    /// Reads the secret, if it is one.
    pub(crate) fn resolve(&self) -> Result<SecretString, SecretError> {
        self.0.resolve()
    }

    /// What the file says: a URL, or the place of one. It may hold a key.
    pub(crate) fn written(&self) -> SecretString {
        match &self.0 {
            Secret::Plain(text) => text.clone(),
            Secret::Env(name) => format!("env:{name}").into(),
            Secret::File(path) => format!("file:{}", path.display()).into(),
        }
    }

    /// A form that may be printed.
    #[cfg(test)]
    pub(crate) fn shown(&self) -> String {
        self.0.show(redact::rpc_url)
    }
}

impl TryFrom<Secret> for RpcUrl {
    type Error = RpcUrlError;
    fn try_from(secret: Secret) -> Result<Self, RpcUrlError> {
        if let Secret::Plain(text) = &secret {
            windlass_chain::evm::parse_url(text.expose_secret()).ok_or(RpcUrlError)?;
        }
        Ok(Self(secret))
    }
}

impl From<RpcUrl> for Secret {
    /// What serialises: the plain form gives up its key first.
    fn from(url: RpcUrl) -> Self {
        url.0.shown_by(redact::rpc_url)
    }
}

/// From when on a block counts as final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "toml::Value", into = "toml::Value")]
pub(crate) enum Finality {
    /// When the node says `finalized`.
    #[default]
    Finalized,
    /// When the node says `safe`.
    Safe,
    /// When so many blocks stand on it.
    Depth(u32),
}

impl TryFrom<toml::Value> for Finality {
    type Error = String;
    fn try_from(value: toml::Value) -> Result<Self, String> {
        match &value {
            toml::Value::String(text) if text == "finalized" => Ok(Self::Finalized),
            toml::Value::String(text) if text == "safe" => Ok(Self::Safe),
            // A head that is final at once could never be replaced by a reorg.
            toml::Value::Integer(depth) => match u32::try_from(*depth) {
                Ok(blocks @ 1..) => Ok(Self::Depth(blocks)),
                _ => Err(format!("a depth is 1 to {} blocks, not {depth}", u32::MAX)),
            },
            _ => Err("finality is \"finalized\", \"safe\" or a depth in blocks".to_owned()),
        }
    }
}

impl From<Finality> for toml::Value {
    fn from(finality: Finality) -> Self {
        match finality {
            Finality::Finalized => "finalized".into(),
            Finality::Safe => "safe".into(),
            Finality::Depth(blocks) => i64::from(blocks).into(),
        }
    }
}

impl JsonSchema for Finality {
    fn schema_name() -> Cow<'static, str> {
        "Finality".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [
            { "enum": ["finalized", "safe"] },
            { "type": "integer", "minimum": 1, "maximum": u32::MAX },
        ] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(text: &str) -> Result<Chain, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn finality_is_a_word_or_a_depth() {
        for (text, finality) in [
            ("\"finalized\"", Finality::Finalized),
            ("\"safe\"", Finality::Safe),
            ("64", Finality::Depth(64)),
        ] {
            let chain = chain(&format!("id = 1\nrpc = [\"http://h\"]\nfinality = {text}")).expect(text);
            assert_eq!(chain.finality, finality);
        }
        for text in ["\"never\"", "-1", "0", "4294967296", "1.5"] {
            assert!(chain(&format!("id = 1\nrpc = [\"http://h\"]\nfinality = {text}")).is_err(), "{text}");
        }
    }

    #[test]
    fn verification_is_a_word_and_a_share() {
        let usual = chain("id = 1\nrpc = [\"http://h\"]").expect("a chain");
        assert_eq!((usual.verify, usual.verify_share.ppm()), (Verify::Sample, 20_000));
        let text = "id = 1\nrpc = [\"http://h\"]\nverify = \"full\"\nverify_share = \"12.5%\"";
        let full = chain(text).expect("a chain");
        assert_eq!((full.verify, full.verify_share.ppm()), (Verify::Full, 125_000));
        for wrong in ["verify = \"some\"", "verify = true", "verify_share = 2", "verify_share = \"101%\""] {
            assert!(chain(&format!("id = 1\nrpc = [\"http://h\"]\n{wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn endpoints_are_urls_and_hide_their_keys() {
        let chain = chain("id = 1\nrpc = [\"https://h.example/v2/hunter2\", \"env:RPC\"]").expect("a chain");
        let shown: Vec<String> = chain.rpc.iter().map(RpcUrl::shown).collect();
        assert_eq!(shown, ["https://h.example/***", "env:RPC"]);
        assert!(!format!("{chain:?}").contains("hunter2"));
        assert!(!toml::to_string(&chain).expect("text").contains("hunter2"));
    }

    #[test]
    fn a_chain_has_an_id_and_endpoints() {
        for text in ["id = 1", "rpc = [\"http://h\"]", "id = 0\nrpc = [\"http://h\"]", "id = 1\nrpc = []"] {
            assert!(chain(text).is_err(), "{text}");
        }
        for url in ["ftp://h", "http:///key", "http:key", "env:", "file:"] {
            assert!(chain(&format!("id = 1\nrpc = [\"{url}\"]")).is_err(), "{url}");
        }
    }
}
