//! Which chain and which node this is.

use alloy_primitives::U64;

use super::{Answer, ok};
use crate::chain::machine::Machine;

pub(super) fn chain_id(machine: &Machine) -> Answer {
    ok(&U64::from(machine.options.chain_id))
}

pub(super) fn version(machine: &Machine) -> Answer {
    ok(&machine.options.chain_id.to_string())
}

pub(super) fn client_version() -> Answer {
    ok(concat!("windlass-devnet/v", env!("CARGO_PKG_VERSION")))
}

pub(super) fn syncing() -> Answer {
    ok(&false)
}
