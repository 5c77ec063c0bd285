//! The chain's own coin: functions of its own, and a token of its own in approvals and events.

use super::*;

fn of_coin(byte: u8) -> VaultPayout {
    VaultPayout { token: NATIVE_COIN, ..payout(byte) }
}

#[test]
fn the_coin_is_paid_by_functions_of_its_own() {
    let (one, two) = (of_coin(7), of_coin(8));
    let single = vault::payoutCoinBatchCall::abi_decode(&calldata::payout(&one)).expect("a payout");
    assert_eq!(single.payouts.len(), 1);
    let item = &single.payouts[0];
    assert_eq!((item.requestId, item.to, item.amount), (one.request_id, one.to, one.amount));
    let batch = calldata::payout_batch(&[one, two]).expect("a batch");
    let batch = vault::payoutCoinBatchCall::abi_decode(&batch).expect("a batch");
    let ids: Vec<B256> = batch.payouts.iter().map(|payout| payout.requestId).collect();
    assert_eq!(ids, [one.request_id, two.request_id]);

    let approval = Approval { nonce: 3, deadline_s: 9, signature: vec![1, 2].into() };
    let single = calldata::payout_with_approval(&one, &approval);
    let single = vault::payoutCoinBatchWithApprovalsCall::abi_decode(&single).expect("a payout");
    assert_eq!((single.payouts.len(), single.approvals.len()), (1, 1));
    assert_eq!(single.approvals[0].nonce, U256::from(3));
    let batch = calldata::payout_batch_with_approvals(&[(one, approval.clone()), (two, approval)]);
    let batch =
        vault::payoutCoinBatchWithApprovalsCall::abi_decode(&batch.expect("a batch")).expect("a batch");
    assert_eq!((batch.payouts.len(), batch.approvals.len()), (2, 2));
}

#[test]
fn a_batch_of_the_coin_is_bounded_and_has_no_tokens() {
    assert!(calldata::payout_batch(&vec![of_coin(1); MAX_BATCH]).is_ok());
    let too_many = vec![of_coin(1); MAX_BATCH + 1];
    assert_eq!(calldata::payout_batch(&too_many), Err(BatchError::Size(too_many.len())));
    let mixed = calldata::payout_batch(&[of_coin(1), payout(2)]);
    assert_eq!(mixed, Err(BatchError::Tokens(NATIVE_COIN, payout(2).token)));
}

/// An approval of a payout in the coin is no approval of one in a token.
#[test]
fn approvals_bind_the_coin() {
    let [coin, token] = [of_coin(1), payout(1)].map(|payout| approval::digest(vault_ref(), &payout, 1, 2));
    assert_ne!(coin, token);
}

#[test]
fn a_payment_of_the_coin_is_read_from_its_event() {
    let VaultPayout { request_id, token, to, amount } = of_coin(6);
    let paid = log(&vault::PayoutExecuted { requestId: request_id, token, to, amount });
    assert_eq!(VaultEvent::read(vault_ref(), &paid), Ok(Some(VaultEvent::PayoutExecuted(of_coin(6)))));
}

#[test]
fn a_recipient_that_refuses_the_coin_is_named_and_may_take_it_later() {
    let (id, to) = (B256::repeat_byte(1), Address::repeat_byte(2));
    let refusal = refused(&vault::CoinTransferFailed { requestId: id, to, amount: U256::from(5) });
    assert_eq!((refusal.kind, refusal.request_id), (RefusalKind::Passing, Some(id)));
    assert!(
        refusal.words.starts_with(&format!("CoinTransferFailed: {to} refuses the chain's coin")),
        "{refusal}"
    );
}

#[test]
fn refusals_call_the_coin_by_its_name() {
    let short =
        vault::VaultBalanceTooLow { token: NATIVE_COIN, balance: U256::from(5), needed: U256::from(6) };
    assert_eq!(
        refused(&short).words,
        "VaultBalanceTooLow: the vault holds 5 of the chain's coin and needs 6"
    );
}

#[test]
fn what_stands_for_the_coin_is_read() {
    let abi = artifact().abi;
    let constant = abi.function("NATIVE_COIN_ADDRESS").expect("a function");
    assert_eq!(constant[0].outputs[0].selector_type(), "address");
    assert_eq!(answer::native_coin(&NATIVE_COIN.abi_encode()), Ok(NATIVE_COIN));
    assert_eq!(answer::native_coin(&[]), Err(VaultAnswerError::NoVault));
}
