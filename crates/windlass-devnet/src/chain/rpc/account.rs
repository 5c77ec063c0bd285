//! What accounts own, run and hold.

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::{Address, B256, U64, U256};

use super::params::Params;
use super::state::At;
use super::{Answer, ok};
use crate::chain::machine::Machine;

pub(super) fn accounts(machine: &Machine) -> Answer {
    let addresses: Vec<Address> = machine.options.accounts.iter().map(|account| account.address()).collect();
    ok(&addresses)
}

pub(super) fn balance(machine: &Machine, params: &Params<'_>) -> Answer {
    let at = At::new(machine, params.block_id(1)?)?;
    ok(&at.overlay().balance(params.get(0)?))
}

pub(super) fn code(machine: &Machine, params: &Params<'_>) -> Answer {
    let at = At::new(machine, params.block_id(1)?)?;
    ok(&at.overlay().code(params.get(0)?).original_bytes())
}

pub(super) fn storage(machine: &Machine, params: &Params<'_>) -> Answer {
    let slot: U256 = params.get(1)?;
    let at = At::new(machine, params.block_id(2)?)?;
    ok(&B256::from(at.overlay().slot(params.get(0)?, slot)))
}

/// `pending` counts what waits in the pool without a gap, whether or not the
/// next block would take it.
pub(super) fn transaction_count(machine: &Machine, params: &Params<'_>) -> Answer {
    let address: Address = params.get(0)?;
    let id = params.block_id(1)?;
    if id == BlockId::Number(BlockNumberOrTag::Pending) {
        return ok(&U64::from(machine.pool.next_nonce(address, &machine.view())));
    }
    ok(&U64::from(At::new(machine, id)?.overlay().nonce(address)))
}
