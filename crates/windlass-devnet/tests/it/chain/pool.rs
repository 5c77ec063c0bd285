//! What the pool takes and refuses, in geth's words.

use alloy_consensus::{SignableTransaction, TxEip1559, TxEip2930, TxEip7702, TxEnvelope, TxLegacy};
use alloy_primitives::{Address, Bytes, Signature, TxKind, U256};
use serde_json::json;
use windlass_devnet::chain::{ChainOptions, PoolError, raw_bytes};

use super::support::{AMPLE_FEE, GWEI, Rig};

fn words(result: Result<alloy_primitives::B256, PoolError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn the_same_transaction_twice_is_already_known() {
    let rig = Rig::new();
    rig.send(0, rig.plain(0));
    assert_eq!(words(rig.try_send(0, rig.plain(0))), "already known");
}

#[test]
fn a_nonce_the_chain_has_passed_is_too_low() {
    let rig = Rig::new();
    rig.send(0, rig.plain(0));
    rig.chain.mine();
    let again = TxEip1559 { value: U256::from(2), ..rig.plain(0) };
    assert_eq!(words(rig.try_send(0, again)), "nonce too low: next nonce 1, tx nonce 0");
    assert_eq!(words(rig.try_send(0, rig.plain(0))), "nonce too low: next nonce 1, tx nonce 0");
}

#[test]
fn a_gap_waits_until_it_is_filled() {
    let rig = Rig::new();
    let later = rig.send(0, rig.plain(2));
    rig.send(0, rig.plain(0));
    assert_eq!(rig.chain.next_nonce(rig.address(0)), 1);
    assert_eq!(rig.chain.mine().transactions.len(), 1);
    assert!(rig.chain.is_pooled(later));
    assert_eq!(rig.chain.mine().transactions.len(), 0);
    rig.send(0, rig.plain(1));
    assert_eq!(rig.chain.next_nonce(rig.address(0)), 3);
    assert_eq!(rig.chain.mine().transactions.len(), 2);
    assert_eq!(rig.chain.pool_len(), 0);
}

#[test]
fn a_replacement_pays_exactly_ten_per_cent_more_in_both_fields() {
    let rig = Rig::new();
    let old =
        rig.send(0, TxEip1559 { max_fee_per_gas: 10_000, max_priority_fee_per_gas: 1_000, ..rig.plain(0) });
    let bid = |fee, tip| {
        rig.try_send(0, TxEip1559 { max_fee_per_gas: fee, max_priority_fee_per_gas: tip, ..rig.plain(0) })
    };
    for (fee, tip) in [(10_999, 1_100), (11_000, 1_099), (20_000, 1_000), (10_000, 2_000)] {
        assert_eq!(words(bid(fee, tip)), "replacement transaction underpriced", "{fee} {tip}");
    }
    let new = bid(11_000, 1_100).unwrap();
    assert!(rig.chain.is_pooled(new) && !rig.chain.is_pooled(old));
    assert_eq!(rig.chain.pool_len(), 1);
}

#[test]
fn money_must_cover_the_worst_case_and_what_is_already_pending() {
    let options = ChainOptions { balance_wei: U256::from(50_000), ..ChainOptions::deterministic() };
    let rig = Rig::with(options);
    let cheap = |nonce, value: u64| TxEip1559 {
        max_fee_per_gas: 1,
        max_priority_fee_per_gas: 0,
        value: U256::from(value),
        ..rig.plain(nonce)
    };
    assert_eq!(
        words(rig.try_send(0, cheap(0, 30_000))),
        "insufficient funds for gas * price + value: balance 50000, tx cost 51000, overshot 1000"
    );
    rig.send(0, cheap(0, 9_000));
    assert_eq!(
        words(rig.try_send(0, cheap(1, 1))),
        "insufficient funds for gas * price + value: balance 50000, queued cost 30000, tx cost 21001, overshot 1001"
    );
}

#[test]
fn gas_must_be_enough_and_fit_a_block() {
    let rig = Rig::new();
    let with_gas = |gas_limit| rig.try_send(0, TxEip1559 { gas_limit, ..rig.plain(0) });
    assert_eq!(words(with_gas(20_999)), "intrinsic gas too low: gas 20999, minimum needed 21000");
    assert_eq!(words(with_gas(30_000_001)), "exceeds block gas limit");
    let data = TxEip1559 { input: Bytes::from(vec![1; 100]), gas_limit: 24_000, ..rig.plain(0) };
    assert_eq!(
        words(rig.try_send(0, data)),
        "insufficient gas for floor data gas cost: gas 24000, minimum needed 25000"
    );
    with_gas(21_000).unwrap();
}

#[test]
fn another_chains_signature_a_bad_one_and_a_high_tip_are_refused() {
    let rig = Rig::new();
    assert_eq!(
        words(rig.try_send(0, TxEip1559 { chain_id: 1, ..rig.plain(0) })),
        "invalid sender: invalid chain id for signer: have 1 want 31337"
    );
    let nonsense = Signature::new(U256::MAX, U256::MAX, false);
    let unsigned = TxEnvelope::from(rig.plain(0).into_signed(nonsense));
    assert_eq!(words(rig.chain.send(unsigned)), "invalid sender");
    let tip = TxEip1559 { max_priority_fee_per_gas: AMPLE_FEE + 1, ..rig.plain(0) };
    assert_eq!(words(rig.try_send(0, tip)), "max priority fee per gas higher than max fee per gas");
}

#[test]
fn raw_bytes_that_are_no_transaction_are_refused_over_rpc() {
    let rig = Rig::new();
    let (code, message) = rig.refusal("eth_sendRawTransaction", json!(["0xdeadbeef"]));
    assert_eq!(code, -32000);
    assert!(message.starts_with("rlp: "), "{message}");
    let raw = raw_bytes(&rig.sign(0, rig.plain(0)));
    let hash = rig.ask("eth_sendRawTransaction", json!([raw]));
    assert_eq!(rig.refusal("eth_sendRawTransaction", json!([raw])), (-32000, "already known".into()));
    let pooled = rig.ask("eth_getTransactionByHash", json!([hash]));
    assert_eq!((&pooled["hash"], &pooled["blockNumber"]), (&hash, &serde_json::Value::Null));
    assert_eq!(rig.ask("eth_getTransactionReceipt", json!([hash])), serde_json::Value::Null);
}

#[test]
fn every_offered_type_is_mined_and_keeps_its_type() {
    let rig = Rig::new();
    let (chain_id, to) = (rig.chain.chain_id(), TxKind::Call(Address::repeat_byte(1)));
    let signer = &rig.accounts[0];
    let legacy = TxLegacy {
        chain_id: Some(chain_id),
        gas_price: AMPLE_FEE,
        gas_limit: 21_000,
        to,
        ..TxLegacy::default()
    };
    let unprotected = TxLegacy { chain_id: None, nonce: 1, ..legacy.clone() };
    let listed =
        TxEip2930 { chain_id, nonce: 2, gas_price: AMPLE_FEE, gas_limit: 21_000, to, ..TxEip2930::default() };
    let authorization = alloy_eips::eip7702::Authorization {
        chain_id: U256::from(chain_id),
        address: Address::repeat_byte(0x55),
        nonce: 0,
    };
    let signature = alloy_signer::SignerSync::sign_hash_sync(
        &alloy_signer_local::PrivateKeySigner::from_bytes(&rig.accounts[1].key()).unwrap(),
        &authorization.signature_hash(),
    );
    let set_code = TxEip7702 {
        chain_id,
        nonce: 4,
        gas_limit: 100_000,
        max_fee_per_gas: AMPLE_FEE,
        max_priority_fee_per_gas: GWEI,
        to: Address::repeat_byte(1),
        authorization_list: vec![authorization.into_signed(signature.unwrap())],
        ..TxEip7702::default()
    };
    let hashes = [
        rig.chain.send(signer.sign_any(legacy).unwrap()).unwrap(),
        rig.chain.send(signer.sign_any(unprotected).unwrap()).unwrap(),
        rig.chain.send(signer.sign_any(listed).unwrap()).unwrap(),
        rig.send(0, rig.plain(3)),
        rig.chain.send(signer.sign_any(set_code).unwrap()).unwrap(),
    ];
    rig.chain.mine();
    let types = hashes.map(|hash| rig.ask("eth_getTransactionReceipt", json!([hash]))["type"].clone());
    assert_eq!(types, ["0x0", "0x0", "0x1", "0x2", "0x4"]);
    assert_eq!(rig.chain.nonce(rig.address(1)), 1, "the authority's nonce has moved");
    assert_eq!(rig.chain.code(rig.address(1))[..3], [0xef, 0x01, 0x00]);
}

#[test]
fn the_higher_tip_goes_first_and_a_low_fee_waits() {
    let rig = Rig::new();
    let tip = |gwei: u128| TxEip1559 { max_priority_fee_per_gas: gwei * GWEI, ..rig.plain(0) };
    let low = rig.send(0, tip(1));
    let high = rig.send(1, tip(5));
    let same_as_low = rig.send(2, tip(1));
    let unaffordable = rig
        .send(3, TxEip1559 { max_fee_per_gas: GWEI / 2, max_priority_fee_per_gas: GWEI / 2, ..rig.plain(0) });
    let order: Vec<_> = rig.chain.mine().transactions.iter().map(|tx| tx.hash()).collect();
    assert_eq!(order, [high, low, same_as_low]);
    assert!(rig.chain.is_pooled(unaffordable), "its fee cap is below the base fee");
    // Empty blocks lower the base fee until the cap is enough.
    let mined = (0..20).find(|_| !rig.chain.mine().transactions.is_empty());
    assert!(mined.is_some());
}

#[test]
fn a_sender_paid_in_the_same_block_can_spend_there() {
    let rig = Rig::new();
    let poor = windlass_devnet::chain::DevAccount::from_key(alloy_primitives::B256::repeat_byte(7)).unwrap();
    let fund =
        TxEip1559 { to: TxKind::Call(poor.address()), value: U256::from(10u64.pow(18)), ..rig.plain(0) };
    let funding = rig.send(0, fund);
    rig.chain.mine();
    let spend = TxEip1559 { max_priority_fee_per_gas: 5 * GWEI, ..rig.plain(0) };
    let spending = rig.chain.send(poor.sign(spend).unwrap()).unwrap();
    rig.chain.mine();
    // After the reorg both wait again, and the spender's higher tip is tried before it has the money.
    let reorg = rig.chain.reorg(2, &Default::default()).unwrap();
    let order: Vec<_> = reorg.added[0].transactions.iter().map(|tx| tx.hash()).collect();
    assert_eq!(order, [funding, spending]);
}

#[test]
fn a_block_takes_no_more_gas_than_its_limit() {
    let rig = Rig::with(ChainOptions { block_gas_limit: 50_000, ..ChainOptions::deterministic() });
    for nonce in 0..5 {
        rig.send(0, rig.plain(nonce));
    }
    let sizes: Vec<_> = (0..3).map(|_| rig.chain.mine().transactions.len()).collect();
    assert_eq!(sizes, [2, 2, 1]);
}

#[test]
fn a_full_pool_takes_replacements_only_and_a_reorg_says_what_it_lost() {
    let rig = Rig::with(ChainOptions { pool_limit: 2, ..ChainOptions::deterministic() });
    for nonce in 0..3 {
        rig.send(0, rig.plain(nonce));
        rig.chain.mine();
    }
    rig.send(1, rig.plain(0));
    rig.send(1, rig.plain(1));
    assert_eq!(words(rig.try_send(1, rig.plain(2))), "txpool is full");
    let better =
        TxEip1559 { max_fee_per_gas: 2 * AMPLE_FEE, max_priority_fee_per_gas: 2 * GWEI, ..rig.plain(1) };
    let kept = rig.send(1, better);
    assert!(rig.chain.drop_transaction(kept));
    let reorg = rig.chain.reorg(3, &Default::default()).unwrap();
    assert_eq!((reorg.returned, reorg.vanished), (1, 2));
}

#[test]
fn a_dropped_transaction_leaves_a_gap() {
    let rig = Rig::new();
    let first = rig.send(0, rig.plain(0));
    rig.send(0, rig.plain(1));
    assert_eq!(rig.ask("windlass_dropTransaction", json!([first])), true);
    assert_eq!(rig.ask("windlass_dropTransaction", json!([first])), false);
    assert!(rig.chain.mine().transactions.is_empty());
    rig.send(0, rig.plain(0));
    assert_eq!(rig.chain.mine().transactions.len(), 2);
}
