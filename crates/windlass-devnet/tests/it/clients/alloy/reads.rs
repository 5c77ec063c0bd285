//! Reading: tags, logs, fees, and the roots recomputed from what was served.

use alloy_consensus::proofs::{calculate_receipt_root, calculate_transaction_root};
use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_network::TransactionBuilder;
use alloy_primitives::U256;
use alloy_provider::Provider;
use alloy_rpc_types_eth::{Filter, TransactionRequest};
use windlass_devnet::chain::{LogFilter, Mining};

use super::connect;
use crate::chain::support::{emit, emitter, init_code, reverter, topic};
use crate::clients::served::Served;

/// Ten blocks with a few transactions each, sent by alloy: payments, creations, logs and reverts.
async fn busy_chain() -> Served {
    let served = Served::auto().await;
    let provider = connect(&served, &served.server.http_url()).await;
    let creator = served.accounts[0].address();
    for runtime in [emitter(2), reverter()] {
        let create = TransactionRequest::default().with_deploy_code(init_code(&runtime));
        provider.send_transaction(create).await.unwrap().get_receipt().await.unwrap();
    }
    served.chain.set_mining(Mining::Manual);
    let (emits, reverts) = (creator.create(0), creator.create(1));
    for byte in 0..8 {
        let plain = || TransactionRequest::default().gas_limit(100_000);
        let data = emit(&[topic(byte), topic(byte % 3)], &vec![byte; usize::from(byte) * 20]);
        let requests = [
            plain().to(emits).input(data.into()),
            plain().to(reverts),
            plain()
                .from(served.accounts[2].address())
                .to(served.accounts[3].address())
                .value(U256::from(byte)),
            plain().to(emits).input(emit(&[topic(1), topic(1)], b"").into()).gas_price(50_000_000_000),
        ];
        for request in requests {
            let _ = provider.send_transaction(request).await.unwrap();
        }
        assert_eq!(served.chain.mine().transactions.len(), 4);
    }
    served
}

#[tokio::test]
async fn roots_and_hashes_follow_from_what_is_served() {
    let served = busy_chain().await;
    let provider = connect(&served, &served.server.http_url()).await;
    let mut statuses = [0, 0];
    for number in 0..=served.chain.head().number() {
        let block = provider.get_block(BlockId::number(number)).full().await.unwrap().unwrap();
        assert_eq!(block.header.inner.hash_slow(), block.header.hash);
        let receipts = provider.get_block_receipts(BlockId::number(number)).await.unwrap().unwrap();
        let receipts: Vec<_> =
            receipts.into_iter().map(|receipt| receipt.into_primitives_receipt().inner).collect();
        assert_eq!(calculate_receipt_root(&receipts), block.header.receipts_root, "block {number}");
        let bloom = receipts
            .iter()
            .fold(alloy_primitives::Bloom::ZERO, |bloom, receipt| bloom | *receipt.logs_bloom());
        assert_eq!(bloom, block.header.logs_bloom);
        for receipt in &receipts {
            statuses[usize::from(receipt.status())] += 1;
        }
        let body = block.into_consensus();
        let transactions: Vec<_> = body.body.transactions.into_iter().map(|tx| tx.into_inner()).collect();
        assert_eq!(
            calculate_transaction_root(&transactions),
            body.header.transactions_root,
            "block {number}"
        );
    }
    assert_eq!(statuses, [8, 26], "failed and good transactions");
}

#[tokio::test]
async fn logs_are_those_on_the_chain() {
    let served = busy_chain().await;
    let provider = connect(&served, &served.server.http_url()).await;
    let emits = served.accounts[0].address().create(0);
    let all = provider.get_logs(&Filter::new().from_block(0)).await.unwrap();
    assert_eq!(all, served.chain.canonical_logs(&LogFilter::all()));
    assert_eq!(all.len(), 16);
    let filter = Filter::new().from_block(0).address(emits).event_signature(topic(1)).topic1(topic(1));
    let truth = LogFilter::all().address(emits).topic([topic(1)]).topic([topic(1)]);
    assert_eq!(provider.get_logs(&filter).await.unwrap(), served.chain.canonical_logs(&truth));
    let head = served.chain.head();
    let of_head = provider.get_logs(&Filter::new().at_block_hash(head.hash())).await.unwrap();
    assert_eq!(of_head, served.chain.canonical_logs(&LogFilter::range(head.number(), head.number())));
}

#[tokio::test]
async fn tags_mean_what_they_say() {
    let served = Served::manual().await;
    served.chain.mine_many(100);
    let provider = connect(&served, &served.server.http_url()).await;
    for (tag, number) in [
        (BlockNumberOrTag::Earliest, 0),
        (BlockNumberOrTag::Finalized, 36),
        (BlockNumberOrTag::Safe, 68),
        (BlockNumberOrTag::Latest, 100),
        (BlockNumberOrTag::Pending, 101),
    ] {
        let block = provider.get_block_by_number(tag).await.unwrap().unwrap();
        assert_eq!(block.header.number, number, "{tag}");
    }
    assert!(provider.get_block_by_number(101.into()).await.unwrap().is_none());
    let by_hash = provider.get_block_by_hash(served.chain.block(50).unwrap().hash()).await.unwrap().unwrap();
    assert_eq!(by_hash.header.number, 50);
}

#[tokio::test]
async fn the_history_of_fees_is_that_of_the_headers() {
    let served = busy_chain().await;
    let provider = connect(&served, &served.server.http_url()).await;
    let head = served.chain.head();
    let history = provider.get_fee_history(4, BlockNumberOrTag::Latest, &[10.0, 90.0]).await.unwrap();
    assert_eq!(history.oldest_block, head.number() - 3);
    let headers: Vec<_> =
        (head.number() - 3..=head.number()).map(|n| served.chain.block(n).unwrap()).collect();
    let fees: Vec<u128> = headers.iter().map(|block| block.header.base_fee_per_gas.unwrap().into()).collect();
    assert_eq!(history.base_fee_per_gas[..4], fees);
    let next = served.chain.mine();
    assert_eq!(history.base_fee_per_gas[4], u128::from(next.header.base_fee_per_gas.unwrap()));
    let ratios: Vec<f64> =
        headers.iter().map(|block| block.header.gas_used as f64 / block.header.gas_limit as f64).collect();
    assert_eq!(history.gas_used_ratio, ratios);
    // The dearest transaction of each block is the one with a fixed price, the others take alloy's tip.
    for (block, reward) in headers.iter().zip(history.reward.unwrap()) {
        let tip = 50_000_000_000 - u128::from(block.header.base_fee_per_gas.unwrap());
        assert!(reward[0] < tip && reward[1] == tip, "{reward:?} {tip}");
    }
    let estimate = provider.estimate_eip1559_fees().await.unwrap();
    assert!(estimate.max_fee_per_gas >= u128::from(next.header.base_fee_per_gas.unwrap()));
}
