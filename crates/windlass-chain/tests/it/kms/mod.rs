//! The signer of AWS KMS against an emulator of the two calls it makes.

mod emulator;

use std::time::Duration;

use alloy_consensus::transaction::SignerRecoverable;
use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope};
use alloy_primitives::{B256, TxKind, U256, keccak256};
use emulator::{Emulator, KEY_ID, Mood};
use windlass_chain::signer::kms::{Credentials, KmsOptions, KmsSigner};
use windlass_core::payout::signer::{Signer, SignerError, SignerErrorKind};

const HASH: B256 = B256::repeat_byte(0x5a);

fn options(kms: &Emulator) -> KmsOptions {
    KmsOptions {
        region: Some("eu-central-1".into()),
        endpoint: Some(format!("http://{}", kms.address).parse().expect("a URL")),
        ..KmsOptions::new(KEY_ID)
    }
}

async fn connect(options: KmsOptions) -> Result<KmsSigner, SignerError> {
    let credentials = Credentials::new("test-id", "test-secret", None, None, "test");
    KmsSigner::connect_as(options, credentials).await
}

async fn connected() -> (Emulator, KmsSigner) {
    let kms = Emulator::start().await;
    let signer = connect(options(&kms)).await.expect("connected");
    (kms, signer)
}

/// How signing fails in a mood.
async fn failure(kms: &Emulator, signer: &KmsSigner, mood: Mood) -> SignerError {
    kms.set(mood);
    signer.sign_hash(HASH).await.expect_err("no signature")
}

#[tokio::test]
async fn the_address_is_the_public_key_s_and_signatures_recover_to_it() {
    let (kms, signer) = connected().await;
    assert_eq!(signer.address(), kms.key.address());
    for mood in [Mood::Right, Mood::HighS] {
        kms.set(mood);
        for number in 0_u8..8 {
            let hash = keccak256([number]);
            let signature = signer.sign_hash(hash).await.expect("signed");
            assert_eq!(
                signature.recover_address_from_prehash(&hash).ok(),
                Some(signer.address()),
                "{mood:?}"
            );
            assert_eq!(signature.normalize_s(), None, "{mood:?}");
        }
    }
    let calls = kms.calls();
    let names: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..2], ["TrentService.GetPublicKey", "TrentService.Sign"]);
    assert_eq!(names.len(), 17, "one call for each signature");
}

#[tokio::test]
async fn a_transaction_is_signed_by_its_sender() {
    let (_kms, signer) = connected().await;
    let transaction = TxEip1559 {
        chain_id: 31_337,
        nonce: 7,
        gas_limit: 21_000,
        max_fee_per_gas: 20,
        max_priority_fee_per_gas: 2,
        to: TxKind::Call(signer.address()),
        value: U256::from(1),
        ..TxEip1559::default()
    };
    let signature = signer.sign_hash(transaction.signature_hash()).await.expect("signed");
    let envelope = TxEnvelope::from(transaction.into_signed(signature));
    assert_eq!(envelope.recover_signer().ok(), Some(signer.address()));
}

#[tokio::test]
async fn a_signature_that_is_not_ours_never_leaves() {
    let (kms, signer) = connected().await;
    for mood in [Mood::OtherKey, Mood::OtherHash, Mood::Garbage, Mood::Empty] {
        let error = failure(&kms, &signer, mood).await;
        assert_eq!(error.kind, SignerErrorKind::Untrustworthy, "{mood:?}: {error}");
        assert!(!error.is_passing());
    }
    kms.set(Mood::Right);
    assert!(signer.sign_hash(HASH).await.is_ok());
}

#[tokio::test]
async fn trouble_that_passes_is_told_from_refusal_and_nothing_is_asked_twice() {
    let (kms, signer) = connected().await;
    let cases = [
        ("ThrottlingException", 400, SignerErrorKind::Throttled),
        ("KMSInternalException", 500, SignerErrorKind::Unreachable),
        ("DependencyTimeoutException", 500, SignerErrorKind::Unreachable),
        ("AccessDeniedException", 400, SignerErrorKind::Refused),
        ("DisabledException", 400, SignerErrorKind::Refused),
    ];
    for (code, status, kind) in cases {
        let before = kms.calls().len();
        let error = failure(&kms, &signer, Mood::Error(code, status)).await;
        assert_eq!(error.kind, kind, "{code}");
        assert!(error.message.contains(code) && error.message.contains("in KMS's own words"), "{error}");
        assert!(!error.message.contains("s3cret"), "{error}");
        assert_eq!(kms.calls().len(), before + 1, "{code}");
    }
    kms.set(Mood::Right);
    assert!(signer.sign_hash(HASH).await.is_ok());
}

#[tokio::test]
async fn connecting_fails_as_signing_does() {
    let kms = Emulator::start().await;
    let cases = [
        (Mood::Error("NotFoundException", 400), SignerErrorKind::Refused),
        (Mood::Error("ThrottlingException", 400), SignerErrorKind::Throttled),
        (Mood::Garbage, SignerErrorKind::Untrustworthy),
        (Mood::Empty, SignerErrorKind::Untrustworthy),
    ];
    for (mood, kind) in cases {
        kms.set(mood);
        assert_eq!(connect(options(&kms)).await.expect_err("not connected").kind, kind, "{mood:?}");
    }
    kms.set(Mood::Silent);
    let hurried = KmsOptions { answer_timeout: Duration::from_millis(50), ..options(&kms) };
    let error = connect(hurried).await.expect_err("no answer");
    assert_eq!(error, SignerError::new(SignerErrorKind::Unreachable, "AWS KMS did not answer in time"));
}

#[tokio::test]
async fn a_kms_that_is_not_there_may_come_back() {
    let kms = Emulator::start().await;
    let closed = options(&kms);
    kms.stop().await;
    let error = connect(closed).await.expect_err("nobody there");
    assert_eq!(error.kind, SignerErrorKind::Unreachable, "{error}");
    assert!(error.is_passing() && error.message.starts_with("AWS KMS cannot be asked: "), "{error}");
}

#[tokio::test]
async fn debug_shows_the_address_alone() {
    let (_kms, signer) = connected().await;
    assert_eq!(format!("{signer:?}"), format!("KmsSigner({:?})", signer.address()));
}
