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
    /// Names of hosts under which it answers besides `localhost`, such as that of a proxy in front.
    pub(crate) hosts: Vec<Host>,
}

/// The name or address of a host, without a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Host(pub(crate) String);

impl TryFrom<String> for Host {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        if windlass_api::is_host(&text) {
            return Ok(Self(text));
        }
        Err(format!("a host is written `windlass.example.org`, without scheme, port and path, not `{text}`"))
    }
}

impl From<Host> for String {
    fn from(host: Host) -> Self {
        host.0
    }
}

impl JsonSchema for Host {
    fn schema_name() -> Cow<'static, str> {
        "Host".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["windlass.example.org"] })
    }
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
    fn a_host_is_a_name_alone() {
        for text in ["localhost", "windlass.example.org", "10.0.0.7", "[fd00::7]", "a_b"] {
            assert!(Host::try_from(text.to_owned()).is_ok(), "{text}");
        }
        for text in
            ["", "*", "http://a.example", "a.example:80", "a.example/", "a b", "u@a.example", "fd00::7"]
        {
            assert!(Host::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

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
