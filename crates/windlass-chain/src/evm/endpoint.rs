//! An endpoint's URL. Providers put keys into its path, its query or its user
//! part, so only scheme, host and port are ever shown.

use url::Url;

use super::error::RpcError;

/// Stands for what is not shown.
const HIDDEN: &str = "***";
/// Shorter pieces of a path (`v1`, `rpc`, `polygon`) are no keys, and scrubbing them would maim texts.
const MIN_KEY_CHARS: usize = 12;
/// A provider's words are cut to this many characters.
const MAX_MESSAGE_CHARS: usize = 500;

/// Scheme, host and port of a URL; whether more follows is shown, not what.
pub fn redacted(text: &str) -> String {
    let Ok(url) = Url::parse(text) else { return HIDDEN.to_owned() };
    let Some(host) = url.host_str() else { return HIDDEN.to_owned() };
    let user = if url.username().is_empty() && url.password().is_none() { "" } else { "***@" };
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    let path = if matches!(url.path(), "" | "/") { "" } else { "/***" };
    let query = if url.query().is_some() { "?***" } else { "" };
    format!("{}://{user}{host}{port}{path}{query}", url.scheme())
}

/// A checked URL with its printable form.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) url: Url,
    /// How it is named in errors and logs.
    pub(crate) place: String,
    keys: Vec<String>,
}

impl Endpoint {
    pub(crate) fn parse(text: &str) -> Result<Self, RpcError> {
        let place = redacted(text);
        let url = Url::parse(text)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| RpcError::Url { place: place.clone() })?;
        let keys = keys(&url);
        Ok(Self { url, place, keys })
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
        let mut text = text.trim().replace(char::is_control, " ");
        for key in &self.keys {
            text = text.replace(key.as_str(), HIDDEN);
        }
        match text.char_indices().nth(MAX_MESSAGE_CHARS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

fn keys(url: &Url) -> Vec<String> {
    let path = url.path_segments().into_iter().flatten().map(str::to_owned);
    let query = url.query_pairs().map(|(_, value)| value.into_owned());
    let user = [url.username().to_owned(), url.password().unwrap_or_default().to_owned()];
    path.chain(query).chain(user).filter(|piece| piece.len() >= MIN_KEY_CHARS).collect()
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
    fn keys_do_not_come_back_in_a_providers_words() {
        let endpoint = Endpoint::parse("https://h.example/v2/hunter2hunter2?k=swordfish1234").expect("a url");
        let said = endpoint.scrub("bad key hunter2hunter2 or swordfish1234\nin v2\n");
        assert_eq!(said, "bad key *** or *** in v2");
        assert_eq!(endpoint.scrub(&"x".repeat(1_000)).chars().count(), MAX_MESSAGE_CHARS + 1);
    }

    #[test]
    fn only_http_is_spoken_here() {
        for text in ["wss://h.example", "h.example", "", "http://"] {
            assert!(matches!(Endpoint::parse(text), Err(RpcError::Url { .. })), "{text}");
        }
    }
}
