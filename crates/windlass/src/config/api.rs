//! `[api]`: the HTTP interface.

use std::borrow::Cow;
use std::net::SocketAddr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::origin::Origin;
use super::problem::Problem;
use super::sections::Config;
use super::tree::{self, Table};

/// The HTTP interface.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Api {
    /// The address and port it listens on.
    pub(crate) listen: Listen,
    /// Whether it may listen beyond this machine. What was collected is then open to everybody who reaches the port; payouts still take a key.
    pub(crate) public: bool,
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

impl Api {
    /// Whether somebody on another machine can reach it.
    pub(crate) fn is_remote(&self) -> bool {
        !self.listen.0.ip().is_loopback()
    }
}

/// Refuses an address that is open to the network unless `public` says so.
pub(crate) fn check(config: &Config, table: &Table) -> Option<Problem> {
    if !config.api.is_remote() || config.api.public {
        return None;
    }
    let path = ["api".to_owned(), "listen".to_owned()];
    let origin = tree::nearest(table, &path).map_or(Origin::Default, |node| node.origin.clone());
    let message = format!("`{}` is open to the network, and reading takes no key", config.api.listen.0);
    let hint = "`api.public = true` allows it; otherwise listen on 127.0.0.1";
    Some(Problem::new(origin, path.join("."), message).hint(Some(hint.to_owned())))
}

/// An address with a port. Only a loopback address is accepted unless `public` is set.
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
        let address = text.parse();
        let address =
            address.map_err(|_| format!("an address and port is written `127.0.0.1:9999`, not `{text}`"))?;
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
    use crate::config::{file, typed};

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
    fn an_address_has_a_port() {
        for text in ["127.0.0.1:0", "[::1]:80", "127.0.0.1:65535", "0.0.0.0:80"] {
            assert!(Listen::try_from(text.to_owned()).is_ok(), "{text}");
        }
        for text in ["localhost:80", "80", "127.0.0.1:65536", "0.0.0.0"] {
            assert!(Listen::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_beyond_loopback_takes_public() {
        let problem = |listen: &str, public: &str| {
            let text = format!("[api]\nlisten = '{listen}'\n{public}\n");
            let table = file::parse(std::path::Path::new("w.toml"), &text).table;
            let (config, _) = typed::read(table.clone());
            check(&config, &table).map(|problem| problem.to_string())
        };
        for listen in ["0.0.0.0:80", "[::]:80", "192.168.1.1:80"] {
            let refused = problem(listen, "").expect("refused");
            assert!(refused.starts_with("w.toml:2: api.listen: "), "{refused}");
            assert!(refused.contains("`api.public = true`"), "{refused}");
            assert_eq!(problem(listen, "public = false"), Some(refused));
            assert_eq!(problem(listen, "public = true"), None);
        }
        assert_eq!(problem("127.0.0.1:80", ""), None);
        assert_eq!(problem("[::1]:80", "public = true"), None);
    }
}
