//! How a failed execution is told to the caller, in geth's words.

use alloy_primitives::{Address, Bytes};
use alloy_sol_types::{Panic, Revert, SolError};
use revm::context::TxEnv;
use revm::context::result::{EVMError, HaltReason, InvalidTransaction};

use crate::chain::evm::Refusal;
use crate::node::RpcError;

/// The code geth gives to a revert.
const REVERT_CODE: i64 = 3;

/// A revert, with its reason where it carries one that is known to every node.
pub(super) fn reverted(output: &Bytes) -> RpcError {
    let message = match reason(output) {
        Some(reason) => format!("execution reverted: {reason}"),
        None => "execution reverted".to_owned(),
    };
    RpcError { code: REVERT_CODE, message, data: Some(output.to_string().into()) }
}

fn reason(output: &Bytes) -> Option<String> {
    if let Ok(revert) = Revert::abi_decode(output) {
        return Some(revert.reason);
    }
    let panic = Panic::abi_decode(output).ok()?;
    Some(match panic.kind() {
        Some(kind) => kind.as_str().to_owned(),
        None => format!("unknown panic code: {:#x}", panic.code),
    })
}

/// An exceptional halt, which used up all gas.
pub(super) fn halted(reason: &HaltReason) -> RpcError {
    let words = match reason {
        HaltReason::OutOfGas(_) => "out of gas".to_owned(),
        HaltReason::OpcodeNotFound | HaltReason::InvalidFEOpcode => "invalid opcode: INVALID".to_owned(),
        HaltReason::InvalidJump => "invalid jump destination".to_owned(),
        HaltReason::OutOfOffset => "return data out of bounds".to_owned(),
        HaltReason::CreateCollision => "contract address collision".to_owned(),
        HaltReason::CreateContractSizeLimit => "max code size exceeded".to_owned(),
        HaltReason::CreateContractStartingWithEF => "invalid code: must not begin with 0xef".to_owned(),
        HaltReason::StateChangeDuringStaticCall | HaltReason::CallNotAllowedInsideStatic => {
            "write protection".to_owned()
        }
        other => other.to_string(),
    };
    RpcError::server(words)
}

/// A call that could not even begin.
pub(super) fn refused(refusal: &Refusal, tx: &TxEnv, base_fee: u64) -> RpcError {
    let EVMError::Transaction(invalid) = refusal else { return RpcError::server(refusal.to_string()) };
    let caller: Address = tx.caller;
    let (fee, tip) = (tx.gas_price, tx.gas_priority_fee.unwrap_or(tx.gas_price));
    let words = match invalid {
        InvalidTransaction::GasPriceLessThanBasefee => format!(
            "max fee per gas less than block base fee: address {caller}, maxFeePerGas: {fee}, baseFee: {base_fee}"
        ),
        InvalidTransaction::PriorityFeeGreaterThanMaxFee => format!(
            "max priority fee per gas higher than max fee per gas: address {caller}, maxPriorityFeePerGas: {tip}, maxFeePerGas: {fee}"
        ),
        InvalidTransaction::LackOfFundForMaxFee { fee, balance } => {
            format!("insufficient funds for gas * price + value: address {caller} have {balance} want {fee}")
        }
        InvalidTransaction::CallGasCostMoreThanGasLimit { initial_gas, gas_limit } => {
            format!("intrinsic gas too low: have {gas_limit}, want {initial_gas}")
        }
        InvalidTransaction::GasFloorMoreThanGasLimit { gas_floor, gas_limit } => {
            format!("insufficient gas for floor data gas cost: have {gas_limit}, want {gas_floor}")
        }
        other => other.to_string(),
    };
    RpcError::server(format!("err: {words} (supplied gas {})", tx.gas_limit))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;

    use super::*;

    #[test]
    fn a_revert_says_its_reason_and_carries_its_data() {
        let output = Bytes::from(Revert::from("not enough").abi_encode());
        let error = reverted(&output);
        assert_eq!((error.code, error.message.as_str()), (3, "execution reverted: not enough"));
        assert_eq!(error.data, Some(hex::encode_prefixed(&output).into()));
    }

    #[test]
    fn unknown_and_empty_data_have_no_reason() {
        assert_eq!(reverted(&Bytes::from_static(&[1, 2, 3, 4])).message, "execution reverted");
        let empty = reverted(&Bytes::new());
        assert_eq!((empty.message.as_str(), empty.data), ("execution reverted", Some("0x".into())));
    }

    #[test]
    fn a_panic_is_named() {
        let output = Bytes::from(Panic::from(alloy_sol_types::PanicKind::UnderOverflow).abi_encode());
        assert_eq!(reverted(&output).message, "execution reverted: arithmetic underflow or overflow");
    }
}
