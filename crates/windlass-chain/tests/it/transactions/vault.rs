//! The vault by the core's calldata, answers, refusals and events, on any chain that mines
//! by itself.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{SolCall, SolConstructor, sol};
use serde::Deserialize;
use windlass_core::chain::BlockRef;
use windlass_core::payout::request::{IdempotencyKey, PayoutRequest, VaultRef};
use windlass_core::payout::submit::{Call, CallOutcome, GasEstimate, TransactionChain};
use windlass_core::payout::vault::{
    Approval, RefusalKind, VaultEvent, VaultPayout, VaultRefusal, VaultStatus, answer, approval, calldata,
    event,
};
use windlass_core::reader::{BlockTag, LogSpan};

use super::payer::Payer;
use crate::served::chain_id;

const VAULT: &str = include_str!("../../../../../contracts/artifacts/SettlementVault.json");
const TOKEN: &str = include_str!("../../../../../contracts/artifacts/DemoToken.json");
/// An hour, the least.
const DELAY_S: u64 = 3_600;
/// Longer than any test.
const FAR_FUTURE_S: u64 = 99_999_999_999;

sol! {
    contract SettlementVault {
        constructor(address admin, address operator, address guardian, address treasury, address riskSigner, uint256 delay);
        function setToken(address token, bool enabled, uint256 payoutLimit, uint256 dayLimit) external;
        function pause() external;
        function unpause() external;
        function deny(address account) external;
        function raiseApprovalNonce() external;
        function cancelRequest(bytes32 requestId, address token, address to, uint256 amount) external;
        function approvalDigest(bytes32 requestId, address token, address to, uint256 amount, uint256 deadline, uint256 nonce) external view returns (bytes32);
    }

    contract DemoToken {
        constructor(string name, string symbol, uint8 decimals);
        function mint(address to, uint256 amount) external;
        function balanceOf(address account) external view returns (uint256);
    }
}

#[derive(Deserialize)]
struct Artifact {
    bytecode: Bytes,
}

fn init_code(artifact: &str, arguments: &[u8]) -> Bytes {
    let artifact: Artifact = serde_json::from_str(artifact).expect("an artifact");
    [artifact.bytecode.as_ref(), arguments].concat().into()
}

/// A vault with a thousand of a token, of which a payout may take 500 and a day 700.
struct Scene<'a> {
    chain: &'a dyn TransactionChain,
    admin: Payer,
    operator: Payer,
    token: Address,
    vault: Address,
}

impl<'a> Scene<'a> {
    async fn new(chain: &'a dyn TransactionChain, risk_signer: Address) -> Self {
        let (admin, operator) = (Payer::new(0), Payer::new(1));
        let arguments = DemoToken::constructorCall { name: "D".into(), symbol: "D".into(), decimals: 6 };
        let made = admin.act(chain, None, init_code(TOKEN, &arguments.abi_encode())).await;
        let token = made.contract.expect("a token");
        let arguments = SettlementVault::constructorCall {
            admin: admin.address(),
            operator: operator.address(),
            guardian: Address::ZERO,
            treasury: Payer::new(9).address(),
            riskSigner: risk_signer,
            delay: U256::from(DELAY_S),
        };
        let made = admin.act(chain, None, init_code(VAULT, &arguments.abi_encode())).await;
        let scene = Self { chain, admin, operator, token, vault: made.contract.expect("a vault") };
        let block = scene.ask(calldata::deployed_at_block()).await;
        assert_eq!(answer::deployed_at_block(&block), Ok(made.block.number));
        let (limit, day_limit) = (U256::from(500), U256::from(700));
        let rules =
            SettlementVault::setTokenCall { token, enabled: true, payoutLimit: limit, dayLimit: day_limit };
        scene.rule(rules).await;
        let mint = DemoToken::mintCall { to: scene.vault, amount: U256::from(1_000) };
        scene.admin.act(chain, Some(token), mint.abi_encode().into()).await;
        scene
    }

    fn vault(&self) -> VaultRef {
        VaultRef { chain: chain_id(), address: self.vault }
    }

    fn payout(&self, key: &str, amount: u64) -> VaultPayout {
        let request = PayoutRequest {
            vault: self.vault(),
            token: self.token,
            to: Address::repeat_byte(0x55),
            amount: U256::from(amount),
            key: IdempotencyKey::new(key).expect("a key"),
        };
        VaultPayout::from(&request)
    }

    /// What the admin does.
    async fn rule(&self, call: impl SolCall) {
        self.admin.act(self.chain, Some(self.vault), call.abi_encode().into()).await;
    }

    /// What the operator does; the block of it.
    async fn pay(&self, data: Bytes) -> BlockRef {
        self.operator.act(self.chain, Some(self.vault), data).await.block
    }

    async fn simulate(&self, from: &Payer, data: Bytes) -> CallOutcome {
        let call = Call { from: from.address(), to: Some(self.vault), data };
        self.chain.call(&call, BlockTag::Latest).await.expect("an outcome")
    }

    async fn ask(&self, data: Bytes) -> Bytes {
        match self.simulate(&self.operator, data).await {
            CallOutcome::Returned(answer) => answer,
            CallOutcome::Reverted { message, .. } => panic!("{message}"),
        }
    }

    /// Why the vault would not; an estimate must say the same.
    async fn refusal(&self, data: Bytes) -> VaultRefusal {
        let call = Call { from: self.operator.address(), to: Some(self.vault), data: data.clone() };
        let estimate = self.chain.estimate_gas(&call).await.expect("an outcome");
        let GasEstimate::Reverted { data: estimated, .. } = estimate else { panic!("{estimate:?}") };
        match self.simulate(&self.operator, data).await {
            CallOutcome::Reverted { data, message } => {
                assert_eq!(data, estimated);
                VaultRefusal::read(&data, &message)
            }
            CallOutcome::Returned(answer) => panic!("it returned {answer}"),
        }
    }

    async fn status(&self, request_id: B256) -> VaultStatus {
        let answer = self.ask(calldata::request_state(request_id)).await;
        answer::request_state(&answer).expect("a record").status
    }

    /// What the vault said in a block.
    async fn events(&self, block: BlockRef) -> Vec<VaultEvent> {
        let span = LogSpan::Block(block);
        let logs = self.chain.logs(span, &event::filter(self.vault)).await.expect("logs");
        let events = logs.iter().map(|log| VaultEvent::read(self.vault(), log).expect("readable"));
        events.map(|event| event.expect("one of its two")).collect()
    }
}

/// A vault without a risk signer: pays, remembers, says why not.
pub(crate) async fn pays_once_and_says_why_not(chain: &dyn TransactionChain) {
    let scene = Scene::new(chain, Address::ZERO).await;
    assert_eq!(answer::risk_signer(&scene.ask(calldata::risk_signer()).await), Ok(None));
    assert_eq!(answer::approval_required(&scene.ask(calldata::approval_required()).await), Ok(false));
    let first = scene.payout("first", 100);
    assert_eq!(scene.status(first.request_id).await, VaultStatus::Unknown);

    let block = scene.pay(calldata::payout(&first)).await;
    let record = answer::request_state(&scene.ask(calldata::request_state(first.request_id)).await);
    let record = record.expect("a record");
    assert_eq!((record.status, record.block, record.to), (VaultStatus::Paid, block.number, first.to));
    let header = chain.header(BlockTag::Hash(block.hash)).await.expect("an answer").expect("a block");
    assert_eq!(record.settled_at_s, header.block.timestamp_s);
    assert_eq!(scene.events(block).await, [VaultEvent::PayoutExecuted(first)]);
    let balance = Call {
        from: Address::ZERO,
        to: Some(scene.token),
        data: DemoToken::balanceOfCall { account: first.to }.abi_encode().into(),
    };
    let held = chain.call(&balance, BlockTag::Latest).await.expect("an outcome");
    assert_eq!(held, CallOutcome::Returned(B256::from(U256::from(100)).into()));

    let again = scene.refusal(calldata::payout(&first)).await;
    assert_eq!((again.kind, again.request_id), (RefusalKind::AlreadyPaid, Some(first.request_id)));
    refuses(&scene).await;
    batches(&scene, first).await;
}

/// Every kind of refusal that a vault without a risk signer has.
async fn refuses(scene: &Scene<'_>) {
    let other = |amount| calldata::payout(&scene.payout("other", amount));
    let cancelled = scene.payout("cancelled", 5);
    let VaultPayout { request_id, token, to, amount } = cancelled;
    let cancel = SettlementVault::cancelRequestCall { requestId: request_id, token, to, amount };
    let block = scene.admin.act(scene.chain, Some(scene.vault), cancel.abi_encode().into()).await.block;
    let event = VaultEvent::RequestCancelled { payout: cancelled, by: scene.admin.address() };
    assert_eq!(scene.events(block).await, [event]);
    let refusal = scene.refusal(calldata::payout(&cancelled)).await;
    assert_eq!((refusal.kind, refusal.request_id), (RefusalKind::AlreadyCancelled, Some(request_id)));

    let limit = scene.refusal(other(501)).await;
    assert_eq!((limit.kind, limit.name.as_str()), (RefusalKind::Lasting, "PayoutLimitExceeded"));
    let batch = [scene.payout("a", 400), scene.payout("b", 400)];
    let day = scene.refusal(calldata::payout_batch(&batch).expect("a batch")).await;
    assert_eq!((day.kind, day.name.as_str()), (RefusalKind::Passing, "DayLimitExceeded"));
    let stranger = scene.simulate(&scene.admin, other(1)).await;
    let CallOutcome::Reverted { data, message } = stranger else { panic!("{stranger:?}") };
    let stranger = VaultRefusal::read(&data, &message);
    assert_eq!(stranger.name, "AccessControlUnauthorizedAccount");

    scene.rule(SettlementVault::denyCall { account: to }).await;
    let denied = scene.refusal(other(1)).await;
    assert_eq!((denied.kind, denied.name.as_str()), (RefusalKind::Lasting, "RecipientDenied"));
    let free = |amount| {
        let payout = VaultPayout { to: Address::repeat_byte(0x66), ..scene.payout("free", amount) };
        calldata::payout(&payout)
    };
    let unlimited = U256::ZERO;
    let rules =
        SettlementVault::setTokenCall { token, enabled: true, payoutLimit: unlimited, dayLimit: unlimited };
    scene.rule(rules).await;
    let poor = scene.refusal(free(901)).await;
    assert_eq!((poor.kind, poor.name.as_str()), (RefusalKind::Passing, "VaultBalanceTooLow"));
    scene.rule(SettlementVault::pauseCall {}).await;
    assert_eq!(answer::paused(&scene.ask(calldata::paused()).await), Ok(true));
    let paused = scene.refusal(free(1)).await;
    assert_eq!((paused.kind, paused.name.as_str()), (RefusalKind::Passing, "EnforcedPause"));
    scene.rule(SettlementVault::unpauseCall {}).await;
    assert_eq!(answer::paused(&scene.ask(calldata::paused()).await), Ok(false));
}

async fn batches(scene: &Scene<'_>, first: VaultPayout) {
    let to = |byte| Address::repeat_byte(byte);
    let batch = [
        VaultPayout { to: to(1), ..scene.payout("one", 10) },
        VaultPayout { to: to(2), ..scene.payout("two", 20) },
    ];
    let block = scene.pay(calldata::payout_batch(&batch).expect("a batch")).await;
    assert_eq!(scene.events(block).await, batch.map(VaultEvent::PayoutExecuted));
    let ids = [first.request_id, batch[1].request_id, B256::repeat_byte(9)];
    let records = answer::request_states(3, &scene.ask(calldata::request_states(&ids)).await);
    let records = records.expect("three");
    assert_eq!(
        [records[0].status, records[1].status, records[2].status],
        [VaultStatus::Paid, VaultStatus::Paid, VaultStatus::Unknown]
    );
    assert_eq!(records[1].to, to(2));
    let nothing = scene.chain.code(to(3), BlockTag::Latest).await.expect("an answer");
    assert!(nothing.is_empty());
    let call = Call { from: to(1), to: Some(to(3)), data: calldata::paused() };
    let CallOutcome::Returned(empty) = scene.chain.call(&call, BlockTag::Latest).await.expect("an answer")
    else {
        panic!("nobody reverts where nobody is")
    };
    assert!(answer::paused(&empty).is_err(), "there is no vault");
}

/// A vault with a risk signer: what is signed here is what the contract checks.
pub(crate) async fn takes_approvals(chain: &dyn TransactionChain) {
    let signer = Payer::new(4);
    let scene = Scene::new(chain, signer.address()).await;
    assert_eq!(answer::risk_signer(&scene.ask(calldata::risk_signer()).await), Ok(Some(signer.address())));
    let nonce = answer::approval_nonce(&scene.ask(calldata::approval_nonce()).await).expect("a nonce");
    let approve = |payout: &VaultPayout, nonce: u64, deadline_s: u64| {
        let digest = approval::digest(scene.vault(), payout, nonce, deadline_s);
        Approval::new(nonce, deadline_s, &signer.sign(digest))
    };
    let one = scene.payout("one", 10);
    let VaultPayout { request_id, token, to, amount } = one;
    let (deadline, at) = (U256::from(FAR_FUTURE_S), U256::from(nonce));
    let digest =
        SettlementVault::approvalDigestCall { requestId: request_id, token, to, amount, deadline, nonce: at };
    let theirs = scene.ask(digest.abi_encode().into()).await;
    assert_eq!(theirs.as_ref(), approval::digest(scene.vault(), &one, nonce, FAR_FUTURE_S).as_slice());

    let refusal = |approval: Approval| {
        let data = calldata::payout_with_approval(&one, &approval);
        async { scene.refusal(data).await }
    };
    assert_eq!(scene.refusal(calldata::payout(&one)).await.name, "ApprovalRequired");
    let expired = refusal(approve(&one, nonce, 1)).await;
    assert_eq!((expired.kind, expired.name.as_str()), (RefusalKind::NewApproval, "ApprovalExpired"));
    let ahead = refusal(approve(&one, nonce + 1, FAR_FUTURE_S)).await;
    assert_eq!((ahead.kind, ahead.name.as_str()), (RefusalKind::NewApproval, "ApprovalNonceMismatch"));
    let for_another = refusal(approve(&scene.payout("another", 10), nonce, FAR_FUTURE_S)).await;
    assert_eq!((for_another.kind, for_another.name.as_str()), (RefusalKind::Lasting, "ApprovalInvalid"));

    let block = scene.pay(calldata::payout_with_approval(&one, &approve(&one, nonce, FAR_FUTURE_S))).await;
    assert_eq!(scene.events(block).await, [VaultEvent::PayoutExecuted(one)]);
    let many: Vec<(VaultPayout, Approval)> = ["two", "three"]
        .map(|key| scene.payout(key, 7))
        .map(|payout| (payout, approve(&payout, nonce, FAR_FUTURE_S)))
        .to_vec();
    scene.pay(calldata::payout_batch_with_approvals(&many).expect("a batch")).await;
    for (payout, _) in &many {
        assert_eq!(scene.status(payout.request_id).await, VaultStatus::Paid);
    }
    scene.rule(SettlementVault::raiseApprovalNonceCall {}).await;
    let raised = answer::approval_nonce(&scene.ask(calldata::approval_nonce()).await);
    assert_eq!(raised, Ok(nonce + 1));
}
