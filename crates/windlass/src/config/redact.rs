//! What may be shown of a URL.
//!
//! Databases carry a password; RPC providers put a key into the path, the query
//! or the user part. What remains names the place and opens nothing.

use url::Url;

/// Stands for what is not shown.
pub(crate) const HIDDEN: &str = "***";

/// Parameters of a database URL that hold no secret.
const HARMLESS_PARAMETERS: [&str; 4] = ["sslmode", "application_name", "connect_timeout", "host"];

/// A database URL without its password.
pub(crate) fn database_url(text: &str) -> String {
    if text.starts_with("sqlite:") {
        return match text.split_once('?') {
            Some((path, _)) => format!("{path}?{HIDDEN}"),
            None => text.to_owned(),
        };
    }
    let Ok(mut url) = Url::parse(text) else { return HIDDEN.to_owned() };
    if url.password().is_some() && url.set_password(Some(HIDDEN)).is_err() {
        return HIDDEN.to_owned();
    }
    let parameters: Vec<(String, String)> = url
        .query_pairs()
        .map(|(key, value)| {
            let shown = HARMLESS_PARAMETERS.contains(&key.as_ref());
            (key.into_owned(), if shown { value.into_owned() } else { HIDDEN.to_owned() })
        })
        .collect();
    if !parameters.is_empty() {
        url.query_pairs_mut().clear().extend_pairs(parameters);
    }
    url.to_string()
}

/// An RPC endpoint's scheme, host and port. Whether a path or a query follows is shown, not what it says.
pub(crate) fn rpc_url(text: &str) -> String {
    windlass_chain::evm::redacted(text)
}

/// A message with every URL in it redacted.
pub(crate) fn message(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for piece in text.split_inclusive(|c: char| c.is_whitespace() || matches!(c, '"' | '`' | '\'' | ',')) {
        let word = piece.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '`' | '\'' | ','));
        // A scheme alone, as in `https://`, gives nothing away.
        if word.contains("://") && !word.ends_with("://") {
            shown.push_str(&rpc_url(word));
        } else {
            shown.push_str(word);
        }
        shown.push_str(&piece[word.len()..]);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_keeps_host_and_name_only() {
        assert_eq!(database_url("sqlite:windlass.db"), "sqlite:windlass.db");
        assert_eq!(database_url("sqlite:windlass.db?key=hunter2"), "sqlite:windlass.db?***");
        assert_eq!(database_url("postgres://u:hunter2@h/d"), "postgres://u:***@h/d");
        assert_eq!(
            database_url("postgres://u@h/d?password=hunter2&sslmode=require"),
            "postgres://u@h/d?password=***&sslmode=require"
        );
        assert_eq!(database_url("hunter2"), "***");
    }

    #[test]
    fn urls_within_a_message_are_redacted() {
        assert_eq!(
            message("invalid value: string \"https://h/v2/hunter2\", expected `a`"),
            "invalid value: string \"https://h/***\", expected `a`"
        );
        assert_eq!(message("nothing behind `https://`"), "nothing behind `https://`");
    }
}
