//! Keystores of others, broken ones, and those of our own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use alloy_primitives::{address, hex};
use futures_util::FutureExt;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::document::HexBytes;
use super::*;

const KEY: [u8; 32] = hex!("7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d");
const ADDRESS: Address = address!("008AeEda4D805471dF9b2A5B0f38A0C3bCBA786b");
const PASSPHRASE: &str = "testpassword";

/// The definition's vector for PBKDF2.
fn pbkdf2_vector() -> Value {
    json!({
        "crypto": {
            "cipher": "aes-128-ctr",
            "cipherparams": { "iv": "6087dab2f9fdbbfaddc31a909735c1e6" },
            "ciphertext": "5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46",
            "kdf": "pbkdf2",
            "kdfparams": {
                "c": 262_144,
                "dklen": 32,
                "prf": "hmac-sha256",
                "salt": "ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd",
            },
            "mac": "517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2",
        },
        "id": "3198bc9c-6672-5ab3-d995-4942343ae5b6",
        "version": 3,
    })
}

/// The definition's vector for scrypt.
fn scrypt_vector() -> Value {
    json!({
        "crypto": {
            "cipher": "aes-128-ctr",
            "cipherparams": { "iv": "83dbcc02d8ccb40e466191a123791e0e" },
            "ciphertext": "d172bf743a674da9cdad04534d56926ef8358534d458fffccd4e6ad2fbde479c",
            "kdf": "scrypt",
            "kdfparams": {
                "dklen": 32,
                "n": 262_144,
                "r": 1,
                "p": 8,
                "salt": "ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19",
            },
            "mac": "2103ac29920d71da29f15d75b4a16dbe95cfd7ff8faea1056c33131d846e3097",
        },
        "id": "3198bc9c-6672-5ab3-d995-4942343ae5b6",
        "version": 3,
    })
}

/// A file that is opened in no time.
fn light() -> Value {
    let kdf = Kdf::Scrypt { dklen: 32, n: 2, r: 1, p: 1, salt: HexBytes(vec![9; 32]) };
    let document = seal::close(&KeyBytes::new(KEY), ADDRESS, &PASSPHRASE.into(), kdf).expect("closed");
    serde_json::from_slice(&document.to_json()).expect("JSON")
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("key.json");
    (folder, path)
}

fn open_bytes(content: &[u8], passphrase: &str) -> Result<KeystoreSigner, KeystoreError> {
    let (_folder, path) = folder();
    fs::write(&path, content).expect("written");
    KeystoreSigner::open(&path, &passphrase.into())
}

fn open_json(json: &Value) -> Result<KeystoreSigner, KeystoreError> {
    open_bytes(json.to_string().as_bytes(), PASSPHRASE)
}

fn trouble(json: &Value) -> KeystoreTrouble {
    open_json(json).expect_err("refused").trouble
}

/// The light file with one place changed.
fn changed(pointer: &str, to: impl Into<Value>) -> Value {
    let mut json = light();
    *json.pointer_mut(pointer).expect("a place") = to.into();
    json
}

#[test]
fn the_definition_s_vectors_open() {
    for vector in [pbkdf2_vector(), scrypt_vector()] {
        let signer = open_json(&vector).expect("opens");
        assert_eq!(signer.address(), ADDRESS);
        let document = Document::parse(vector.to_string().as_bytes()).expect("understood");
        assert_eq!(*seal::open(&document, &PASSPHRASE.into()).expect("opens"), KEY);
    }
}

#[test]
fn a_wrong_passphrase_opens_nothing() {
    let json = light().to_string();
    for passphrase in ["", "testpassword ", "Testpassword"] {
        let error = open_bytes(json.as_bytes(), passphrase).expect_err("closed");
        assert!(matches!(error.trouble, KeystoreTrouble::Closed), "{error}");
    }
    assert!(open_bytes(json.as_bytes(), PASSPHRASE).is_ok());
}

#[test]
fn a_file_that_was_changed_does_not_open() {
    let salt = "08".repeat(32);
    let ciphertext = "00".repeat(32);
    let changes = [
        ("/crypto/ciphertext", ciphertext.clone()),
        ("/crypto/mac", ciphertext),
        ("/crypto/kdfparams/salt", salt),
    ];
    for (pointer, to) in changes {
        assert!(matches!(trouble(&changed(pointer, to)), KeystoreTrouble::Closed), "{pointer}");
    }
    // The code does not cover the counter: that the address is another shows it.
    let iv = "00".repeat(16);
    let found = trouble(&changed("/crypto/cipherparams/iv", iv));
    assert!(
        matches!(found, KeystoreTrouble::OtherAddress { stated: ADDRESS, .. } | KeystoreTrouble::Key(_)),
        "{found}"
    );
}

#[test]
fn another_address_is_told() {
    let found = trouble(&changed("/address", "00".repeat(20)));
    assert!(
        matches!(found, KeystoreTrouble::OtherAddress { found: ADDRESS, stated: Address::ZERO }),
        "{found}"
    );
    for same in ["008aeeda4d805471df9b2a5b0f38a0c3bcba786b", "0x008AeEda4D805471dF9b2A5B0f38A0C3bCBA786b", ""]
    {
        assert!(open_json(&changed("/address", same)).is_ok(), "{same}");
    }
    assert!(open_json(&changed("/address", Value::Null)).is_ok());
}

#[test]
fn a_capital_letter_of_old_wallets_is_read() {
    let mut json = light();
    let crypto = json.as_object_mut().expect("an object").remove("crypto").expect("there");
    json["Crypto"] = crypto;
    assert!(open_json(&json).is_ok());
}

#[test]
fn what_is_no_keystore_is_refused_without_being_shown() {
    let key = hex::encode(KEY);
    let whole = light().to_string();
    for content in
        ["", "{}", "[]", "null", &key, &format!("\"{key}\""), &whole[..whole.len() / 2], &format!("{whole}x")]
    {
        let error = open_bytes(content.as_bytes(), PASSPHRASE).expect_err("foreign");
        assert!(matches!(error.trouble, KeystoreTrouble::Foreign { .. }), "{error}");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(&key[..8]), "{shown}");
    }
    assert!(open_bytes(b"\xff\xfe", PASSPHRASE).is_err());
    assert!(matches!(
        open_bytes(&vec![b' '; 70_000], PASSPHRASE).expect_err("too long").trouble,
        KeystoreTrouble::Unreadable(_)
    ));
}

#[test]
fn other_versions_ciphers_and_functions_are_refused() {
    let others = [
        changed("/version", 1),
        changed("/version", "3"),
        changed("/crypto/cipher", "aes-128-cbc"),
        changed("/crypto/kdf", "argon2id"),
        changed("/crypto/kdf", "pbkdf2"),
        changed("/crypto/ciphertext", "xyz"),
        changed("/crypto/kdfparams/n", -2),
        changed("/crypto/kdfparams/n", 2.5),
    ];
    for json in others {
        assert!(matches!(trouble(&json), KeystoreTrouble::Foreign { .. }), "{json}");
    }
}

#[test]
fn wrong_lengths_and_absurd_costs_are_refused() {
    let wrong = [
        ("/crypto/cipherparams/iv", json!("00")),
        ("/crypto/cipherparams/iv", json!("")),
        ("/crypto/ciphertext", json!("00".repeat(31))),
        ("/crypto/ciphertext", json!("00".repeat(64))),
        ("/crypto/mac", json!("")),
        ("/crypto/kdfparams/salt", json!("")),
        ("/crypto/kdfparams/dklen", json!(16)),
        ("/crypto/kdfparams/dklen", json!(u64::MAX)),
        ("/crypto/kdfparams/n", json!(1_u64 << 40)),
        ("/crypto/kdfparams/r", json!(1_u64 << 40)),
        ("/crypto/kdfparams/p", json!(1_u64 << 40)),
    ];
    for (pointer, to) in wrong {
        assert!(matches!(trouble(&changed(pointer, to)), KeystoreTrouble::Parameter(_)), "{pointer}");
    }
}

#[test]
fn a_pipe_or_a_folder_is_no_keystore() {
    let (folder, path) = folder();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    for path in [pipe, folder.path().to_owned(), path] {
        let error = KeystoreSigner::open(&path, &PASSPHRASE.into()).expect_err("refused");
        assert!(matches!(error.trouble, KeystoreTrouble::Unreadable(_)), "{error}");
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    }
}

#[test]
fn a_new_file_opens_again_and_is_its_owner_s_alone() {
    let (folder, path) = folder();
    let made = KeystoreSigner::create(&path, &"correct horse".into()).expect("created");
    let opened = KeystoreSigner::open(&path, &"correct horse".into()).expect("opens");
    assert_eq!(opened.address(), made.address());
    let hash = B256::repeat_byte(5);
    let signature = opened.sign_hash(hash).now_or_never().expect("at once").expect("signed");
    assert_eq!(signature.recover_address_from_prehash(&hash).ok(), Some(made.address()));

    assert_eq!(path.metadata().expect("there").permissions().mode() & 0o7777, 0o600);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing else is left");
    let json: Value = serde_json::from_slice(&fs::read(&path).expect("read")).expect("JSON");
    assert_eq!(json["address"], hex::encode(made.address()));
    assert_eq!(json["crypto"]["kdfparams"]["n"], 262_144);
    assert_eq!(json["version"], 3);
    let id = json["id"].as_str().expect("an id");
    assert!(id.len() == 36 && &id[14..15] == "4", "{id}");
}

#[test]
fn a_key_is_imported_as_it_is() {
    let (_folder, path) = folder();
    let key = format!("0x{}", hex::encode(KEY)).into();
    let made = KeystoreSigner::import(&path, &key, &PASSPHRASE.into()).expect("created");
    assert_eq!(made.address(), ADDRESS);
    assert_eq!(KeystoreSigner::open(&path, &PASSPHRASE.into()).expect("opens").address(), ADDRESS);
    let content = fs::read_to_string(&path).expect("read");
    assert!(!content.contains(&hex::encode(KEY)[..16]));
    let (_folder, path) = folder();
    let error = KeystoreSigner::import(&path, &"0x12".into(), &PASSPHRASE.into()).expect_err("no key");
    assert!(matches!(error.trouble, KeystoreTrouble::Key(_)) && !path.exists(), "{error}");
}

#[test]
fn a_file_that_is_there_is_never_replaced() {
    let (folder, path) = folder();
    fs::write(&path, "precious").expect("written");
    let dangling = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path().join("nowhere"), &dangling).expect("linked");
    for path in [&path, &dangling] {
        let error = KeystoreSigner::create(path, &PASSPHRASE.into()).expect_err("there already");
        assert!(matches!(error.trouble, KeystoreTrouble::Exists), "{error}");
        // Also when it comes only after the first look.
        assert!(matches!(file::write(path, b"new"), Err(KeystoreTrouble::Exists)));
    }
    assert_eq!(fs::read_to_string(&path).expect("read"), "precious");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2, "nothing else is left");
}

#[test]
fn what_cannot_be_written_is_told() {
    let (_folder, path) = folder();
    let error = KeystoreSigner::create(&path, &"short".into()).expect_err("short");
    assert!(matches!(error.trouble, KeystoreTrouble::ShortPassphrase) && !path.exists(), "{error}");
    let inside = path.join("of/nothing.json");
    assert!(matches!(file::write(&inside, b"x"), Err(KeystoreTrouble::Unwritable(_))));
}

#[test]
fn nothing_shows_the_key() {
    let signer = open_json(&light()).expect("opens");
    let shown = format!("{signer:?} {signer:#?}").to_lowercase();
    assert!(shown.contains("008aeeda") && !shown.contains("7a28b5ba"), "{shown}");
}
