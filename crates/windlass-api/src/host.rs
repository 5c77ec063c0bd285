//! Under which names the API answers.
//!
//! Whoever owns a name can have it point at 127.0.0.1, and a browser then takes what is
//! served here for a part of that site: its page reads what it likes. So on loopback only
//! local names are answered, and those that are listed. Where the address is open to the
//! network anyway, its names are unknown, and only a list restricts them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use axum::http::uri::Authority;
use axum::http::{Request, Version, header::HOST};

use crate::server::BindError;

/// The names that are answered.
#[derive(Debug)]
pub(crate) struct Hosts {
    is_checked: bool,
    addresses: Vec<IpAddr>,
    names: Vec<String>,
}

impl Hosts {
    /// The local names, the address that is listened on, and the listed ones.
    pub(crate) fn new(listen: IpAddr, listed: &[String]) -> Result<Self, BindError> {
        if let Some(host) = listed.iter().find(|host| !is_host(host)) {
            return Err(BindError::Host { host: host.clone() });
        }
        let mut addresses = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into(), listen];
        addresses.extend(listed.iter().filter_map(|host| address(host)));
        let names = listed.iter().map(|host| host.to_ascii_lowercase());
        Ok(Self {
            is_checked: listen.is_loopback() || !listed.is_empty(),
            addresses,
            names: names.chain(["localhost".to_owned()]).collect(),
        })
    }

    /// Whether a request is made under such a name. Browsers always name one, and only
    /// what is older than they are does not have to.
    pub(crate) fn admit<B>(&self, request: &Request<B>) -> bool {
        if !self.is_checked {
            return true;
        }
        let is_target_known = request.uri().authority().is_none_or(|target| self.knows(target.as_str()));
        let mut given = request.headers().get_all(HOST).iter();
        let is_host_known = match (given.next(), given.next()) {
            (None, _) => request.version() == Version::HTTP_10,
            (Some(host), None) => host.to_str().is_ok_and(|host| self.knows(host)),
            (Some(_), Some(_)) => false,
        };
        is_target_known && is_host_known
    }

    /// Whether it knows a host, with a port or without.
    fn knows(&self, host: &str) -> bool {
        let Some(authority) = host.parse::<Authority>().ok().filter(|_| !host.contains('@')) else {
            return false;
        };
        match address(authority.host()) {
            Some(address) => self.addresses.contains(&address),
            None => self.names.iter().any(|name| name.eq_ignore_ascii_case(authority.host())),
        }
    }
}

/// Whether a text is the name or address of a host, without a port.
pub fn is_host(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    address(text).is_some() || (!text.is_empty() && text.chars().all(is_name))
}

fn address(text: &str) -> Option<IpAddr> {
    match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(six) => six.parse::<Ipv6Addr>().ok().map(IpAddr::from),
        None => text.parse::<Ipv4Addr>().ok().map(IpAddr::from),
    }
}
