//! Execution on revm, under Prague's rules.

use std::convert::Infallible;

use alloy_consensus::Header;
use alloy_primitives::U256;
use revm::context::result::{EVMError, ExecutionResult};
use revm::context::{BlockEnv, CfgEnv, Context, TxEnv};
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::handler::MainnetContext;
use revm::primitives::eip4844::BLOB_BASE_FEE_UPDATE_FRACTION_PRAGUE;
use revm::primitives::hardfork::SpecId;
use revm::{ExecuteCommitEvm, MainBuilder, MainContext, MainnetEvm};

use super::state::{Overlay, Source};

/// The hard fork whose rules hold from genesis on.
pub(crate) const SPEC: SpecId = SpecId::PRAGUE;

/// Why the EVM would not run a transaction at all.
pub(crate) type Refusal = EVMError<Infallible>;

/// The rules for transactions in blocks.
pub(crate) fn block_rules(chain_id: u64) -> CfgEnv {
    CfgEnv::new_with_spec(SPEC).with_chain_id(chain_id)
}

/// The rules for `eth_call`: any caller, any nonce, more gas than a block has.
pub(crate) fn call_rules(chain_id: u64) -> CfgEnv {
    let mut rules = block_rules(chain_id);
    rules.disable_nonce_check = true;
    rules.disable_block_gas_limit = true;
    rules.disable_eip3607 = true;
    rules
}

/// The block as contracts see it.
pub(crate) fn block_env(header: &Header) -> BlockEnv {
    BlockEnv {
        number: U256::from(header.number),
        beneficiary: header.beneficiary,
        timestamp: U256::from(header.timestamp),
        gas_limit: header.gas_limit,
        basefee: header.base_fee_per_gas.unwrap_or_default(),
        difficulty: U256::ZERO,
        prevrandao: Some(header.mix_hash),
        blob_excess_gas_and_price: Some(BlobExcessGasAndPrice::new(0, BLOB_BASE_FEE_UPDATE_FRACTION_PRAGUE)),
        slot_num: 0,
    }
}

/// An EVM over one block's overlay.
pub(crate) struct Executor<S: Source> {
    evm: MainnetEvm<MainnetContext<Overlay<S>>>,
}

impl<S: Source> Executor<S> {
    pub(crate) fn new(overlay: Overlay<S>, rules: CfgEnv, block: BlockEnv) -> Self {
        let context = Context::mainnet().with_db(overlay).with_cfg(rules).with_block(block);
        Self { evm: context.build_mainnet() }
    }

    /// Runs a transaction and keeps what it wrote in the overlay; a refused one writes nothing.
    pub(crate) fn execute(&mut self, tx: TxEnv) -> Result<ExecutionResult, Refusal> {
        self.evm.transact_commit(tx)
    }

    /// The overlay with what was written.
    pub(crate) fn into_overlay(self) -> Overlay<S> {
        self.evm.ctx.journaled_state.database
    }
}
