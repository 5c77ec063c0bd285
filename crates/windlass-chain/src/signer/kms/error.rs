//! What KMS says when it does not sign, as the port says it.

use std::error::Error;

use alloy_signer_aws::AwsSignerError;
use alloy_signer_aws::aws_sdk_kms::config::http::HttpResponse;
use alloy_signer_aws::aws_sdk_kms::error::{ProvideErrorMetadata, SdkError};
use windlass_core::payout::signer::{SignerError, SignerErrorKind};

/// How much of KMS's own words is repeated.
const MAX_WORDS: usize = 200;

/// Codes by which AWS asks for fewer requests.
const THROTTLED: &[&str] = &[
    "LimitExceededException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "TooManyRequestsException",
];

/// Codes of trouble that passes: KMS's own, and credentials that are about to be renewed.
const PASSING: &[&str] = &[
    "DependencyTimeoutException",
    "ExpiredToken",
    "ExpiredTokenException",
    "InternalFailure",
    "KMSInternalException",
    "KeyUnavailableException",
    "RequestExpired",
    "RequestTimeout",
    "RequestTimeoutException",
    "ServiceUnavailable",
    "ServiceUnavailableException",
];

/// What a failure of the signer means.
pub(super) fn translate(error: &AwsSignerError) -> SignerError {
    match error {
        AwsSignerError::Sign(error) => translate_call(error),
        AwsSignerError::GetPublicKey(error) => translate_call(error),
        AwsSignerError::SignatureRecoveryFailed => {
            untrustworthy("it did not sign with the key whose public half it told: was an alias moved?")
        }
        AwsSignerError::K256(_) | AwsSignerError::Spki(_) => untrustworthy(
            "it answered with no key or signature of secp256k1: the key has to be an ECC_SECG_P256K1 one",
        ),
        _ => untrustworthy("its answer lacks what was asked for"),
    }
}

/// The same for one that comes in a box.
pub(super) fn translate_any(error: &(dyn Error + Send + Sync + 'static)) -> SignerError {
    error.downcast_ref().map_or_else(|| untrustworthy("its answer is not understood"), translate)
}

fn untrustworthy(words: &str) -> SignerError {
    SignerError::new(SignerErrorKind::Untrustworthy, format!("AWS KMS cannot be relied on: {words}"))
}

fn translate_call<E>(error: &SdkError<E, HttpResponse>) -> SignerError
where
    E: ProvideErrorMetadata + Error + 'static,
{
    let unreachable = |words: String| SignerError::new(SignerErrorKind::Unreachable, words);
    match error {
        SdkError::ServiceError(answer) => {
            refusal(answer.err().code(), answer.err().message(), answer.raw().status().as_u16())
        }
        SdkError::ConstructionFailure(_) => {
            let words = format!("AWS KMS was not asked: {}", excerpt(&innermost(error)));
            SignerError::new(SignerErrorKind::Refused, words)
        }
        SdkError::TimeoutError(_) => unreachable("AWS KMS did not answer in time".to_owned()),
        SdkError::ResponseError(_) => {
            unreachable("AWS KMS answered with something that makes no sense".to_owned())
        }
        other => unreachable(format!("AWS KMS cannot be asked: {}", excerpt(&innermost(other)))),
    }
}

/// What an answer means that is not what was asked for.
fn refusal(code: Option<&str>, message: Option<&str>, status: u16) -> SignerError {
    let code = code.unwrap_or("unknown");
    let kind = if THROTTLED.contains(&code) || status == 429 {
        SignerErrorKind::Throttled
    } else if PASSING.contains(&code) || status >= 500 {
        SignerErrorKind::Unreachable
    } else {
        SignerErrorKind::Refused
    };
    let words = [excerpt(code), excerpt(message.unwrap_or_default())].join(": ");
    SignerError::new(kind, format!("AWS KMS did not sign: {}", words.trim_end_matches(": ")))
}

/// The cause at the bottom, which is the one that says something.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// The first line, and not too much of it: further lines may repeat the request's
/// headers, a session's token among them.
fn excerpt(words: &str) -> String {
    let line = words.lines().next().unwrap_or_default();
    line.chars().filter(|letter| !letter.is_control()).take(MAX_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kms_a_code_says_what_to_do() {
        use SignerErrorKind::{Refused, Throttled, Unreachable};
        let cases = [
            ("ThrottlingException", 400, Throttled),
            ("Whatever", 429, Throttled),
            ("KMSInternalException", 500, Unreachable),
            ("Whatever", 503, Unreachable),
            ("KeyUnavailableException", 500, Unreachable),
            ("ExpiredTokenException", 400, Unreachable),
            ("AccessDeniedException", 400, Refused),
            ("DisabledException", 400, Refused),
            ("NotFoundException", 400, Refused),
            ("KMSInvalidStateException", 400, Refused),
            ("InvalidKeyUsageException", 400, Refused),
        ];
        for (code, status, kind) in cases {
            let error = refusal(Some(code), Some("words"), status);
            assert_eq!(error.kind, kind, "{code}");
            assert_eq!(error.is_passing(), kind != Refused);
            assert_eq!(error.message, format!("AWS KMS did not sign: {code}: words"));
        }
        assert_eq!(refusal(None, None, 400).message, "AWS KMS did not sign: unknown");
    }

    #[test]
    fn kms_words_are_cut_before_they_tell_too_much() {
        let long = format!("no\nx-amz-security-token:{}", "s".repeat(1_000));
        let error = refusal(Some("InvalidSignatureException"), Some(&long), 400);
        assert_eq!(error.message, "AWS KMS did not sign: InvalidSignatureException: no");
        let long = "w".repeat(1_000);
        assert!(refusal(Some("X"), Some(&long), 400).message.len() < 300);
    }
}
