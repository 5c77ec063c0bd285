//! Sending, with everything filled in by alloy.

use std::time::Duration;

use alloy_consensus::Transaction;
use alloy_network::TransactionBuilder;
use alloy_primitives::U256;
use alloy_provider::Provider;
use alloy_rpc_types_eth::TransactionRequest;
use alloy_sol_types::SolCall;
use tokio_util::sync::CancellationToken;
use windlass_devnet::chain::Mining;

use super::connect;
use crate::clients::contracts::FeeCollector::{FeesCollected, collectNativeFeesCall, getTokenBalanceCall};
use crate::clients::contracts::fee_collector;
use crate::clients::served::Served;

#[tokio::test]
async fn gas_fees_and_nonces_are_filled_in() {
    let served = Served::auto().await;
    for url in [served.server.http_url(), served.server.ws_url()] {
        let provider = connect(&served, &url).await;
        let payee = served.accounts[7].address();
        for account in [0, 1, 0] {
            let from = served.accounts[account].address();
            let (nonce, before) = (served.chain.nonce(from), served.chain.balance(payee));
            let request = TransactionRequest::default().from(from).to(payee).value(U256::from(5));
            let receipt = provider.send_transaction(request).await.unwrap().get_receipt().await.unwrap();
            assert_eq!(Some(receipt.clone()), served.chain.receipt(receipt.transaction_hash));
            let head = served.chain.head();
            assert_eq!((receipt.status(), receipt.block_number), (true, Some(head.number())));
            let sent = head.transactions[0].signed();
            assert_eq!((sent.nonce(), sent.gas_limit(), sent.chain_id()), (nonce, 21_000, Some(31_337)));
            assert!(sent.max_fee_per_gas() >= u128::from(head.header.base_fee_per_gas.unwrap()));
            assert_eq!(served.chain.balance(payee), before + U256::from(5));
        }
    }
}

#[tokio::test]
async fn a_contract_is_created_called_and_read() {
    let served = Served::auto().await;
    let provider = connect(&served, &served.server.http_url()).await;
    let (owner, integrator) = (served.accounts[0].address(), served.accounts[3].address());
    let create = TransactionRequest::default().with_from(owner).with_deploy_code(fee_collector(owner));
    let created = provider.send_transaction(create).await.unwrap().get_receipt().await.unwrap();
    let collector = created.contract_address.unwrap();
    assert_eq!(collector, owner.create(0));
    assert_eq!(provider.get_code_at(collector).await.unwrap(), served.chain.code(collector));

    let (integrator_fee, protocol_fee) = (U256::from(70), U256::from(30));
    let call = collectNativeFeesCall { integratorFee: integrator_fee, lifiFee: protocol_fee, integrator };
    let request =
        TransactionRequest::default().to(collector).value(U256::from(100)).input(call.abi_encode().into());
    let receipt = provider.send_transaction(request).await.unwrap().get_receipt().await.unwrap();
    let event = receipt.decoded_log::<FeesCollected>().unwrap();
    assert_eq!(
        (event._integratorFee, event._lifiFee, event._integrator),
        (integrator_fee, protocol_fee, integrator)
    );

    let earned = getTokenBalanceCall { integrator, token: alloy_primitives::Address::ZERO };
    let request = TransactionRequest::default().to(collector).input(earned.abi_encode().into());
    let answer = provider.call(request).await.unwrap();
    assert_eq!(getTokenBalanceCall::abi_decode_returns(&answer).unwrap(), integrator_fee);
}

#[tokio::test]
async fn a_receipt_can_wait_for_confirmations() {
    const CONFIRMATIONS: u64 = 4;
    let served = Served::manual().await;
    served.chain.set_mining(Mining::Interval(Duration::from_millis(5)));
    let stop = CancellationToken::new();
    let (chain, stopped) = (served.chain.clone(), stop.clone());
    let beat = tokio::spawn(async move { chain.run(stopped).await });
    for url in [served.server.http_url(), served.server.ws_url()] {
        let provider = connect(&served, &url).await;
        provider.client().set_poll_interval(Duration::from_millis(5));
        let request = TransactionRequest::default().to(served.accounts[7].address()).value(U256::ONE);
        let pending = provider.send_transaction(request).await.unwrap();
        let receipt = pending.with_required_confirmations(CONFIRMATIONS).get_receipt().await.unwrap();
        let depth = served.chain.head().number() - receipt.block_number.unwrap() + 1;
        assert!(depth >= CONFIRMATIONS, "{depth}");
    }
    stop.cancel();
    beat.await.unwrap();
}

#[tokio::test]
async fn refusals_come_in_geths_words() {
    let served = Served::manual().await;
    let provider = connect(&served, &served.server.http_url()).await;
    let request = TransactionRequest::default().to(served.accounts[7].address()).nonce(0).gas_limit(21_000);
    let priced = |gwei: u128| {
        request.clone().max_fee_per_gas(gwei * 1_000_000_000).max_priority_fee_per_gas(1_000_000_000)
    };
    let words = async |request| provider.send_transaction(request).await.unwrap_err().to_string();
    let sent = provider.send_transaction(priced(10)).await.unwrap();
    assert!(served.chain.is_pooled(*sent.tx_hash()));
    assert!(words(priced(10)).await.contains("already known"));
    assert!(words(priced(10).value(U256::ONE)).await.contains("replacement transaction underpriced"));
    served.chain.mine();
    assert!(words(priced(20)).await.contains("nonce too low"));
}
