//! Keeps web pages out.
//!
//! A browser lets any page send requests to loopback, and a name that a page
//! controls may point there. Such requests carry an `Origin` or a `Host` that is
//! not loopback; clients that are no browsers send none or the address itself.

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::{Request, State},
    http::{
        HeaderMap, StatusCode, Uri,
        header::{HOST, ORIGIN},
        uri::Authority,
    },
    middleware::Next,
    response::{IntoResponse, Response},
};

/// Who may come in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Door {
    /// Whether the server listens on loopback only, so that no other `Host` is honest.
    only_loopback: bool,
}

impl Door {
    pub(super) fn new(listens_on: SocketAddr) -> Self {
        Self { only_loopback: listens_on.ip().is_loopback() }
    }

    fn refusal(self, headers: &HeaderMap) -> Option<&'static str> {
        let foreign_origin = |value: &str| value.parse().ok().is_none_or(|uri: Uri| !is_loopback(uri.host()));
        let foreign_host =
            |value: &str| value.parse().ok().is_none_or(|host: Authority| !is_loopback(Some(host.host())));
        let any = |name, foreign: &dyn Fn(&str) -> bool| {
            headers.get_all(name).iter().any(|value| value.to_str().map_or(true, foreign))
        };
        if any(ORIGIN, &foreign_origin) {
            return Some("requests of web pages from elsewhere are refused\n");
        }
        (self.only_loopback && any(HOST, &foreign_host))
            .then_some("this server is for requests to loopback only\n")
    }
}

/// Answers 403 to whoever may not come in.
pub(super) async fn check(State(door): State<Door>, request: Request, next: Next) -> Response {
    match door.refusal(request.headers()) {
        Some(words) => (StatusCode::FORBIDDEN, words).into_response(),
        None => next.run(request).await,
    }
}

fn is_loopback(host: Option<&str>) -> bool {
    let Some(host) = host.map(str::to_ascii_lowercase) else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(door: Door, headers: &[(axum::http::HeaderName, &'static str)]) -> bool {
        let headers: HeaderMap =
            headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        door.refusal(&headers).is_some()
    }

    #[test]
    fn loopback_by_any_name_comes_in() {
        let door = Door::new(([127, 0, 0, 1], 8545).into());
        assert!(!refused(door, &[]));
        for host in ["127.0.0.1:8545", "127.9.9.9", "LocalHost:1", "[::1]:8545", "app.localhost"] {
            assert!(!refused(door, &[(HOST, host)]), "{host}");
        }
        for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:5173"] {
            assert!(!refused(door, &[(HOST, "localhost"), (ORIGIN, origin)]), "{origin}");
        }
    }

    #[test]
    fn pages_and_rebound_names_do_not() {
        let door = Door::new(([127, 0, 0, 1], 8545).into());
        for origin in ["https://evil.example", "null", "", "http://localhost.evil.example", "file://"] {
            assert!(refused(door, &[(HOST, "localhost:8545"), (ORIGIN, origin)]), "{origin}");
        }
        for host in ["evil.example:8545", "192.168.0.7", "127.0.0.1.evil.example", ""] {
            assert!(refused(door, &[(HOST, host)]), "{host}");
        }
    }

    #[test]
    fn another_address_has_other_names() {
        let door = Door::new(([0, 0, 0, 0], 8545).into());
        assert!(!refused(door, &[(HOST, "devnet.internal:8545")]));
        assert!(refused(door, &[(HOST, "devnet.internal:8545"), (ORIGIN, "https://evil.example")]));
    }
}
