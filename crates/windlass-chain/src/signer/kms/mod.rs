//! A key in AWS KMS, of the kind `ECC_SECG_P256K1` for `SIGN_VERIFY`: hashes go there and
//! signatures come back; the key never does.
//!
//! KMS is asked once for every signature: when to ask again is the caller's decision. It
//! is not trusted either: what it signed is looked at as every signature is.

mod error;

use std::fmt;
use std::time::Duration;

use alloy_primitives::{Address, B256, Signature};
pub use alloy_signer_aws::aws_sdk_kms::config::Credentials;
use alloy_signer_aws::{AwsSigner, aws_sdk_kms};
use async_trait::async_trait;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader, Region, SdkConfig};
use aws_smithy_http_client::{Builder, tls};
use url::Url;
use windlass_core::payout::signer::{Signer, SignerError, SignerErrorKind};

use super::check::checked;

/// How long an answer of KMS may take, unless told otherwise.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Which key, and where.
#[derive(Debug, Clone)]
pub struct KmsOptions {
    /// The key's id or ARN. An alias works until it is pointed at another key; from then
    /// on nothing is signed.
    pub key_id: String,
    /// The region; without one, that of the AWS configuration in force.
    pub region: Option<String>,
    /// Another endpoint than the region's, such as one in a private network.
    pub endpoint: Option<Url>,
    /// How long an answer may take.
    pub answer_timeout: Duration,
}

impl KmsOptions {
    /// A key in the region of the AWS configuration in force.
    pub fn new(key_id: impl Into<String>) -> Self {
        Self { key_id: key_id.into(), region: None, endpoint: None, answer_timeout: ANSWER_TIMEOUT }
    }
}

/// Signs with a key in AWS KMS.
pub struct KmsSigner(AwsSigner);

impl KmsSigner {
    /// Asks for the key's public half, with credentials from where AWS tools look for
    /// them: the environment, a profile, a web identity, the machine's role.
    pub async fn connect(options: KmsOptions) -> Result<Self, SignerError> {
        let config = loader(&options).load().await;
        Self::ask(&config, options.key_id).await
    }

    /// The same with credentials that are given.
    pub async fn connect_as(options: KmsOptions, credentials: Credentials) -> Result<Self, SignerError> {
        let config = loader(&options).credentials_provider(credentials).load().await;
        Self::ask(&config, options.key_id).await
    }

    async fn ask(config: &SdkConfig, key_id: String) -> Result<Self, SignerError> {
        let client = aws_sdk_kms::Client::new(config);
        AwsSigner::new(client, key_id, None).await.map(Self).map_err(|error| error::translate(&error))
    }
}

/// What is the same for every key: TLS on ring, one attempt, a bounded wait.
fn loader(options: &KmsOptions) -> ConfigLoader {
    let ring = tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring);
    let timeouts = TimeoutConfig::builder().operation_timeout(options.answer_timeout).build();
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .http_client(Builder::new().tls_provider(ring).build_https())
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts);
    if let Some(region) = &options.region {
        loader = loader.region(Region::new(region.clone()));
    }
    if let Some(endpoint) = &options.endpoint {
        loader = loader.endpoint_url(endpoint.as_str());
    }
    loader
}

#[async_trait]
impl Signer for KmsSigner {
    fn address(&self) -> Address {
        alloy_signer::Signer::address(&self.0)
    }

    async fn sign_hash(&self, hash: B256) -> Result<Signature, SignerError> {
        let signed = alloy_signer::Signer::sign_hash(&self.0, &hash).await;
        let signature = signed.map_err(|error| match error {
            alloy_signer::Error::Other(error) => error::translate_any(&*error),
            other => SignerError::new(SignerErrorKind::Refused, other.to_string()),
        })?;
        checked(signature, hash, self.address())
    }
}

impl fmt::Debug for KmsSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KmsSigner").field(&self.address()).finish()
    }
}
