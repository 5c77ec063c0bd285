//! A transaction in words, before it is one.

use std::fmt::Write;

use serde::Serialize;
use windlass_core::chain::{Address, Bytes};
use windlass_core::money::NATIVE_COIN;
use windlass_core::payout::submit::Call;
use windlass_core::payout::vault::admin::deploy::Deployment;
use windlass_core::payout::vault::admin::{AdminCall, Argument, EVERYTHING};

use super::amount;
use super::site::{Site, Vault};

/// An argument under the contract's own name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Told {
    /// Its name.
    pub(crate) name: &'static str,
    /// As an ABI's tools write it.
    pub(crate) value: String,
    /// As people read it.
    pub(crate) shown: String,
}

/// What is to be sent.
pub(crate) struct Planned {
    /// Whom it calls; nobody to make a contract.
    pub(crate) to: Option<Address>,
    /// With what.
    pub(crate) data: Bytes,
    /// The function with its types.
    pub(crate) signature: String,
    /// What it is called with.
    pub(crate) arguments: Vec<Told>,
    /// What it does, to follow "this would".
    pub(crate) purpose: String,
}

impl Planned {
    /// A call of the vault.
    pub(crate) fn call(vault: &Vault, call: &AdminCall, purpose: impl Into<String>) -> Self {
        // A request that is not known here is cancelled without a recipient; its token of zero is no coin.
        let is_unknown = matches!(call, AdminCall::CancelRequest(payout) if payout.to.is_zero());
        let told = |(name, argument): (&'static str, Argument)| Told {
            name,
            value: argument.to_string(),
            shown: if is_unknown { argument.to_string() } else { shown(&vault.site, argument) },
        };
        Self {
            to: Some(vault.address),
            data: call.calldata(),
            signature: call.signature().to_owned(),
            arguments: call.arguments().into_iter().map(told).collect(),
            purpose: purpose.into(),
        }
    }

    /// A new vault.
    pub(crate) fn deployment(deployment: &Deployment, bytecode: &[u8]) -> Self {
        let told = |(name, value): (&'static str, String)| Told { name, shown: value.clone(), value };
        Self {
            to: None,
            data: deployment.init_code(bytecode),
            signature: "constructor(address,address,address,address,address,uint256)".to_owned(),
            arguments: deployment.arguments().map(told).into(),
            purpose: "put a new vault on the chain".to_owned(),
        }
    }

    /// As an account would make it.
    pub(crate) fn from(&self, from: Address) -> Call {
        Call { from, to: self.to, data: self.data.clone() }
    }

    /// The function's name.
    pub(crate) fn function(&self) -> &str {
        self.signature.split_once('(').map_or(&self.signature, |(name, _)| name)
    }

    /// Chain, contract, function and arguments, a line each.
    pub(crate) fn lines(&self, site: &Site) -> String {
        let mut text = format!("chain     {} ({})\n", site.name, site.id);
        let contract = self.to.map_or_else(|| "a new SettlementVault".to_owned(), |to| to.to_string());
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "contract  {contract}\nfunction  {}", self.signature);
        let width = self.arguments.iter().map(|told| told.name.len()).max().unwrap_or_default();
        for Told { name, shown, .. } in &self.arguments {
            let _ = writeln!(text, "  {name:width$}  {shown}");
        }
        text
    }
}

fn shown(site: &Site, argument: Argument) -> String {
    match argument {
        Argument::Token(address) => match site.token(address) {
            Some(token) => format!("{address} ({})", token.symbol),
            None if address == NATIVE_COIN => format!("{address} (the chain's coin)"),
            None => address.to_string(),
        },
        Argument::Account(address) if address.is_zero() => format!("{address} (nobody)"),
        Argument::Role(role) => role.to_string(),
        Argument::Amount(_, units) if units == EVERYTHING => "whatever the vault holds then".to_owned(),
        Argument::Amount(token, units) => amount::shown(site.token(token), units),
        Argument::Limit(token, units) => amount::shown_limit(site.token(token), units),
        plain => plain.to_string(),
    }
}
