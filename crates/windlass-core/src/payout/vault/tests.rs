//! The code against the artifact that the binary carries, and everything read back.

use alloy_json_abi::JsonAbi;
use alloy_primitives::{address, b256, hex, keccak256};
use alloy_sol_types::{Panic, PanicKind, Revert, SolCall, SolError, SolInterface, SolStruct, SolValue};
use proptest::prelude::*;
use serde::Deserialize;

use super::abi::SettlementVault::{self as vault, SettlementVaultCalls, SettlementVaultErrors};
use super::abi::{self, PayoutApproval};
use super::calldata::BatchError;
use super::*;
use crate::chain::{Address, B256, BlockRef, Bytes, ChainId, U256};
use crate::event::{LogEvent, Topics};
use crate::money::NATIVE_COIN;
use crate::payout::request::VaultRef;
use crate::payout::signer::Signature;

mod native;

const ARTIFACT: &str = include_str!("../../../../../contracts/artifacts/SettlementVault.json");

#[derive(Deserialize)]
struct Artifact {
    abi: JsonAbi,
    bytecode: Bytes,
}

fn artifact() -> Artifact {
    serde_json::from_str(ARTIFACT).expect("an artifact")
}

fn vault_ref() -> VaultRef {
    VaultRef { chain: ChainId::new(31_337).expect("an id"), address: Address::repeat_byte(0xaa) }
}

fn payout(byte: u8) -> VaultPayout {
    VaultPayout {
        request_id: B256::repeat_byte(byte),
        token: Address::repeat_byte(0xbb),
        to: Address::repeat_byte(byte),
        amount: U256::from(byte),
    }
}

fn log(event: &impl alloy_sol_types::SolEvent) -> LogEvent {
    let data = event.encode_log_data();
    LogEvent {
        chain: vault_ref().chain,
        block: BlockRef { number: 1, hash: B256::ZERO },
        log_index: 0,
        timestamp_s: 0,
        transaction_hash: B256::ZERO,
        address: vault_ref().address,
        topics: Topics::new(data.topics()).expect("few enough"),
        data: data.data,
    }
}

#[test]
fn a_call_is_the_payment_of_these_and_no_others() {
    let approval = Approval { nonce: 3, deadline_s: 9, signature: vec![1, 2].into() };
    for token in [Address::repeat_byte(0xbb), NATIVE_COIN] {
        check_calls_of(token, &approval);
    }
}

/// The calls that pay one and two of a token pay these and no others, in no other token.
fn check_calls_of(token: Address, approval: &Approval) {
    let [one, two, three] = [1, 2, 3].map(|byte| VaultPayout { token, ..payout(byte) });
    let both = [one, two];
    let calls = [
        (calldata::payout(&one), &both[..1]),
        (calldata::payout_with_approval(&one, approval), &both[..1]),
        (calldata::payout_batch(&both).expect("a batch"), &both[..]),
        (
            calldata::payout_batch_with_approvals(&[(one, approval.clone()), (two, approval.clone())])
                .expect("a batch"),
            &both[..],
        ),
    ];
    let dearer = |payout: VaultPayout| VaultPayout { amount: payout.amount + U256::ONE, ..payout };
    let elsewhere = |payout: VaultPayout| VaultPayout { to: Address::repeat_byte(9), ..payout };
    let of_another = |payout: VaultPayout| VaultPayout { token: Address::repeat_byte(9), ..payout };
    let is_coin = token == NATIVE_COIN;
    let coin_or_token = if is_coin { Address::repeat_byte(0xbb) } else { NATIVE_COIN };
    let of_the_other_kind = |payout: VaultPayout| VaultPayout { token: coin_or_token, ..payout };
    for (call, paid) in calls {
        assert!(calldata::pays_exactly(&call, paid));
        let others: Vec<Vec<VaultPayout>> = vec![
            Vec::new(),
            vec![three],
            vec![two, one],
            vec![one, two, three],
            paid.iter().copied().map(dearer).collect(),
            paid.iter().copied().map(elsewhere).collect(),
            paid.iter().copied().map(of_another).collect(),
            paid.iter().copied().map(of_the_other_kind).collect(),
        ];
        for other in others {
            assert!(!calldata::pays_exactly(&call, &other), "{other:?}");
        }
        let longer = [&call[..], &[0]].concat();
        assert!(!calldata::pays_exactly(&longer, paid), "nothing stands behind it");
    }
    assert!(!calldata::pays_exactly(&[], &both));
}

#[test]
fn every_function_is_the_artifacts_with_its_answer() {
    let abi = artifact().abi;
    for selector in SettlementVaultCalls::SELECTORS {
        let signature = SettlementVaultCalls::signature_by_selector(*selector).expect("known");
        let found = abi.functions().find(|function| function.selector() == *selector);
        assert_eq!(found.expect(signature).signature(), signature);
    }
    let returns = |name: &str| {
        let outputs = &abi.function(name).expect("a function")[0].outputs;
        outputs.iter().map(|output| output.selector_type().into_owned()).collect::<Vec<_>>().join(",")
    };
    assert_eq!(returns("requestState"), "(uint8,uint40,uint48,address)");
    assert_eq!(returns("requestStates"), "(uint8,uint40,uint48,address)[]");
    assert_eq!(returns("riskSigner"), "address");
    assert_eq!(returns("approvalNonce"), "uint64");
    assert_eq!((returns("approvalRequired"), returns("paused")), ("bool".into(), "bool".into()));
    assert_eq!(returns("DEPLOYED_AT_BLOCK"), "uint256");
}

#[test]
fn every_error_is_the_artifacts_with_its_arguments_names() {
    let abi = artifact().abi;
    for selector in SettlementVaultErrors::SELECTORS {
        let signature = SettlementVaultErrors::signature_by_selector(*selector).expect("known");
        let found = abi.errors().find(|error| error.selector() == *selector).expect(signature);
        assert_eq!(found.signature(), signature);
    }
}

/// What a payout can end with: the rest is for other functions, or for the constructor.
#[test]
fn every_error_of_a_payout_is_known() {
    let elsewhere = [
        "AccessControlBadConfirmation",
        "AdminNeedsHandover",
        "DelayOutOfBounds",
        "ExpectedPause",
        "InvalidAccount",
        "InvalidRiskSigner",
        "InvalidShortString",
        "LimitTooLarge",
        "LimitTooPrecise",
        "NotPendingAdmin",
        "NothingScheduled",
        "OperationExpired",
        "OperationNotReady",
        "StringTooLong",
        "TokenNotSweepable",
        "WithdrawalIsZero",
    ];
    for error in artifact().abi.errors() {
        let known = SettlementVaultErrors::valid_selector(error.selector().0);
        assert_ne!(known, elsewhere.contains(&error.name.as_str()), "{}", error.name);
    }
}

#[test]
fn every_event_is_the_artifacts() {
    let abi = artifact().abi;
    for (topic, name) in event::topics().into_iter().zip(["PayoutExecuted", "RequestCancelled"]) {
        let found = &abi.event(name).expect("an event")[0];
        assert_eq!(found.selector(), topic);
        let indexed: Vec<bool> = found.inputs.iter().map(|input| input.indexed).collect();
        assert_eq!(indexed[..4], [true, true, true, false], "{name}");
    }
}

#[test]
fn the_type_that_is_signed_is_the_artifacts() {
    let hash = PayoutApproval::eip712_encode_type();
    let hash = keccak256(hash.as_bytes());
    assert_eq!(hash, b256!("d53ff784ccecaa6d55b9e854499fcedf9ab61e1c5c6267e3e085f25f7990477f"));
    let code = artifact().bytecode;
    assert!(code.windows(32).any(|window| window == hash), "the code has it as a constant");
}

/// Step by step as EIP-712 says, without the library.
#[test]
fn the_digest_is_of_domain_and_values() {
    let text = |text: &str| keccak256(text);
    let number = |number: u64| B256::from(U256::from(number));
    let domain = keccak256(
        [
            text("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
            text("SettlementVault"),
            text("1"),
            number(31_337),
            vault_ref().address.into_word(),
        ]
        .concat(),
    );
    let payout = payout(5);
    let values = keccak256(
        [
            b256!("d53ff784ccecaa6d55b9e854499fcedf9ab61e1c5c6267e3e085f25f7990477f"),
            payout.request_id,
            payout.token.into_word(),
            payout.to.into_word(),
            payout.amount.into(),
            number(1_700_000_000),
            number(3),
        ]
        .concat(),
    );
    let expected = keccak256([&[0x19, 0x01], domain.as_slice(), values.as_slice()].concat());
    assert_eq!(approval::digest(vault_ref(), &payout, 3, 1_700_000_000), expected);
}

#[test]
fn calldata_says_what_the_contract_reads() {
    let one = payout(7);
    let call = vault::payoutCall::abi_decode(&calldata::payout(&one)).expect("a payout");
    assert_eq!(
        (call.requestId, call.token, call.to, call.amount),
        (one.request_id, one.token, one.to, one.amount)
    );

    let approval = Approval::new(3, 99, &Signature::test_signature());
    assert_eq!(approval.signature.len(), 65);
    assert!([27, 28].contains(&approval.signature[64]));
    let call = vault::payoutWithApprovalCall::abi_decode(&calldata::payout_with_approval(&one, &approval));
    let call = call.expect("a payout");
    assert_eq!((call.requestId, call.to, call.amount), (one.request_id, one.to, one.amount));
    assert_eq!((call.approval.nonce, call.approval.deadline), (U256::from(3), U256::from(99)));
    assert_eq!(call.approval.signature, approval.signature);

    let batch = calldata::payout_batch_with_approvals(&[(one, approval.clone()), (payout(8), approval)]);
    let call = vault::payoutBatchWithApprovalsCall::abi_decode(&batch.expect("a batch")).expect("a batch");
    let ids: Vec<B256> = call.payouts.iter().map(|payout| payout.requestId).collect();
    assert_eq!((call.token, ids), (one.token, vec![one.request_id, payout(8).request_id]));
    assert_eq!(call.approvals.len(), 2);
}

#[test]
fn a_batch_is_of_one_token_and_bounded() {
    let full: Vec<VaultPayout> = vec![payout(1); MAX_BATCH];
    let call = vault::payoutBatchCall::abi_decode(&calldata::payout_batch(&full).expect("a batch"));
    assert_eq!(call.expect("a batch").payouts.len(), MAX_BATCH);
    let sizes = [vec![], vec![payout(1); MAX_BATCH + 1]];
    for payouts in sizes {
        assert_eq!(calldata::payout_batch(&payouts), Err(BatchError::Size(payouts.len())));
    }
    let other = VaultPayout { token: Address::ZERO, ..payout(2) };
    let mixed = calldata::payout_batch(&[payout(1), other]);
    assert_eq!(mixed, Err(BatchError::Tokens(payout(1).token, Address::ZERO)));
}

fn record(state: u8, settled_at: u64, block: u64, to: Address) -> Vec<u8> {
    (U256::from(state), U256::from(settled_at), U256::from(block), to).abi_encode()
}

#[test]
fn records_are_read_strictly() {
    let to = Address::repeat_byte(4);
    let statuses = [VaultStatus::Unknown, VaultStatus::Paid, VaultStatus::Cancelled];
    for (state, status) in (0..).zip(statuses) {
        let expected = VaultRecord { status, settled_at_s: 1_700_000_000, block: 77, to };
        assert_eq!(answer::request_state(&record(state, 1_700_000_000, 77, to)), Ok(expected));
    }
    assert!(answer::request_state(&record(3, 0, 0, to)).is_err(), "there is no fourth");
    assert!(answer::request_state(&record(1, 1 << 40, 0, to)).is_err(), "more than 40 bits");
    assert!(answer::request_state(&record(1, 0, 0, to)[..127]).is_err(), "cut");
    assert_eq!(answer::request_state(&[]), Err(VaultAnswerError::NoVault));
}

#[test]
fn as_many_records_are_read_as_requests_were_asked_for() {
    let record = |state| abi::RequestRecord {
        state,
        settledAt: "1".parse().expect("a number"),
        blockNumber: "2".parse().expect("a number"),
        to: Address::ZERO,
    };
    let (paid, unknown) = (record(abi::RequestState::Paid), record(abi::RequestState::Unknown));
    let bytes = vault::requestStatesCall::abi_encode_returns(&vec![paid, unknown]);
    let read = answer::request_states(2, &bytes).expect("two");
    assert_eq!([read[0].status, read[1].status], [VaultStatus::Paid, VaultStatus::Unknown]);
    for asked in [0, 1, 3] {
        assert!(answer::request_states(asked, &bytes).is_err(), "{asked}");
    }
}

#[test]
fn the_rest_of_the_answers() {
    let word = |number: u64| U256::from(number).abi_encode();
    assert_eq!(answer::paused(&word(1)), Ok(true));
    assert_eq!(answer::approval_required(&word(0)), Ok(false));
    assert!(answer::paused(&word(2)).is_err());
    assert_eq!(answer::approval_nonce(&word(9)), Ok(9));
    assert_eq!(answer::deployed_at_block(&word(8)), Ok(8));
    assert!(answer::deployed_at_block(&U256::MAX.abi_encode()).is_err());
    assert_eq!(answer::risk_signer(&word(0)), Ok(None));
    let signer = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    assert_eq!(answer::risk_signer(&signer.abi_encode()), Ok(Some(signer)));
}

#[test]
fn events_are_read_from_the_vault_alone() {
    let told = payout(6);
    let VaultPayout { request_id, token, to, amount } = told;
    let paid = log(&vault::PayoutExecuted { requestId: request_id, token, to, amount });
    assert_eq!(VaultEvent::read(vault_ref(), &paid), Ok(Some(VaultEvent::PayoutExecuted(told))));
    let by = Address::repeat_byte(9);
    let cancelled = log(&vault::RequestCancelled { requestId: request_id, token, to, amount, by });
    let event = VaultEvent::RequestCancelled { payout: told, by };
    assert_eq!(VaultEvent::read(vault_ref(), &cancelled), Ok(Some(event)));
    let topics = [&paid, &cancelled].map(|log| log.topics.as_slice().len());
    assert_eq!(topics, [4, 4], "id, token and recipient are indexed, as in the artifact");
    assert_eq!(event.request_id(), request_id);

    for filter in [event::filter(vault_ref().address), event::filter_of(vault_ref().address, &[request_id])] {
        assert!(filter.matches(&paid) && filter.matches(&cancelled));
    }
    assert!(!event::filter_of(vault_ref().address, &[B256::ZERO]).matches(&paid));
    let forged = LogEvent { address: told.token, ..paid.clone() };
    assert_eq!(VaultEvent::read(vault_ref(), &forged), Ok(None));
    let elsewhere = LogEvent { chain: ChainId::new(5).expect("an id"), ..paid.clone() };
    assert_eq!(VaultEvent::read(vault_ref(), &elsewhere), Ok(None));
    let other = LogEvent { topics: Topics::new(&[B256::ZERO]).expect("one"), ..paid.clone() };
    assert_eq!(VaultEvent::read(vault_ref(), &other), Ok(None));
    let cut = LogEvent { data: Bytes::new(), ..paid };
    assert!(VaultEvent::read(vault_ref(), &cut).is_err());
}

fn refused(error: &impl SolError) -> VaultRefusal {
    VaultRefusal::read(&error.abi_encode(), "execution reverted")
}

#[test]
fn what_passes_what_needs_an_approval_and_what_is_settled() {
    let (id, token) = (B256::repeat_byte(1), Address::repeat_byte(2));
    let n = U256::from;
    let seen = [
        refused(&vault::EnforcedPause {}),
        refused(&vault::VaultBalanceTooLow { token, balance: n(5), needed: n(6) }),
        refused(&vault::DayLimitExceeded { token, amount: n(1), spentToday: n(2), limit: n(3) }),
        refused(&vault::ApprovalExpired { requestId: id, deadline: n(1) }),
        refused(&vault::ApprovalNonceMismatch { requestId: id, nonce: n(1), currentNonce: n(2) }),
        refused(&vault::RequestAlreadyPaid { requestId: id, settledAt: n(1), blockNumber: n(2) }),
        refused(&vault::RequestAlreadyCancelled { requestId: id, settledAt: n(1), blockNumber: n(2) }),
    ];
    use RefusalKind::*;
    let kinds = [Passing, Passing, Passing, NewApproval, NewApproval, AlreadyPaid, AlreadyCancelled];
    assert_eq!(seen.each_ref().map(|refusal| refusal.kind), kinds);
    assert_eq!(
        seen[1].to_string(),
        format!("VaultBalanceTooLow: the vault holds 5 of token {token} and needs 6")
    );
    let named = seen.each_ref().map(|refusal| refusal.request_id.is_some());
    assert_eq!(named, [false, false, false, true, true, true, true]);
}

#[test]
fn everything_else_lasts_and_says_its_name() {
    let (id, to) = (B256::repeat_byte(1), Address::repeat_byte(2));
    let denied = refused(&vault::RecipientDenied { requestId: id, to });
    assert_eq!((denied.kind, denied.request_id), (RefusalKind::Lasting, Some(id)));
    assert_eq!(denied.words, format!("RecipientDenied: {to} is on the vault's denylist"));
    let said = refused(&Revert::from("not\ntoday"));
    assert_eq!((said.kind, said.words.as_str()), (RefusalKind::Lasting, "Error: not today"));
    assert!(refused(&Revert::from("x".repeat(9_999))).words.chars().count() < 300);
    let panic = refused(&Panic::from(PanicKind::UnderOverflow));
    assert_eq!(panic.words, "Panic: arithmetic underflow or overflow (code 0x11)");
    let unknown = VaultRefusal::read(&hex!("e450d38c000102"), "execution reverted");
    assert_eq!((unknown.kind, unknown.name.as_str()), (RefusalKind::Lasting, "0xe450d38c"));
    assert!(unknown.words.ends_with("0xe450d38c000102"), "{unknown}");
    let silent = VaultRefusal::read(&[], "execution reverted");
    assert_eq!(silent.kind, RefusalKind::Unexplained, "it may be that the endpoint does not tell");
    assert_eq!(silent.words, "reverted without a reason: execution reverted");
}

/// Every error of the vault, with arguments of zero, is read under its name.
#[test]
fn every_error_has_words() {
    for error in
        artifact().abi.errors().filter(|error| SettlementVaultErrors::valid_selector(error.selector().0))
    {
        let data = [error.selector().as_slice(), &vec![0; 32 * error.inputs.len()]].concat();
        let refusal = VaultRefusal::read(&data, "");
        assert_eq!(refusal.name, error.name);
        assert!(refusal.words.starts_with(&format!("{}: ", error.name)), "{refusal}");
        let names_request = error.inputs.first().is_some_and(|input| input.name == "requestId");
        assert_eq!(refusal.request_id.is_some(), names_request, "{}", error.name);
    }
}

proptest! {
    /// Whatever bytes come, they are read without a panic, into few words.
    #[test]
    fn any_bytes_are_a_refusal(selector in 0_usize..30, data in proptest::collection::vec(any::<u8>(), 0..200)) {
        let known = SettlementVaultErrors::SELECTORS.get(selector).map_or(&[][..], |selector| selector);
        let refusal = VaultRefusal::read(&[known, &data].concat(), "reverted");
        prop_assert!(refusal.words.chars().count() < 1_000);
    }
}
