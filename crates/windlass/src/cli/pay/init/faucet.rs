//! Money on a test chain: coins of a development account, whose key is public knowledge, and
//! test tokens.

use std::time::{Duration, Instant};

use alloy_consensus::TxEip1559;
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::TxKind;
use alloy_sol_types::{SolCall, SolValue, sol};
use serde::Deserialize;
use windlass_core::chain::{Address, Bytes, U256};
use windlass_core::code::Code;
use windlass_core::money::Token;
use windlass_core::payout::submit::NonceTag;
use windlass_core::reader::BlockTag;
use windlass_devnet::chain::{DevAccount, dev_accounts};

use super::answers::is_test_chain;
use crate::failure::Failure;
use crate::vault::plan::Planned;
use crate::vault::send::coins;
use crate::vault::site::Site;

sol! {
    function mint(address to, uint256 amount);
}

/// The compiled test token, checked by `./test` against its source.
const TOKEN: &str = include_str!("../../../../../../contracts/artifacts/DemoToken.json");
/// What an account of the configuration gets: ten coins.
const FUNDING_WEI: u128 = 10_000_000_000_000_000_000;
/// The gas limit of a transfer of coins: the vault runs code when it takes them.
const TRANSFER_GAS: u64 = 50_000;
/// How many whole tokens the vault gets.
const TOKENS: u64 = 1_000_000;
/// How often a receipt is asked for, and for how long.
const LOOK_EVERY: Duration = Duration::from_millis(100);
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A development account that has coins to send.
pub(super) struct Faucet(DevAccount);

#[derive(Deserialize)]
struct Artifact {
    bytecode: Bytes,
}

impl Faucet {
    /// The first development account with coins, on a test chain.
    pub(super) async fn find(site: &Site) -> Result<Option<Self>, Failure> {
        if !is_test_chain(site.id) {
            return Ok(None);
        }
        for account in dev_accounts() {
            let has = site.chain.balance(account.address(), BlockTag::Latest).await?;
            if has > U256::from(FUNDING_WEI) * U256::from(2) {
                return Ok(Some(Self(account)));
            }
        }
        Ok(None)
    }

    /// Sends ten coins to an account, and waits until they are there.
    pub(super) async fn fund(&self, site: &Site, to: Address) -> Result<String, Failure> {
        let from = self.0.address();
        let fees = site.chain.gas_fees().await?;
        let transaction = TxEip1559 {
            chain_id: site.id.as_u64(),
            nonce: site.chain.nonce(from, NonceTag::Pending).await?,
            gas_limit: TRANSFER_GAS,
            max_fee_per_gas: fees.max_fee,
            max_priority_fee_per_gas: fees.priority_fee,
            to: TxKind::Call(to),
            value: U256::from(FUNDING_WEI),
            ..TxEip1559::default()
        };
        let signed = self.0.sign(transaction).map_err(Failure::unexpected)?;
        site.chain.send(&signed.encoded_2718().into()).await;
        let begun = Instant::now();
        while begun.elapsed() < MAX_WAIT {
            if site.chain.receipt(*signed.tx_hash()).await?.is_some_and(|receipt| receipt.is_success) {
                return Ok(coins(U256::from(FUNDING_WEI)));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let message =
            format!("coins from the development account {from} to {to} are in no block after a minute");
        Err(Failure::coded(Code::TransactionFailed, message)
            .hint("check that the chain makes blocks, then run the command again: it goes on"))
    }
}

/// A new test token.
pub(super) fn make_token(token: &Token) -> Result<Planned, Failure> {
    let artifact: Artifact = serde_json::from_str(TOKEN).map_err(|error| {
        Failure::unexpected(format_args!("the token in this binary cannot be read: {error}"))
    })?;
    let arguments = (token.symbol.clone(), token.symbol.clone(), U256::from(token.decimals));
    Ok(Planned {
        to: None,
        data: [artifact.bytecode.as_ref(), &arguments.abi_encode_params()].concat().into(),
        signature: "constructor(string,string,uint8)".to_owned(),
        arguments: Vec::new(),
        purpose: format!("put the test token {} on the chain", token.symbol),
    })
}

/// A million test tokens for an account.
pub(super) fn mint(token: &Token, to: Address) -> Planned {
    let unit = U256::from(10).pow(U256::from(token.decimals));
    Planned {
        to: token.contract,
        data: mintCall { to, amount: U256::from(TOKENS) * unit }.abi_encode().into(),
        signature: mintCall::SIGNATURE.to_owned(),
        arguments: Vec::new(),
        purpose: format!("mint {} to {to}", token.symbol),
    }
}
