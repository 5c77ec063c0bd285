//! The two calls of KMS that a signer makes, over HTTP on loopback, with faults on demand.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use alloy_primitives::{B256, U256, uint};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

const ORDER: U256 = uint!(0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141_U256);
/// What stands before the point in the DER encoding of a secp256k1 public key.
const SPKI_PREFIX: [u8; 24] = alloy_primitives::hex!("3056301006072a8648ce3d020106052b8104000a03420004");
pub(super) const KEY_ID: &str = "1234abcd-12ab-34cd-56ef-1234567890ab";

/// What the next answers are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    /// As they should be, with `s` in the lower half.
    Right,
    /// With `s` in the upper half, as every second of KMS's is.
    HighS,
    /// Signed with another key.
    OtherKey,
    /// Over another hash.
    OtherHash,
    /// No signature and no key, but bytes.
    Garbage,
    /// Without what was asked for.
    Empty,
    /// An error with this code and HTTP status.
    Error(&'static str, u16),
    /// None at all.
    Silent,
}

pub(super) struct Emulator {
    pub(super) key: PrivateKeySigner,
    pub(super) address: SocketAddr,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

struct Shared {
    key: PrivateKeySigner,
    mood: Mutex<Mood>,
    /// Each call, by its name, with what it was asked.
    calls: Mutex<Vec<(String, Value)>>,
}

impl Emulator {
    pub(super) async fn start() -> Self {
        let key = PrivateKeySigner::from_slice(&[0x42; 32]).expect("a key");
        let shared = Shared { key: key.clone(), mood: Mutex::new(Mood::Right), calls: Mutex::default() };
        let shared = Arc::new(shared);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let address = listener.local_addr().expect("an address");
        let router = Router::new().route("/", post(answer)).with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.expect("served") });
        Self { key, address, shared, server }
    }

    pub(super) fn set(&self, mood: Mood) {
        *self.shared.mood.lock().expect("not poisoned") = mood;
    }

    pub(super) fn calls(&self) -> Vec<(String, Value)> {
        self.shared.calls.lock().expect("not poisoned").clone()
    }

    /// Closes the door.
    pub(super) async fn stop(self) {
        self.server.abort();
        assert!(self.server.await.expect_err("ended").is_cancelled());
    }
}

async fn answer(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: String) -> Response {
    let header =
        |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let body: Value = serde_json::from_str(&body).expect("JSON");
    let target = header("x-amz-target");
    assert_eq!(header("content-type"), "application/x-amz-json-1.1");
    assert!(
        header("authorization").starts_with("AWS4-HMAC-SHA256 Credential=test-id/"),
        "signed as AWS wants it"
    );
    assert_eq!(body["KeyId"], KEY_ID);
    shared.calls.lock().expect("not poisoned").push((target.clone(), body.clone()));
    let mood = *shared.mood.lock().expect("not poisoned");
    match mood {
        Mood::Silent => std::future::pending().await,
        Mood::Error(code, status) => {
            let body =
                json!({ "__type": code, "message": "in KMS's own words\nx-amz-security-token:s3cret" });
            reply(StatusCode::from_u16(status).expect("a status"), body)
        }
        Mood::Empty => reply(StatusCode::OK, json!({ "KeyId": KEY_ID })),
        mood => match target.as_str() {
            "TrentService.GetPublicKey" => reply(StatusCode::OK, public_key(&shared.key, mood)),
            "TrentService.Sign" => reply(StatusCode::OK, sign(&shared.key, mood, &body)),
            other => panic!("{other} is no call of a signer"),
        },
    }
}

fn reply(status: StatusCode, body: Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/x-amz-json-1.1")], Json(body)).into_response()
}

fn public_key(key: &PrivateKeySigner, mood: Mood) -> Value {
    let mut der = [&SPKI_PREFIX[..], key.public_key().as_slice()].concat();
    if mood == Mood::Garbage {
        // A point that is on no curve.
        der[60] ^= 1;
    }
    json!({
        "KeyId": KEY_ID,
        "KeySpec": "ECC_SECG_P256K1",
        "KeyUsage": "SIGN_VERIFY",
        "PublicKey": BASE64_STANDARD.encode(der),
        "SigningAlgorithms": ["ECDSA_SHA_256"],
    })
}

fn sign(key: &PrivateKeySigner, mood: Mood, body: &Value) -> Value {
    assert_eq!(body["MessageType"], "DIGEST");
    assert_eq!(body["SigningAlgorithm"], "ECDSA_SHA_256");
    let message = BASE64_STANDARD.decode(body["Message"].as_str().expect("text")).expect("base64");
    let mut hash = B256::try_from(message.as_slice()).expect("32 bytes");
    let other = PrivateKeySigner::from_slice(&[0x43; 32]).expect("a key");
    if mood == Mood::OtherHash {
        hash = B256::repeat_byte(0xee);
    }
    let signature = if mood == Mood::OtherKey { &other } else { key }.sign_hash_sync(&hash).expect("signed");
    let s = if mood == Mood::HighS { ORDER - signature.s() } else { signature.s() };
    let der = if mood == Mood::Garbage { vec![0x30, 0x01] } else { der(signature.r(), s) };
    json!({ "KeyId": KEY_ID, "Signature": BASE64_STANDARD.encode(der), "SigningAlgorithm": "ECDSA_SHA_256" })
}

/// Two integers in a sequence, each in as few bytes as keep it positive.
fn der(r: U256, s: U256) -> Vec<u8> {
    let integer = |number: U256| {
        let mut bytes = number.to_be_bytes_trimmed_vec();
        if bytes.first().is_none_or(|first| first & 0x80 != 0) {
            bytes.insert(0, 0);
        }
        [&[0x02, u8::try_from(bytes.len()).expect("short")], bytes.as_slice()].concat()
    };
    let content = [integer(r), integer(s)].concat();
    [&[0x30, u8::try_from(content.len()).expect("short")], content.as_slice()].concat()
}
