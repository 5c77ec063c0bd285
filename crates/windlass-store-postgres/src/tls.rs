//! What `sslmode` means: as in libpq, `prefer` and `require` encrypt without asking
//! who the server is; `verify-full` also checks its certificate and name against the
//! system's roots (or those in `SSL_CERT_FILE`).

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;
use windlass_core::error::{StoreError, StoreResult};

/// The connector for a URL that wants the server's certificate checked, or does not.
pub(crate) fn connector(verify: bool) -> StoreResult<MakeRustlsConnect> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::Other(error.to_string()))?;
    let config = if verify {
        builder.with_root_certificates(system_roots()?).with_no_client_auth()
    } else {
        let anybody = Arc::new(Anybody { provider });
        builder.dangerous().with_custom_certificate_verifier(anybody).with_no_client_auth()
    };
    Ok(MakeRustlsConnect::new(config))
}

fn system_roots() -> StoreResult<RootCertStore> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (usable, _) = roots.add_parsable_certificates(found.certs);
    if usable == 0 {
        let hint =
            "sslmode=verify-full needs root certificates, and this system has none (see SSL_CERT_FILE)";
        return Err(StoreError::Invalid(hint.to_owned()));
    }
    Ok(roots)
}

/// Accepts every certificate, but still wants the handshake signed with its key.
#[derive(Debug)]
struct Anybody {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
