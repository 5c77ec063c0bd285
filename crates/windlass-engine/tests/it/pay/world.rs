//! A vault on a chain, a store, and whoever pays.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_signer::SignerSync;
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::{SolValue, sol};
use async_trait::async_trait;
use windlass_core::chain::ChainId;
use windlass_core::finality::Finality;
use windlass_core::money::Token;
use windlass_core::name::Owner;
use windlass_core::payout::audit::AuditKey;
use windlass_core::payout::ledger::{Payout, SignerRow};
use windlass_core::payout::request::{IdempotencyKey, PayoutId, PayoutRequest, VaultRef};
use windlass_core::payout::signer::{Signature, Signer, SignerError, SignerErrorKind};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, PayoutQuery};
use windlass_core::payout::vault::event::{VaultEvent, filter};
use windlass_core::range::BlockRange;
use windlass_core::reader::{ChainError, ChainReader, LogSpan};
use windlass_core::store::Store;
use windlass_devnet::chain::{Chain, ChainOptions, DevAccount};
use windlass_engine::pay::desk::Desk;
use windlass_engine::pay::head_file::HeadFile;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::options::{Confirmation, PayOptions};
use windlass_engine::pay::payer::{Payer, PayerParts};
use windlass_engine::pay::resume::{ResumeError, resume};
use windlass_engine::pay::submit::Submitter;
use windlass_engine::pay::track::Tracker;
use windlass_testkit::clock::ManualClock;
use windlass_testkit::hooked::HookedStore;

use super::direct::{Calm, ChainHook, Direct};
use super::overseer::Overseer;
use super::tricks::Tricks;
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
    function raiseApprovalNonce();
    function revokeRiskSigner();
}

pub(crate) const VAULT: &str = include_str!("../../../../../contracts/artifacts/SettlementVault.json");
pub(crate) const TOKEN: &str = include_str!("../../../../../contracts/artifacts/DemoToken.json");

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
    /// What is paid: a token, or the chain's own coin.
    pub(crate) token: Address,
    pub(crate) options: Arc<PayOptions>,
    pub(crate) sent: Arc<Mutex<Vec<Bytes>>>,
    /// What endpoints tell that is not so.
    pub(crate) tricks: Arc<Mutex<Tricks>>,
    /// The account whose key approves payouts, as far as is configured.
    pub(crate) risk_key: Option<usize>,
    /// Whether commits are held against the chain: not where endpoints lie beyond what can be found out.
    pub(crate) is_overseen: bool,
    /// Where the end of the audit log is kept outside the database, if anywhere.
    pub(crate) head_file: Option<HeadFile>,
    random: Arc<AtomicU64>,
    pub(super) given: AtomicU64,
    _keeps: Box<dyn Any + Send + Sync>,
}

/// Whoever pays: as much as one process has.
pub(crate) struct Process {
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) submitters: Vec<Submitter>,
    pub(crate) tracker: Tracker,
    pub(crate) payer: Arc<Payer>,
}

impl World {
    pub(crate) async fn new(kind: Kind, change: impl FnOnce(&mut PayOptions)) -> Self {
        let clock = Arc::new(ManualClock::new());
        let (database, store) = Database::open(kind, clock.clone()).await;
        Self::with(store, database, clock, None, change)
    }

    /// The same with a vault that wants the approval of an account.
    pub(crate) async fn with_risk_signer(account: usize, change: impl FnOnce(&mut PayOptions)) -> Self {
        let clock = Arc::new(ManualClock::new());
        let (database, store) = Database::open(Kind::Sqlite, clock.clone()).await;
        Self::with(store, database, clock, Some(account), change)
    }

    /// The same with another vault's code.
    pub(crate) async fn with_vault(artifact: &str) -> Self {
        let clock = Arc::new(ManualClock::new());
        let (database, store) = Database::open(Kind::Sqlite, clock.clone()).await;
        Self::build(store, database, clock, (None, artifact), |_| {})
    }

    pub(crate) fn with(
        store: Arc<dyn Store>,
        database: impl Any + Send + Sync,
        clock: Arc<ManualClock>,
        risk_key: Option<usize>,
        change: impl FnOnce(&mut PayOptions),
    ) -> Self {
        Self::build(store, database, clock, (risk_key, VAULT), change)
    }

    fn build(
        store: Arc<dyn Store>,
        database: impl Any + Send + Sync,
        clock: Arc<ManualClock>,
        vault: (Option<usize>, &str),
        change: impl FnOnce(&mut PayOptions),
    ) -> Self {
        let options = ChainOptions { finality_depth: FINALITY, ..ChainOptions::deterministic() };
        Self::on_chain(Chain::new(options), store, database, clock, vault, change)
    }

    /// The same database with a chain that began anew: another first block, the same id, accounts,
    /// token and vault.
    pub(crate) fn began_anew(&self) -> Self {
        let genesis_timestamp_s = ChainOptions::default().genesis_timestamp_s + 1_000;
        let options =
            ChainOptions { finality_depth: FINALITY, genesis_timestamp_s, ..ChainOptions::deterministic() };
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let world = Self::on_chain(Chain::new(options), store, (), clock, (self.risk_key, VAULT), |_| {});
        assert_eq!((world.vault, world.token), (self.vault, self.token));
        world.random.store(1_000, Ordering::SeqCst);
        world
    }

    fn on_chain(
        chain: Chain,
        store: Arc<dyn Store>,
        database: impl Any + Send + Sync,
        clock: Arc<ManualClock>,
        (risk_key, artifact): (Option<usize>, &str),
        change: impl FnOnce(&mut PayOptions),
    ) -> Self {
        let accounts = chain.accounts();
        let (admin, operator) = (accounts[0].address(), accounts[1].address());
        let name = ("Demo Dollar".to_owned(), "DUSD".to_owned(), U256::from(6)).abi_encode_params();
        let token = deploy(&chain, &accounts[0], TOKEN, &name);
        let risk_signer = risk_key.map_or(Address::ZERO, |account| accounts[account].address());
        let parts = (admin, operator, admin, accounts[9].address(), risk_signer, U256::from(3_600));
        let address = deploy(&chain, &accounts[0], artifact, &parts.abi_encode_params());
        let vault = VaultRef { chain: ChainId::new(chain.chain_id()).expect("an id"), address };
        let mut options = PayOptions::new(vault);
        let known =
            Token { chain: vault.chain, contract: Some(token), symbol: "DUSD".to_owned(), decimals: 6 };
        options.tokens = BTreeMap::from([(token, known)]);
        options.finality = Finality::Finalized;
        options.confirmation = Confirmation::Blocks(3);
        options.lease_ttl = Duration::from_secs(30);
        change(&mut options);
        let world = Self {
            chain,
            clock,
            store,
            vault,
            token,
            options: Arc::new(options),
            sent: Arc::default(),
            tricks: Arc::default(),
            risk_key,
            is_overseen: true,
            head_file: None,
            random: Arc::default(),
            given: AtomicU64::new(0),
            _keeps: Box::new(database),
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

    /// The same chain and vault with an empty database.
    pub(crate) async fn restored(&self) -> Self {
        let (database, store) = Database::open(Kind::Sqlite, self.clock.clone()).await;
        self.on(store, database)
    }

    /// The same chain and vault with another database.
    pub(crate) fn on(&self, store: Arc<dyn Store>, database: impl Any + Send + Sync) -> Self {
        Self {
            chain: self.chain.clone(),
            clock: self.clock.clone(),
            store,
            vault: self.vault,
            token: self.token,
            options: self.options.clone(),
            sent: self.sent.clone(),
            tricks: self.tricks.clone(),
            risk_key: self.risk_key,
            is_overseen: self.is_overseen,
            head_file: self.head_file.clone(),
            random: Arc::new(AtomicU64::new(1_000)),
            given: AtomicU64::new(self.given.load(Ordering::SeqCst)),
            _keeps: Box::new(database),
        }
    }

    pub(crate) fn desk(&self) -> Desk {
        self.desk_of(self.store.clone())
    }

    pub(crate) fn desk_of(&self, store: Arc<dyn Store>) -> Desk {
        let random = self.random.clone();
        let next = move || u128::from(random.fetch_add(1, Ordering::SeqCst));
        let ledger = Ledger::with_head_file(store, AUDIT_KEY, self.head_file.clone());
        Desk::new(ledger, self.options.clone(), Arc::new(next)).expect("a desk")
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
        let asked = self.request(key, amount);
        let desk = self.desk();
        let id = desk.create(&[asked], "asker").await.expect("asked")[0].payout.id;
        let approved = desk.approve(id, "boss").await.expect("approved");
        assert_eq!(approved.payout.state, PayoutState::Approved, "{approved:?}");
        id
    }

    pub(crate) fn direct(&self, hook: Arc<dyn ChainHook>) -> Arc<Direct> {
        Arc::new(Direct {
            chain: self.chain.clone(),
            hook,
            store: self.store.clone(),
            sent: self.sent.clone(),
            tricks: self.tricks.clone(),
        })
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
        let key_of = |account: usize| {
            Arc::new(DevSigner(self.chain.accounts().swap_remove(account), hook.clone())) as Arc<dyn Signer>
        };
        self.process_signing(name, store, hook.clone(), (1..=signers).map(key_of).collect())
    }

    /// A process with these signing accounts.
    pub(crate) fn process_signing(
        &self,
        name: &str,
        store: Arc<dyn Store>,
        hook: Arc<dyn ChainHook>,
        signers: Vec<Arc<dyn Signer>>,
    ) -> Process {
        let key_of = |account: usize| {
            Arc::new(DevSigner(self.chain.accounts().swap_remove(account), hook.clone())) as Arc<dyn Signer>
        };
        let store = if self.is_overseen {
            let overseer = Overseer::new(self.chain.clone(), self.store.clone());
            Arc::new(HookedStore::new(store, overseer))
        } else {
            store
        };
        let ledger = Ledger::with_head_file(store, AUDIT_KEY, self.head_file.clone());
        let payer = Payer::new(PayerParts {
            ledger: ledger.clone(),
            chain: self.direct(hook.clone()),
            signers: signers.clone(),
            risk_signer: self.risk_key.map(key_of),
            options: self.options.clone(),
            owner: Owner::new(name).expect("a name"),
        });
        let payer = payer.expect("a payer");
        let submitters = signers.into_iter().map(|signer| Submitter::new(payer.clone(), signer)).collect();
        Process { ledger, submitters, tracker: Tracker::new(payer.clone()), payer }
    }

    /// A person lets a halted account sign again.
    pub(crate) async fn resume(&self, account: Address) -> Result<SignerRow, ResumeError> {
        let chain = self.direct(Arc::new(Calm));
        let ledger = Ledger::new(self.store.clone(), AUDIT_KEY);
        resume(&ledger, &*chain, &self.options, account, "boss").await
    }

    pub(crate) async fn payout(&self, id: PayoutId) -> Payout {
        self.store.payouts(&[id]).await.expect("read").pop().expect("there")
    }

    pub(crate) async fn payouts(&self) -> Vec<Payout> {
        let query = PayoutQuery { limit: MAX_PAYOUT_PAGE, ..PayoutQuery::default() };
        self.store.list_payouts(&query).await.expect("read")
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
        self.steps(process).await;
        self.pass_time();
    }

    /// What a process can do now.
    pub(crate) async fn steps(&self, process: &mut Process) {
        for submitter in &mut process.submitters {
            // Trouble passes; what counts is how it ends.
            let _ = submitter.step().await;
        }
        let _ = process.tracker.step().await;
    }

    /// Whether every payout has come to an end that nothing can change.
    pub(crate) async fn is_settled(&self) -> bool {
        self.payouts().await.iter().all(|payout| {
            payout.state.is_end() || payout.state == PayoutState::PendingRisk || payout.finalized_at.is_some()
        })
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
