//! Anvil and the devnet, side by side.

use serde_json::{Value, json};

use super::script::Sent;
use crate::clients::peer::Peer;
use crate::clients::served::Served;
use windlass_testkit::foundry::Anvil;

/// Makes anvil the chain that the devnet is by default. Its base fee is that of block 1, since
/// it does not apply EIP-1559 to its genesis block; first come, first served is how the
/// devnet orders equal tips too.
const ANVIL_OPTIONS: [&str; 13] = [
    "--hardfork",
    "prague",
    "--no-mining",
    "--order",
    "fifo",
    "--chain-id",
    "31337",
    "--gas-limit",
    "30000000",
    "--base-fee",
    "875000000",
    "--timestamp",
    "1700000000",
];

pub(super) struct Pair {
    pub(super) theirs: Peer,
    pub(super) ours: Peer,
    served: Served,
    _anvil: Anvil,
}

impl Pair {
    pub(super) async fn start() -> Self {
        let anvil = Anvil::start(&ANVIL_OPTIONS);
        let served = Served::manual().await;
        let (theirs, ours) = (Peer::new(anvil.url.clone()), Peer::new(served.server.http_url()));
        Self { theirs, ours, served, _anvil: anvil }
    }

    /// Sends a transaction to both.
    pub(super) async fn send(&self, sent: &Sent) {
        let params = json!([sent.raw]);
        let theirs = self.theirs.answer("eth_sendRawTransaction", params.clone()).await;
        let ours = self.ours.answer("eth_sendRawTransaction", params).await;
        assert!(
            theirs == ours && ours.get("error").is_none(),
            "{}: anvil {theirs}, devnet {ours}",
            sent.kind
        );
    }

    /// Makes a block on both, at the same time of day.
    pub(super) async fn mine(&self) {
        let block = self.served.chain.mine();
        self.theirs.result("evm_setNextBlockTimestamp", json!([block.header.timestamp])).await;
        self.theirs.result("evm_mine", json!([])).await;
    }

    pub(super) async fn play(&self, block: &[Sent]) {
        for sent in block {
            self.send(sent).await;
        }
        self.mine().await;
    }

    /// All that can be asked about a block, from anvil and from the devnet.
    pub(super) async fn observe(&self, number: u64) -> (Value, Value) {
        (observe(&self.theirs, number).await, observe(&self.ours, number).await)
    }

    /// Both's answers to the same questions, by question.
    pub(super) async fn ask(&self, questions: &[(&str, Value)]) -> (Value, Value) {
        (ask(&self.theirs, questions).await, ask(&self.ours, questions).await)
    }
}

async fn observe(peer: &Peer, number: u64) -> Value {
    let quantity = format!("{number:#x}");
    let block = peer.result("eth_getBlockByNumber", json!([quantity, true])).await;
    let (mut transactions, mut alone) = (Vec::new(), Vec::new());
    for transaction in block["transactions"].as_array().unwrap() {
        transactions.push(peer.result("eth_getTransactionByHash", json!([transaction["hash"]])).await);
        alone.push(peer.result("eth_getTransactionReceipt", json!([transaction["hash"]])).await);
    }
    json!({
        "receipts": peer.result("eth_getBlockReceipts", json!([quantity])).await,
        "receiptsAlone": alone,
        "transactions": transactions,
        "logs": peer.result("eth_getLogs", json!([{"fromBlock": quantity, "toBlock": quantity}])).await,
        "logsByHash": peer.result("eth_getLogs", json!([{"blockHash": block["hash"]}])).await,
        "block": block,
    })
}

async fn ask(peer: &Peer, questions: &[(&str, Value)]) -> Value {
    let mut answers = serde_json::Map::new();
    for (method, params) in questions {
        answers.insert(format!("{method} {params}"), peer.answer(method, params.clone()).await);
    }
    Value::Object(answers)
}
