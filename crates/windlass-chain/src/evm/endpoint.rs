//! An endpoint's URL. Providers put keys into its path, its query or its user
//! part, so only scheme, host and port are ever shown.

use url::Url;

use super::error::RpcError;
use super::scrub::{Scrubber, percent_decoded};

/// Stands for what is not shown.
pub(crate) const HIDDEN: &str = "***";
/// Longer words before `://` are no schemes that anybody uses, and may be keys.
const MAX_SCHEME_CHARS: usize = 12;

/// Reads the URL of an endpoint: `http`, `https`, `ws` or `wss`, and a host behind the two slashes.
///
/// The URL standard forgives `http:KEY` and `http:///KEY` by taking the key for
/// the host, which would then be shown and asked for; here they are no endpoints.
pub fn parse_url(text: &str) -> Option<Url> {
    let (scheme, rest) = text.split_once("://")?;
    let known = ["http", "https", "ws", "wss"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    let strange = |c: char| c.is_whitespace() || c.is_control();
    if !known || rest.starts_with(['/', '\\', '?', '#']) || text.contains(strange) {
        return None;
    }
    Url::parse(text).ok().filter(Url::has_host)
}

/// Scheme, host and port of a URL; whether more follows is shown, not what. Of what
/// is no endpoint at most the scheme is shown.
pub fn redacted(text: &str) -> String {
    let Some(url) = parse_url(text) else { return scheme_alone(text) };
    let Some(host) = url.host_str() else { return HIDDEN.to_owned() };
    let user = if url.username().is_empty() && url.password().is_none() { "" } else { "***@" };
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    let path = if matches!(url.path(), "" | "/") { "" } else { "/***" };
    let query = if url.query().is_some() { "?***" } else { "" };
    format!("{}://{user}{host}{port}{path}{query}", url.scheme())
}

fn scheme_alone(text: &str) -> String {
    match text.split_once("://") {
        Some((scheme, _))
            if (1..=MAX_SCHEME_CHARS).contains(&scheme.len())
                && scheme.chars().all(|c| c.is_ascii_lowercase()) =>
        {
            format!("{scheme}://{HIDDEN}")
        }
        _ => HIDDEN.to_owned(),
    }
}

/// A checked URL with its printable form.
pub(crate) struct Endpoint {
    pub(crate) url: Url,
    /// How it is named in errors and logs.
    pub(crate) place: String,
    scrubber: Scrubber,
}

impl Endpoint {
    pub(crate) fn parse(text: &str) -> Result<Self, RpcError> {
        let place = redacted(text);
        let url = parse_url(text).ok_or_else(|| RpcError::Url { place: place.clone() })?;
        let scrubber = Scrubber::of(&url);
        Ok(Self { url, place, scrubber })
    }

    /// Whether calls go over a WebSocket.
    pub(crate) fn is_socket(&self) -> bool {
        matches!(self.url.scheme(), "ws" | "wss")
    }

    /// The user part, as it was meant: a name and a password, empty where there is none.
    pub(crate) fn credentials(&self) -> (String, String) {
        let password = self.url.password().unwrap_or_default();
        (percent_decoded(self.url.username()), percent_decoded(password))
    }

    /// Whether requests stay on this machine: a proxy has no business there.
    pub(crate) fn is_loopback(&self) -> bool {
        match self.url.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
            Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
            None => false,
        }
    }

    /// A provider's words without this endpoint's keys, and not too long.
    pub(crate) fn scrub(&self, text: &str) -> String {
        self.scrubber.scrub(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scheme_host_and_port_are_shown() {
        for (text, shown) in [
            ("https://rpc.example", "https://rpc.example"),
            ("http://127.0.0.1:8545/", "http://127.0.0.1:8545"),
            ("https://rpc.example/v2/hunter2", "https://rpc.example/***"),
            ("https://rpc.example?key=hunter2", "https://rpc.example?***"),
            ("wss://me:hunter2@rpc.example:444/x?y", "wss://***@rpc.example:444/***?***"),
            ("hunter2", "***"),
            ("mailto:hunter2@example", "***"),
        ] {
            assert_eq!(redacted(text), shown, "{text}");
        }
    }

    #[test]
    fn of_what_is_no_endpoint_only_the_scheme_is_shown() {
        for (text, shown) in [
            ("ftp://hunter2", "ftp://***"),
            ("ftp://me:hunter2@h.example/x", "ftp://***"),
            ("HUNTER2://h.example", "***"),
            ("hunter2hunter2hunter2://h", "***"),
            ("http:///hunter2", "http://***"),
            ("http://\\hunter2", "http://***"),
            ("http:hunter2", "***"),
            ("http:/hunter2", "***"),
            ("https://h.exa\nmple/hunter2", "https://***"),
        ] {
            assert_eq!(redacted(text), shown, "{text}");
            assert!(parse_url(text).is_none(), "{text}");
        }
    }

    #[test]
    fn http_and_websockets_are_spoken_here() {
        for text in ["ftp://h.example", "h.example", "", "http://", "http:///key", "http:key", "ws:key"] {
            assert!(matches!(Endpoint::parse(text), Err(RpcError::Url { .. })), "{text}");
        }
        for (text, socket) in [("wss://h.example", true), ("ws://h", true), ("http://h", false)] {
            assert_eq!(Endpoint::parse(text).map(|endpoint| endpoint.is_socket()), Ok(socket), "{text}");
        }
    }

    #[test]
    fn a_user_part_is_read_as_it_was_meant() {
        let endpoint = Endpoint::parse("wss://me%40x:p%2Fw@h.example/k").expect("an endpoint");
        assert_eq!(endpoint.credentials(), ("me@x".to_owned(), "p/w".to_owned()));
    }
}
