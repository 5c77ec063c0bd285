//! Foundry's cast as a client, over HTTP and WebSocket.

mod reads;
mod refusals;
mod sends;
mod subscribes;

use std::process::Output;

use alloy_primitives::{Address, B256};
use serde_json::Value;

use super::served::Served;
use windlass_testkit::foundry::cast;

/// A served chain, and cast pointed at it.
struct Caster {
    served: Served,
    url: String,
}

impl Caster {
    /// One that speaks HTTP and one that speaks WebSocket, each with a chain of its own.
    async fn both() -> [Self; 2] {
        let (http, ws) = (Served::auto().await, Served::auto().await);
        let (http_url, ws_url) = (http.server.http_url(), ws.server.ws_url());
        [Self { served: http, url: http_url }, Self { served: ws, url: ws_url }]
    }

    fn output(&self, args: &[&str]) -> Output {
        // Options come before the rest: behind `--create` there may be none.
        let (verb, rest) = args.split_first().expect("a verb");
        cast().args([verb, "--rpc-url", &self.url]).args(rest).output().expect("cast runs")
    }

    /// What cast prints.
    fn run(&self, args: &[&str]) -> String {
        let output = self.output(args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cast {args:?} on {}: {stderr}", self.url);
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }

    /// What cast prints as JSON.
    fn json(&self, args: &[&str]) -> Value {
        let text = self.run(&[&args[..1], &["--json"], &args[1..]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("cast {args:?}: {error}: {text}"))
    }

    /// What cast says when it fails.
    fn failure(&self, args: &[&str]) -> String {
        let output = self.output(args);
        assert!(!output.status.success(), "cast {args:?} went well");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Sends from an account; gives the receipt that cast waited for.
    fn send(&self, account: usize, args: &[&str]) -> Value {
        let key = self.served.accounts[account].key().to_string();
        self.json(&[&["send", "--private-key", &key], args].concat())
    }

    fn address(&self, account: usize) -> Address {
        self.served.accounts[account].address()
    }

    /// Puts a contract on the chain by cast.
    fn create(&self, init_code: &[u8]) -> Address {
        let code = alloy_primitives::hex::encode_prefixed(init_code);
        let receipt = self.send(0, &["--create", &code]);
        serde_json::from_value(receipt["contractAddress"].clone()).unwrap()
    }
}

fn hash_of(receipt: &Value) -> B256 {
    serde_json::from_value(receipt["transactionHash"].clone()).unwrap()
}
