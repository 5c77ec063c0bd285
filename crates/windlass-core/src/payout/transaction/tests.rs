//! A known transaction, and any other.

use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope, TxLegacy};
use alloy_eips::eip2718::Encodable2718;
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{address, b256, hex, keccak256};
use proptest::prelude::*;

use super::*;

/// Made and signed by Foundry's `cast mktx` with the first of the well-known development keys.
const RAW: &[u8] = &hex!(
    "02f8728189078506fc23ac00851cbe991a1483015f909400000000000000000000000000000000000000aa80845c975abb"
    "c001a014af47f41796f5026ba2d06ebf4f7d6b5569ea7938dbd8de2822f1a59e94e7dfa04bc126fecb93823754be57ae77"
    "7f023071d9c6c823c654a19c6625e911b59dc0"
);
const HASH: B256 = b256!("47daa8c5b5bc3fb36ba7a2eb2c418b6cbb750af5ab91d37d2c76378ebea20234");
const R: B256 = b256!("14af47f41796f5026ba2d06ebf4f7d6b5569ea7938dbd8de2822f1a59e94e7df");
const S: B256 = b256!("4bc126fecb93823754be57ae777f023071d9c6c823c654a19c6625e911b59dc0");
const SENDER: Address = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
/// The order of the curve.
const ORDER: B256 = b256!("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141");

fn known() -> Transaction {
    Transaction {
        chain: ChainId::new(137).expect("an id"),
        nonce: 7,
        to: Some(Address::with_last_byte(0xaa)),
        data: hex!("5c975abb").into(),
        gas_limit: 90_000,
        fees: GasFees { max_fee: 123_456_789_012, priority_fee: 30_000_000_000 },
    }
}

fn signature() -> Signature {
    Signature::new(R.into(), S.into(), true)
}

fn refusal(raw: &[u8]) -> TransactionError {
    ReadTransaction::read(raw).expect_err("refused")
}

#[test]
fn a_known_transaction_is_made_to_the_byte() {
    let signed = known().signed(&signature());
    assert_eq!((signed.hash, signed.raw.as_ref()), (HASH, RAW));
    let sender = signature().recover_address_from_prehash(&known().signing_hash());
    assert_eq!(sender.expect("somebody"), SENDER);
}

#[test]
fn a_known_transaction_is_read_back() {
    let read = ReadTransaction::read(RAW).expect("a transaction");
    assert_eq!(read, ReadTransaction { hash: HASH, sender: SENDER, transaction: known() });
}

#[test]
fn bytes_that_are_cut_or_too_many_are_refused() {
    for length in 0..RAW.len() {
        assert!(ReadTransaction::read(&RAW[..length]).is_err(), "{length}");
    }
    let longer = [RAW, &[0]].concat();
    assert!(matches!(refusal(&longer), TransactionError::Unreadable(_)));
    assert!(matches!(refusal(&[2; MAX_TRANSACTION_BYTES + 1]), TransactionError::Unreadable(_)));
}

/// Its twin would be the same payment under another hash.
#[test]
fn the_other_form_of_a_signature_is_refused() {
    let twin = U256::from_be_bytes(ORDER.0) - U256::from_be_bytes(S.0);
    let twin = known().signed(&Signature::new(R.into(), twin, false));
    assert_eq!(refusal(&twin.raw), TransactionError::Signature);
}

#[test]
fn what_we_never_sign_is_refused() {
    let plain = TxEip1559 { chain_id: 137, ..TxEip1559::default() };
    let listed = AccessListItem { address: SENDER, storage_keys: vec![] };
    for form in [
        TxEip1559 { value: U256::ONE, ..plain.clone() },
        TxEip1559 { access_list: AccessList(vec![listed]), ..plain.clone() },
    ] {
        let raw = TxEnvelope::from(form.into_signed(signature())).encoded_2718();
        assert!(matches!(refusal(&raw), TransactionError::Foreign(_)));
    }
    let legacy =
        TxEnvelope::from(TxLegacy { chain_id: Some(137), ..TxLegacy::default() }.into_signed(signature()));
    assert!(matches!(refusal(&legacy.encoded_2718()), TransactionError::Foreign(_)));
    let nowhere = TxEnvelope::from(TxEip1559 { chain_id: 0, ..plain }.into_signed(signature()));
    assert!(matches!(refusal(&nowhere.encoded_2718()), TransactionError::Unreadable(_)));
}

fn transactions() -> impl Strategy<Value = Transaction> {
    let to = proptest::option::of(any::<[u8; 20]>().prop_map(Address::from));
    let data = proptest::collection::vec(any::<u8>(), 0..300);
    let numbers = (1..=u64::MAX >> 1, any::<u64>(), any::<u64>(), any::<u128>(), any::<u128>());
    (numbers, to, data).prop_map(|((chain, nonce, gas_limit, max_fee, priority_fee), to, data)| Transaction {
        chain: ChainId::new(chain).expect("an id"),
        nonce,
        to,
        data: data.into(),
        gas_limit,
        fees: GasFees { max_fee, priority_fee },
    })
}

proptest! {
    #[test]
    fn what_was_signed_reads_back(transaction in transactions(), parity: bool) {
        let signature = Signature::new(R.into(), S.into(), parity);
        let sender = signature.recover_address_from_prehash(&transaction.signing_hash()).expect("somebody");
        let SignedTransaction { hash, raw } = transaction.signed(&signature);
        prop_assert_eq!(hash, keccak256(&raw));
        prop_assert_eq!(ReadTransaction::read(&raw), Ok(ReadTransaction { hash, sender, transaction }));
    }

    /// A change of any byte is another transaction, of another sender, or none.
    #[test]
    fn a_changed_byte_never_reads_as_the_same(at in 0..RAW.len(), change in 1_u8..) {
        let mut raw = RAW.to_vec();
        raw[at] ^= change;
        if let Ok(read) = ReadTransaction::read(&raw) {
            prop_assert!(read.hash != HASH && (read.sender != SENDER || read.transaction != known()));
        }
    }
}
