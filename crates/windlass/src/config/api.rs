//! `[api]`: the HTTP interface.

use std::borrow::Cow;
use std::net::SocketAddr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The HTTP interface.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Api {
    /// The address and port it listens on.
    pub(crate) listen: Listen,
}

/// A loopback address with a port. Anything else would be open to the network
/// without authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Listen(pub(crate) SocketAddr);

impl Default for Listen {
    fn default() -> Self {
        Self(SocketAddr::from(([127, 0, 0, 1], windlass_api::options::DEFAULT_PORT)))
    }
}

impl TryFrom<String> for Listen {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let address: SocketAddr = text
            .parse()
            .map_err(|_| format!("an address and port is written `127.0.0.1:9999`, not `{text}`"))?;
        if !address.ip().is_loopback() {
            return Err(format!(
                "`{address}` is open to the network; without authentication only 127.0.0.1 is allowed"
            ));
        }
        Ok(Self(address))
    }
}

impl From<Listen> for String {
    fn from(listen: Listen) -> Self {
        listen.0.to_string()
    }
}

impl JsonSchema for Listen {
    fn schema_name() -> Cow<'static, str> {
        "Listen".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["127.0.0.1:9999"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_listened_on() {
        for text in ["127.0.0.1:0", "[::1]:80", "127.0.0.1:65535"] {
            assert!(Listen::try_from(text.to_owned()).is_ok(), "{text}");
        }
        for text in ["0.0.0.0:80", "[::]:80", "192.168.1.1:80", "localhost:80", "80", "127.0.0.1:65536"] {
            assert!(Listen::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
