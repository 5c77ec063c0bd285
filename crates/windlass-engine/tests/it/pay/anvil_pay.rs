//! The vault on anvil, another implementation of a chain, through the real adapter: with its
//! own words, its own pool, and reorgs that forget transactions.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::{SolCall, SolValue};
use serde_json::{Value as Json, json};
use windlass_chain::evm::{EvmPool, PoolOptions};
use windlass_core::chain::ChainId;
use windlass_core::finality::Finality;
use windlass_core::money::NATIVE_COIN;
use windlass_core::name::Owner;
use windlass_core::payout::ledger::{Attempt, Payout};
use windlass_core::payout::request::{IdempotencyKey, PayoutId, PayoutRequest, VaultRef};
use windlass_core::payout::signer::Signer;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{AuditQuery, PayoutQuery};
use windlass_core::payout::submit::TransactionChain;
use windlass_core::payout::vault::event::{VaultEvent, filter};
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, ChainReader, LogSpan};
use windlass_core::store::Store;
use windlass_devnet::chain::{DevAccount, dev_accounts};
use windlass_engine::pay::desk::Desk;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::options::{Confirmation, PayOptions};
use windlass_engine::pay::payer::{Payer, PayerParts};
use windlass_engine::pay::submit::{Submitted, Submitter};
use windlass_engine::pay::track::Tracker;
use windlass_store_sqlite::{SqliteOptions, SqliteStore};
use windlass_testkit::clock::ManualClock;
use windlass_testkit::foundry::Anvil;

use super::direct::Calm;
use super::world::{AUDIT_KEY, DevSigner, Process, TOKEN, VAULT, balanceOfCall, mintCall, setTokenCall};

/// So deep a block is final.
const FINALITY: u64 = 6;

struct Stage {
    anvil: Anvil,
    client: reqwest::Client,
    pool: Arc<EvmPool>,
    store: Arc<dyn Store>,
    clock: Arc<ManualClock>,
    token: Address,
    vault: VaultRef,
}

impl Stage {
    async fn set() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let anvil = Anvil::start(&["--no-mining"]);
        let chain = ChainId::new(31_337).expect("an id");
        let pool = EvmPool::new(&[&anvil.url], chain, PoolOptions::default()).expect("a pool");
        let clock = Arc::new(ManualClock::new());
        let store =
            SqliteStore::open(SqliteOptions::memory().with_clock(clock.clone())).await.expect("a store");
        let nowhere = VaultRef { chain, address: Address::ZERO };
        let mut stage = Self {
            anvil,
            client: reqwest::Client::new(),
            pool: Arc::new(pool),
            store: Arc::new(store),
            clock,
            token: Address::ZERO,
            vault: nowhere,
        };
        stage.deploy().await;
        stage
    }

    async fn deploy(&mut self) {
        let address = |number: usize| dev_accounts()[number].address();
        let name = ("Demo Dollar".to_owned(), "DUSD".to_owned(), U256::from(6)).abi_encode_params();
        self.token = self.make(TOKEN, &name).await;
        let parts = (address(0), address(1), address(0), address(9), Address::ZERO, U256::from(3_600))
            .abi_encode_params();
        self.vault.address = self.make(VAULT, &parts).await;
        let (token, none) = (self.token, U256::ZERO);
        let rules = setTokenCall { token, enabled: true, payoutLimit: none, dayLimit: none };
        self.act(self.vault.address, rules.abi_encode().into()).await;
        let mint = mintCall { to: self.vault.address, amount: U256::from(1_000_000) };
        self.act(token, mint.abi_encode().into()).await;
        self.mine(FINALITY + 1).await;
    }

    /// From here on the chain's own coin is paid, which the vault is given, in the place of the token.
    async fn of_coin(mut self) -> Self {
        let (token, none) = (NATIVE_COIN, U256::ZERO);
        let rules = setTokenCall { token, enabled: true, payoutLimit: none, dayLimit: none };
        self.act(self.vault.address, rules.abi_encode().into()).await;
        let from = dev_accounts()[0].address();
        let funds = json!({"from": from, "to": self.vault.address, "value": "0xf4240", "gas": "0xc350"});
        self.sent(funds).await;
        self.token = NATIVE_COIN;
        self.mine(FINALITY + 1).await;
        self
    }

    async fn rpc(&self, method: &str, params: Json) -> Json {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let request = self.client.post(&self.anvil.url).header("content-type", "application/json").body(body);
        let text = request.send().await.expect("anvil answers").text().await.expect("a body");
        let answer: Json = serde_json::from_str(&text).expect("json");
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    async fn mine(&self, blocks: u64) {
        for _ in 0..blocks {
            self.rpc("evm_mine", json!([])).await;
        }
    }

    /// A transaction of the first account, mined; its receipt.
    async fn sent(&self, transaction: Json) -> Json {
        let hash = self.rpc("eth_sendTransaction", json!([transaction])).await;
        self.mine(1).await;
        let receipt = self.rpc("eth_getTransactionReceipt", json!([hash])).await;
        assert_eq!(receipt["status"], "0x1", "{receipt}");
        receipt
    }

    async fn act(&self, to: Address, data: Bytes) {
        let from = dev_accounts()[0].address();
        self.sent(json!({"from": from, "to": to, "data": data, "gas": "0x100000"})).await;
    }

    async fn make(&self, artifact: &str, arguments: &[u8]) -> Address {
        let artifact: Json = serde_json::from_str(artifact).expect("json");
        let code: Bytes = serde_json::from_value(artifact["bytecode"].clone()).expect("bytes");
        let data = Bytes::from([code.as_ref(), arguments].concat());
        let from = dev_accounts()[0].address();
        let receipt = self.sent(json!({"from": from, "data": data, "gas": "0x1000000"})).await;
        serde_json::from_value(receipt["contractAddress"].clone()).expect("an address")
    }

    fn options(&self, batch: usize) -> Arc<PayOptions> {
        Arc::new(PayOptions {
            batch,
            finality: Finality::Depth(FINALITY),
            confirmation: Confirmation::Blocks(3),
            lease_ttl: Duration::from_secs(30),
            ..PayOptions::new(self.vault)
        })
    }

    fn process(&self, name: &str, batch: usize) -> Process {
        let account: DevAccount = dev_accounts().swap_remove(1);
        let signer: Arc<dyn Signer> = Arc::new(DevSigner(account, Arc::new(Calm)));
        let ledger = Ledger::new(self.store.clone(), AUDIT_KEY);
        let payer = Payer::new(PayerParts {
            ledger: ledger.clone(),
            chain: self.pool.clone(),
            signers: vec![signer.clone()],
            risk_signer: None,
            options: self.options(batch),
            owner: Owner::new(name).expect("a name"),
        });
        let payer = payer.expect("a payer");
        Process {
            ledger,
            submitters: vec![Submitter::new(payer.clone(), signer)],
            tracker: Tracker::new(payer.clone()),
            payer,
        }
    }

    async fn approved(&self, key: &str, amount: u64) -> PayoutId {
        self.approved_to(key, Address::left_padding_from(&keccak256(key)[..8]), amount).await
    }

    async fn approved_to(&self, key: &str, to: Address, amount: u64) -> PayoutId {
        let random = keccak256(key);
        let random = u128::from_be_bytes(random[..16].try_into().expect("sixteen"));
        let ledger = Ledger::new(self.store.clone(), AUDIT_KEY);
        let desk = Desk::new(ledger, self.options(1), Arc::new(move || random));
        let desk = desk.expect("a desk");
        let request = PayoutRequest {
            vault: self.vault,
            token: self.token,
            to,
            amount: U256::from(amount),
            key: IdempotencyKey::new(key).expect("a key"),
        };
        let id = desk.create(&[request], "asker").await.expect("asked")[0].payout.id;
        desk.approve(id, "boss").await.expect("approved");
        id
    }

    async fn payout(&self, id: PayoutId) -> Payout {
        self.store.payouts(&[id]).await.expect("read").pop().expect("there")
    }

    async fn attempts(&self, id: PayoutId) -> Vec<Attempt> {
        let intent = self.payout(id).await.intent.expect("submitted");
        self.store.attempts(intent).await.expect("read")
    }

    async fn is_pooled(&self, hash: B256) -> bool {
        !self.rpc("eth_getTransactionByHash", json!([hash])).await.is_null()
    }

    async fn drop_from_pool(&self, hash: B256) {
        self.rpc("anvil_dropTransaction", json!([hash])).await;
        assert!(!self.is_pooled(hash).await);
    }

    /// What was said last to whatever was sent.
    async fn last_answers(&self) -> String {
        let query = AuditQuery { subject: None, after: 0, limit: 1_000 };
        let rows = self.store.audit_rows(&query).await.expect("read");
        let sent = rows.into_iter().rev().find(|row| row.entry.action == "attempt.sent");
        sent.expect("something was sent").entry.detail
    }

    /// Steps and mines until everything is in the state, or too long.
    async fn until(&self, process: &mut Process, is_done: impl Fn(&Payout) -> bool) {
        for _ in 0..40 {
            self.look(process).await;
            let query = PayoutQuery { limit: 100, ..PayoutQuery::default() };
            let payouts = self.store.list_payouts(&query).await.expect("read");
            if payouts.iter().all(&is_done) {
                return;
            }
            self.mine(1).await;
        }
        panic!("it takes too long");
    }

    async fn look(&self, process: &mut Process) {
        self.clock.advance_ms(5_000);
        process.submitters[0].step().await.expect("stepped");
        process.tracker.step().await.expect("looked");
    }

    /// Every payment that the vault tells of: key and amount.
    async fn payments(&self) -> Vec<(B256, U256)> {
        let head = self.pool.header(BlockTag::Latest).await.expect("asked").expect("a block");
        let range = BlockRange { from: 0, to: head.block.number };
        let logs = self.pool.logs(LogSpan::Range(range), &filter(self.vault.address)).await.expect("logs");
        let mut payments = Vec::new();
        for log in logs {
            if let Some(VaultEvent::PayoutExecuted(paid)) = VaultEvent::read(self.vault, &log).expect("read")
            {
                payments.push((paid.request_id, paid.amount));
            }
        }
        payments
    }

    async fn balance(&self, owner: Address) -> U256 {
        if self.token == NATIVE_COIN {
            return self.pool.balance(owner, BlockTag::Latest).await.expect("a balance");
        }
        let call =
            json!([{"to": self.token, "data": Bytes::from(balanceOfCall { owner }.abi_encode())}, "latest"]);
        let bytes: Bytes = serde_json::from_value(self.rpc("eth_call", call).await).expect("bytes");
        U256::from_be_slice(&bytes)
    }

    /// Each was paid once, as asked.
    async fn agrees(&self, ids: &[PayoutId]) {
        let payments = self.payments().await;
        assert_eq!(payments.len(), ids.len(), "{payments:?}");
        for id in ids {
            let Payout { request, state, .. } = self.payout(*id).await;
            assert_eq!(state, PayoutState::Confirmed);
            assert!(payments.contains(&(request.request_id(), request.amount)));
            assert_eq!(self.balance(request.to).await, request.amount);
        }
    }
}

#[tokio::test]
async fn every_payout_is_paid_once_through_drops_bumps_reorgs_and_a_restart() {
    let stage = Stage::set().await;
    let mut process = stage.process("one", 1);
    let first = stage.approved("invoice-1", 25).await;
    stage.look(&mut process).await;
    let original = stage.attempts(first).await.remove(0);
    assert!(stage.is_pooled(original.hash).await);
    // The tracker has sent it a second time: anvil has "already imported" it.
    assert!(stage.last_answers().await.contains("known"), "{}", stage.last_answers().await);

    stage.drop_from_pool(original.hash).await;
    stage.look(&mut process).await;
    assert!(stage.is_pooled(original.hash).await, "the stored bytes were sent again");
    assert_eq!(stage.attempts(first).await.len(), 1);

    // Lost while blocks go by: more is offered, under the same nonce.
    stage.drop_from_pool(original.hash).await;
    stage.mine(4).await;
    stage.look(&mut process).await;
    let attempts = stage.attempts(first).await;
    assert_eq!(attempts.len(), 2);
    assert!(stage.is_pooled(attempts[1].hash).await);

    stage.until(&mut process, |payout| payout.state == PayoutState::Confirmed).await;
    let inclusion = stage.payout(first).await.inclusion.expect("paid");
    assert_eq!(inclusion.transaction, attempts[1].hash);

    // The block goes, and anvil forgets the transaction with it.
    let head = stage.pool.header(BlockTag::Latest).await.expect("asked").expect("a block").block.number;
    stage.rpc("anvil_reorg", json!([head - inclusion.block.number + 1, []])).await;
    assert!(stage.payments().await.is_empty());
    drop(process);

    // Another process, which sends many together, comes upon what the first has left.
    stage.clock.advance_ms(61_000);
    let mut process = stage.process("two", 10);
    process.tracker.step().await.expect("looked");
    assert_eq!(stage.payout(first).await.state, PayoutState::Submitted);
    let mut ids = vec![first];
    for number in 2..6 {
        ids.push(stage.approved(&format!("invoice-{number}"), 10 * number).await);
    }
    stage.clock.advance_ms(5_000);
    let done = process.submitters[0].step().await.expect("submitted");
    assert!(matches!(done, Submitted::Worked { transactions: 1, payouts: 4, .. }), "{done:?}");
    stage.until(&mut process, |payout| payout.finalized_at.is_some()).await;
    stage.agrees(&ids).await;
}

/// A bump while the original waits: anvil takes it in its place, and one of them is mined.
#[tokio::test]
async fn a_bump_takes_the_place_of_its_original() {
    let stage = Stage::set().await;
    let mut process = stage.process("one", 1);
    let id = stage.approved("invoice-1", 25).await;
    stage.look(&mut process).await;
    let original = stage.attempts(id).await.remove(0);
    stage.drop_from_pool(original.hash).await;
    stage.mine(4).await;
    stage.pool.send(&original.raw).await;
    stage.look(&mut process).await;
    let attempts = stage.attempts(id).await;
    assert_eq!(attempts.len(), 2);
    assert!(attempts[1].fees.max_fee > original.fees.max_fee);
    assert!(stage.is_pooled(attempts[1].hash).await);
    assert!(!stage.is_pooled(original.hash).await, "another has its place");
    stage.until(&mut process, |payout| payout.finalized_at.is_some()).await;
    stage.agrees(&[id]).await;
}

/// The chain's own coin, alone and in a batch, and a recipient that does not take it: the token's
/// contract, which anvil says so of in words of its own.
#[tokio::test]
async fn the_coin_is_paid_and_a_recipient_that_refuses_it_is_named() {
    let stage = Stage::set().await;
    let refusing = stage.token;
    let stage = stage.of_coin().await;
    let mut process = stage.process("one", 10);
    let mut ids = vec![stage.approved("invoice-1", 25).await];
    stage.until(&mut process, |payout| payout.finalized_at.is_some()).await;
    for number in 2..5 {
        ids.push(stage.approved(&format!("invoice-{number}"), 10 * number).await);
    }
    let refused = stage.approved_to("refused", refusing, 7).await;
    stage.clock.advance_ms(5_000);
    let done = process.submitters[0].step().await.expect("submitted");
    assert_eq!(done, Submitted::Worked { transactions: 1, payouts: 3, held: 1, ended: 0 });
    let reason = stage.payout(refused).await.hold.expect("a reason").reason;
    assert!(reason.contains(&format!("CoinTransferFailed: {refusing} refuses the chain's coin")), "{reason}");
    let is_done = |payout: &Payout| payout.finalized_at.is_some() || payout.request.to == refusing;
    stage.until(&mut process, is_done).await;
    stage.agrees(&ids).await;
}
