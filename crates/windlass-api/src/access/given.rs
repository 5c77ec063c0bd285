//! What a request says of its caller.

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue};
use windlass_core::chain::B256;
use windlass_core::payout::ledger::ApiKey;

/// The longest secret that is looked at.
const MAX_SECRET_BYTES: usize = 256;

/// What was given.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// A key, as what its secret hashes to: the secret itself goes no further.
    Key(B256),
    /// A header that is no key.
    Unreadable,
    /// No header. A browser says which site's page it asks for; another site's page could
    /// otherwise have its visitor's own machine pay out.
    Nothing { is_foreign_page: bool },
}

impl Given {
    pub(super) fn read(headers: &HeaderMap) -> Self {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        match (given.next(), given.next()) {
            (None, _) => Self::Nothing { is_foreign_page: is_foreign_page(headers) },
            (Some(header), None) => {
                secret(header).map_or(Self::Unreadable, |secret| Self::Key(ApiKey::hash_of(secret)))
            }
            (Some(_), Some(_)) => Self::Unreadable,
        }
    }
}

/// The secret behind `Bearer`.
fn secret(header: &HeaderValue) -> Option<&str> {
    let (scheme, secret) = header.to_str().ok()?.split_once(' ')?;
    let secret = secret.trim_matches(' ');
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    let is_secret = (1..=MAX_SECRET_BYTES).contains(&secret.len()) && secret.bytes().all(is_token);
    (scheme.eq_ignore_ascii_case("bearer") && is_secret).then_some(secret)
}

/// Whether a page that was not served from here asks.
fn is_foreign_page(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return false };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    match (origin, host) {
        (Some((_, origin)), Some(host)) => !origin.eq_ignore_ascii_case(host),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(headers: &[(&'static str, &str)]) -> Given {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        Given::read(&map)
    }

    #[test]
    fn only_one_bearer_is_a_key() {
        for good in ["Bearer abc-._~+/=9", "bearer abc-._~+/=9", "BEARER   abc-._~+/=9 "] {
            assert_eq!(
                given(&[("authorization", good)]),
                Given::Key(ApiKey::hash_of("abc-._~+/=9")),
                "{good}"
            );
        }
        let long = format!("Bearer {}", "x".repeat(MAX_SECRET_BYTES + 1));
        for bad in ["", "Bearer", "Bearer ", "Basic abc", "Bearer a b", "Bearer a,b", "abc", &long] {
            assert_eq!(given(&[("authorization", bad)]), Given::Unreadable, "{bad}");
        }
        let twice = [("authorization", "Bearer a"), ("authorization", "Bearer a")];
        assert_eq!(given(&twice), Given::Unreadable);
    }

    #[test]
    fn a_page_of_another_site_is_told_from_our_own() {
        let is_foreign =
            |headers: &[(&'static str, &str)]| given(headers) == Given::Nothing { is_foreign_page: true };
        assert!(!is_foreign(&[("host", "localhost:9999")]));
        assert!(!is_foreign(&[("host", "localhost:9999"), ("origin", "http://localhost:9999")]));
        for origin in ["http://evil.example", "http://localhost:1", "null", ""] {
            assert!(is_foreign(&[("host", "localhost:9999"), ("origin", origin)]), "{origin}");
        }
        assert!(is_foreign(&[("origin", "http://localhost:9999")]));
    }
}
