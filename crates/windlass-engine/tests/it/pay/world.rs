//! A vault on a chain, a store, and whoever pays.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::{SolCall, SolValue, sol};
use async_trait::async_trait;
use windlass_core::chain::ChainId;
use windlass_core::finality::Finality;
use windlass_core::name::Owner;
use windlass_core::payout::audit::{AuditHead, AuditKey};
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::{BudgetKey, Payout};
use windlass_core::payout::request::{IdempotencyKey, PayoutId, PayoutRequest, VaultRef};
use windlass_core::payout::signer::{Signature, Signer, SignerError, SignerErrorKind};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{AuditQuery, MAX_PAYOUT_PAGE, PayoutQuery};
use windlass_core::payout::vault::event::{VaultEvent, filter};
use windlass_core::range::BlockRange;
use windlass_core::reader::{ChainError, ChainReader, LogSpan};
use windlass_core::store::Store;
use windlass_devnet::chain::{Chain, ChainOptions, DevAccount};
use windlass_devnet::node::Node;
use windlass_engine::pay::desk::{Asked, Desk};
use windlass_engine::pay::options::{Confirmation, PayOptions};
use windlass_engine::pay::payer::{Payer, PayerParts};
use windlass_engine::pay::submit::Submitter;
use windlass_engine::pay::track::Tracker;
use windlass_testkit::clock::ManualClock;

use super::direct::{Calm, ChainHook, Direct};
use crate::database::{Database, Kind};

sol! {
    function setToken(address token, bool enabled, uint256 payoutLimit, uint256 dayLimit);
    function mint(address to, uint256 amount);
    function balanceOf(address owner) returns (uint256);
    function pause();
    function paused() returns (bool);
    function unpause();
    function setDenied(address account, bool denied);
    function cancelRequest(bytes32 requestId, address token, address to, uint256 amount);
    function grantRole(bytes32 role, address account);
}

const VAULT: &str = include_str!("../../../../../contracts/artifacts/SettlementVault.json");
const TOKEN: &str = include_str!("../../../../../contracts/artifacts/DemoToken.json");

/// What the vault has of the token.
pub(crate) const FUNDS: u64 = 1_000_000;
/// So deep a block is final.
pub(crate) const FINALITY: u64 = 6;
/// The log's key.
pub(crate) const AUDIT_KEY: AuditKey = AuditKey::new([9; 32]);

/// A key of the devnet's as a signer.
pub(crate) struct DevSigner(pub(crate) DevAccount, pub(crate) Arc<dyn ChainHook>);

#[async_trait]
impl Signer for DevSigner {
    fn address(&self) -> Address {
        self.0.address()
    }

    async fn sign_hash(&self, hash: B256) -> Result<Signature, SignerError> {
        let away = |error: ChainError| SignerError::new(SignerErrorKind::Unreachable, error.message);
        self.1.before("sign").await.map_err(away)?;
        let key = PrivateKeySigner::from_bytes(&self.0.key()).expect("a key");
        let signature = key.sign_hash_sync(&hash).expect("signed");
        self.1.after("sign").await.map_err(away)?;
        Ok(signature)
    }
}

pub(crate) struct World {
    pub(crate) chain: Chain,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) vault: VaultRef,
    pub(crate) token: Address,
    pub(crate) options: Arc<PayOptions>,
    pub(crate) sent: Arc<Mutex<Vec<Bytes>>>,
    /// Transactions that are told of as mined at a height, and are not.
    pub(crate) lies: Arc<Mutex<BTreeMap<B256, (u64, bool)>>>,
    random: Arc<AtomicU64>,
    added: AtomicU64,
    _database: Database,
}

/// Whoever pays: as much as one process has.
pub(crate) struct Process {
    pub(crate) submitters: Vec<Submitter>,
    pub(crate) tracker: Tracker,
}

impl World {
    pub(crate) async fn new(kind: Kind, change: impl FnOnce(&mut PayOptions)) -> Self {
        let options = ChainOptions { finality_depth: FINALITY, ..ChainOptions::deterministic() };
        let chain = Chain::new(options);
        let accounts = chain.accounts();
        let (admin, operator) = (accounts[0].address(), accounts[1].address());
        let name = ("Demo Dollar".to_owned(), "DUSD".to_owned(), U256::from(6)).abi_encode_params();
        let token = deploy(&chain, &accounts[0], TOKEN, &name);
        let parts = (admin, operator, admin, accounts[9].address(), Address::ZERO, U256::from(3_600));
        let address = deploy(&chain, &accounts[0], VAULT, &parts.abi_encode_params());
        let vault = VaultRef { chain: ChainId::new(chain.chain_id()).expect("an id"), address };
        let mut options = PayOptions::new(vault);
        options.tokens = BTreeMap::from([(token, "DUSD".to_owned())]);
        options.finality = Finality::Finalized;
        options.confirmation = Confirmation::Blocks(3);
        options.lease_ttl = Duration::from_secs(30);
        change(&mut options);
        let clock = Arc::new(ManualClock::new());
        let (database, store) = Database::open(kind, clock.clone()).await;
        let world = Self {
            chain,
            clock,
            store,
            vault,
            token,
            options: Arc::new(options),
            sent: Arc::default(),
            lies: Arc::default(),
            random: Arc::default(),
            added: AtomicU64::new(0),
            _database: database,
        };
        let no_limit = U256::ZERO;
        world.act(
            0,
            address,
            &setTokenCall { token, enabled: true, payoutLimit: no_limit, dayLimit: no_limit },
        );
        world.act(0, token, &mintCall { to: address, amount: U256::from(FUNDS) });
        for other in [2, 3] {
            let role = alloy_primitives::keccak256("OPERATOR_ROLE");
            world.act(0, address, &grantRoleCall { role, account: accounts[other].address() });
        }
        world.chain.mine_many(FINALITY + 2);
        world
    }

    /// The same chain and vault with another database.
    pub(crate) async fn restored(&self) -> Self {
        let (database, store) = Database::open(Kind::Sqlite, self.clock.clone()).await;
        Self {
            chain: self.chain.clone(),
            clock: self.clock.clone(),
            store,
            vault: self.vault,
            token: self.token,
            options: self.options.clone(),
            sent: self.sent.clone(),
            lies: self.lies.clone(),
            random: Arc::new(AtomicU64::new(1_000)),
            added: AtomicU64::new(0),
            _database: database,
        }
    }

    /// A transaction of an account, mined at once.
    pub(crate) fn act(&self, account: usize, to: Address, call: &impl SolCall) {
        self.send_as(account, to, call);
        self.chain.mine();
    }

    /// A transaction of an account, which waits to be mined.
    pub(crate) fn send_as(&self, account: usize, to: Address, call: &impl SolCall) -> B256 {
        let sender = self.chain.accounts().swap_remove(account);
        let transaction = TxEip1559 {
            chain_id: self.chain.chain_id(),
            nonce: self.chain.next_nonce(sender.address()),
            gas_limit: 500_000,
            max_fee_per_gas: 100_000_000_000,
            max_priority_fee_per_gas: 2_000_000_000,
            to: TxKind::Call(to),
            input: call.abi_encode().into(),
            ..TxEip1559::default()
        };
        self.chain.send(sender.sign(transaction).expect("signed")).expect("taken")
    }

    pub(crate) fn desk(&self) -> Desk {
        let random = self.random.clone();
        let next = move || u128::from(random.fetch_add(1, Ordering::SeqCst));
        Desk::new(self.store.clone(), self.options.clone(), AUDIT_KEY, Arc::new(next)).expect("a desk")
    }

    pub(crate) fn request(&self, key: &str, amount: u64) -> PayoutRequest {
        let to = Address::left_padding_from(&alloy_primitives::keccak256(key)[..8]);
        PayoutRequest {
            vault: self.vault,
            token: self.token,
            to,
            amount: U256::from(amount),
            key: IdempotencyKey::new(key).expect("a key"),
        }
    }

    /// A payout that was asked for and approved.
    pub(crate) async fn approved(&self, key: &str, amount: u64) -> PayoutId {
        let asked = Asked { request: self.request(key, amount), retry_of: None };
        let desk = self.desk();
        let id = desk.create(&[asked], "asker").await.expect("asked")[0].payout.id;
        let approved = desk.approve(id, "boss").await.expect("approved");
        assert_eq!(approved.payout.state, PayoutState::Approved, "{approved:?}");
        id
    }

    pub(crate) fn direct(&self, hook: Arc<dyn ChainHook>) -> Arc<Direct> {
        Arc::new(Direct { chain: self.chain.clone(), hook, sent: self.sent.clone(), lies: self.lies.clone() })
    }

    /// A process with one signing account.
    pub(crate) fn process(&self, name: &str) -> Process {
        self.process_of(name, self.store.clone(), Arc::new(Calm), 1)
    }

    pub(crate) fn process_of(
        &self,
        name: &str,
        store: Arc<dyn Store>,
        hook: Arc<dyn ChainHook>,
        signers: usize,
    ) -> Process {
        let accounts = self.chain.accounts().into_iter().skip(1).take(signers);
        let signers: Vec<Arc<dyn Signer>> =
            accounts.map(|account| Arc::new(DevSigner(account, hook.clone())) as Arc<dyn Signer>).collect();
        let payer = Payer::new(PayerParts {
            store,
            chain: self.direct(hook),
            signers: signers.clone(),
            risk_signer: None,
            audit_key: AUDIT_KEY,
            options: self.options.clone(),
            owner: Owner::new(name).expect("a name"),
        });
        let payer = payer.expect("a payer");
        let submitters = signers.into_iter().map(|signer| Submitter::new(payer.clone(), signer)).collect();
        Process { submitters, tracker: Tracker::new(payer) }
    }

    pub(crate) async fn payout(&self, id: PayoutId) -> Payout {
        self.store.payouts(&[id]).await.expect("read").pop().expect("there")
    }

    pub(crate) async fn payouts(&self) -> Vec<Payout> {
        let query = PayoutQuery { limit: MAX_PAYOUT_PAGE, ..PayoutQuery::default() };
        self.store.list_payouts(&query).await.expect("read")
    }

    pub(crate) fn balance(&self, of: Address) -> U256 {
        self.ask(self.token, &balanceOfCall { owner: of })
    }

    pub(crate) fn is_paused(&self) -> bool {
        !self.ask(self.vault.address, &pausedCall {}).is_zero()
    }

    /// What a contract answers, as a number.
    fn ask(&self, contract: Address, call: &impl SolCall) -> U256 {
        let data = Bytes::from(call.abi_encode());
        let params = serde_json::json!([{"to": contract, "data": data}, "latest"]);
        let raw = serde_json::value::to_raw_value(&params).expect("json");
        let answer = self.chain.call("eth_call", Some(&raw)).expect("called");
        let bytes: Bytes = serde_json::from_slice(&answer).expect("bytes");
        U256::from_be_slice(&bytes)
    }

    /// Every payment that the vault tells of, on the canonical chain.
    pub(crate) async fn payments(&self) -> Vec<(B256, Address, U256)> {
        let direct = self.direct(Arc::new(Calm));
        let range = BlockRange { from: 0, to: self.chain.head().number() };
        let logs = direct.logs(LogSpan::Range(range), &filter(self.vault.address)).await.expect("logs");
        let mut payments = Vec::new();
        for log in logs {
            if let Some(VaultEvent::PayoutExecuted(paid)) = VaultEvent::read(self.vault, &log).expect("read")
            {
                payments.push((paid.request_id, paid.to, paid.amount));
            }
        }
        payments
    }

    /// Steps and mines until nothing is left to do, or too long.
    pub(crate) async fn drive(&self, process: &mut Process, rounds: usize) {
        for _ in 0..rounds {
            self.round(process).await;
            if self.is_settled().await {
                return;
            }
        }
        panic!("not settled after {rounds} rounds: {:#?}", self.payouts().await);
    }

    /// One round of a process: what it can do now, then a block and a while.
    pub(crate) async fn round(&self, process: &mut Process) {
        for submitter in &mut process.submitters {
            // Trouble passes; what counts is how it ends.
            let _ = submitter.step().await;
        }
        let _ = process.tracker.step().await;
        self.chain.mine();
        self.clock.advance_ms(3_000);
    }

    /// Whether every payout has come to an end that nothing can change.
    pub(crate) async fn is_settled(&self) -> bool {
        self.payouts().await.iter().all(|payout| {
            payout.state.is_end() || payout.state == PayoutState::PendingRisk || payout.finalized_at.is_some()
        })
    }

    /// What must hold at the end, whatever happened: store, vault and balances agree, nothing
    /// was paid twice, the log is one chain.
    pub(crate) async fn agrees(&self) {
        let payments = self.payments().await;
        let mut ids: Vec<B256> = payments.iter().map(|(id, ..)| *id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), payments.len(), "a request was paid twice");
        let mut paid = U256::ZERO;
        for payout in self.payouts().await {
            let request = &payout.request;
            let payment = payments.iter().find(|(id, ..)| *id == request.request_id());
            assert_eq!(payout.state == PayoutState::Confirmed, payment.is_some(), "{payout:#?}");
            if let Some((_, to, amount)) = payment {
                assert_eq!((*to, *amount), (request.to, request.amount));
                assert_eq!(self.balance(*to), *amount, "every recipient is paid once");
                paid += *amount;
            }
        }
        assert_eq!(self.balance(self.vault.address), U256::from(FUNDS) + self.added() - paid);
        self.budgets_agree().await;
        self.log_is_whole().await;
    }

    /// What the vault was given later.
    fn added(&self) -> U256 {
        U256::from(self.added.load(Ordering::SeqCst))
    }

    /// Gives the vault more.
    pub(crate) fn add(&self, amount: u64) {
        self.act(0, self.token, &mintCall { to: self.vault.address, amount: U256::from(amount) });
        self.added.fetch_add(amount, Ordering::SeqCst);
    }

    /// Every day's sum is that of the payouts which it is held for, of all and of each recipient.
    pub(crate) async fn budgets_agree(&self) {
        let mut sums: BTreeMap<BudgetKey, U256> = BTreeMap::new();
        let payouts = self.payouts().await;
        let first = UtcDay(ManualClock::START_MS / 86_400_000);
        let days: Vec<UtcDay> = (first.0..=self.clock.now_ms() / 86_400_000).map(UtcDay).collect();
        for payout in &payouts {
            for (day, to) in days.iter().flat_map(|day| [(*day, None), (*day, Some(payout.request.to))]) {
                let key = BudgetKey { vault: self.vault, token: self.token, day, to };
                let sum = sums.entry(key).or_default();
                if payout.budget_day == Some(day) {
                    *sum += payout.request.amount;
                }
            }
        }
        let keys: Vec<BudgetKey> = sums.keys().copied().collect();
        for part in keys.chunks(500) {
            for budget in self.store.budgets(part).await.expect("read") {
                assert_eq!(budget.total, sums[&budget.key], "{budget:?}");
            }
        }
    }

    pub(crate) async fn log_is_whole(&self) {
        let mut head = AuditHead::default();
        loop {
            let query = AuditQuery { subject: None, after: head.seq, limit: 1_000 };
            let rows = self.store.audit_rows(&query).await.expect("read");
            if rows.is_empty() {
                break;
            }
            for row in &rows {
                head = AUDIT_KEY.follow(head, row).expect("one chain");
            }
        }
        assert_eq!(head, self.store.audit_head().await.expect("read"));
    }
}

fn deploy(chain: &Chain, from: &DevAccount, artifact: &str, arguments: &[u8]) -> Address {
    let artifact: serde_json::Value = serde_json::from_str(artifact).expect("json");
    let bytecode: Bytes = serde_json::from_value(artifact["bytecode"].clone()).expect("bytes");
    let init: Bytes = [bytecode.as_ref(), arguments].concat().into();
    let address = chain.deploy(from, init).expect("deployed");
    chain.mine();
    assert!(!chain.code(address).is_empty(), "it is there");
    address
}
