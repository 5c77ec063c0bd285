//! What no commit may say, whoever makes it: held against the chain as it is, not as an
//! endpoint tells it. A commit is data, so it can be looked at before it is made.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use alloy_primitives::Address;
use async_trait::async_trait;
use serde_json::json;
use serde_json::value::to_raw_value;
use windlass_core::commit::{Commit, Fence, Write};
use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::{Intent, IntentId, IntentState, PayWrite, Payout};
use windlass_core::payout::state::PayoutState;
use windlass_core::store::Store;
use windlass_devnet::chain::Chain;
use windlass_devnet::node::Node;
use windlass_testkit::hooked::StoreHook;

/// Looks at every commit of one process.
pub(crate) struct Overseer {
    pub(crate) chain: Chain,
    pub(crate) store: Arc<dyn Store>,
    /// The commit that is being made stands on a lease that was taken away.
    is_stale: AtomicBool,
}

impl Overseer {
    pub(crate) fn new(chain: Chain, store: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { chain, store, is_stale: AtomicBool::new(false) })
    }

    /// How many transactions an account has in blocks that nothing can undo.
    fn final_nonce(&self, account: Address) -> u64 {
        let params = json!([account, format!("{:#x}", self.chain.finalized())]);
        let raw = to_raw_value(&params).expect("json");
        let answer = self.chain.call("eth_getTransactionCount", Some(&raw)).expect("answered");
        let text: String = serde_json::from_slice(&answer).expect("a number");
        u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a number")
    }

    fn look_at_intent(&self, intent: &Intent, commit: &Commit) {
        let id = intent.id;
        if intent.state != IntentState::Open {
            let used = self.final_nonce(id.signer);
            assert!(used > id.nonce, "{id} is said to be over, and its nonce is not used up for good");
        }
        if intent.version == 1 {
            let account = format!("{:#x}", id.signer);
            let is_fence = |fence: &Fence| matches!(fence, Fence::Lease { name, .. } if name.as_str().ends_with(&account));
            assert!(commit.fences.iter().any(is_fence), "{id} has its nonce without the account's lease");
        }
    }

    async fn look_at_payout(&self, payout: &Payout, intents: &BTreeMap<IntentId, IntentState>) {
        match payout.state {
            // One that says that its payment is gone, or that it was, is no claim that it is paid.
            PayoutState::Confirmed if payout.is_payment_lost() => {}
            PayoutState::Confirmed => {
                let at = payout.inclusion.expect("a block").block;
                let block = self.chain.block(at.number).map(|block| block.hash());
                assert_eq!(block, Some(at.hash), "{} is said to be paid in a block that is gone", payout.id);
                let is_final = at.number <= self.chain.finalized();
                assert!(payout.finalized_at.is_none() || is_final, "{} is not final", payout.id);
            }
            PayoutState::Failed => {
                let id = payout.intent.expect("a transaction");
                let state = match intents.get(&id) {
                    Some(state) => *state,
                    None => self.store.intent(id).await.expect("read").expect("there").state,
                };
                assert!(!state.is_live(), "{} has failed, and its transaction is {state:?}", payout.id);
            }
            _ => {}
        }
    }

    /// Whether a lease that the commit stands on is somebody else's by now.
    async fn is_stale(&self, commit: &Commit) -> bool {
        let is_lease = |fence: &Fence| matches!(fence, Fence::Lease { .. });
        if !commit.fences.iter().any(is_lease) {
            return false;
        }
        let held = self.store.list_leases().await.expect("read");
        commit.fences.iter().any(|fence| match fence {
            Fence::Lease { name, epoch } => {
                held.iter().any(|lease| lease.name == *name && lease.epoch.0 > epoch.0)
            }
            Fence::Job(_) => false,
        })
    }
}

#[async_trait]
impl StoreHook for Overseer {
    async fn before(&self, _: &'static str) -> StoreResult<()> {
        Ok(())
    }

    async fn after(&self, _: &'static str) -> StoreResult<()> {
        Ok(())
    }

    async fn committing(&self, commit: Commit) -> StoreResult<Commit> {
        let mut intents = BTreeMap::new();
        for write in &commit.writes {
            if let Write::Pay(PayWrite::Intents(rows)) = write {
                rows.iter().for_each(|intent| self.look_at_intent(intent, &commit));
                intents.extend(rows.iter().map(|intent| (intent.id, intent.state)));
            }
        }
        for write in &commit.writes {
            if let Write::Pay(PayWrite::Payouts(rows)) = write {
                for payout in rows {
                    self.look_at_payout(payout, &intents).await;
                }
            }
        }
        let is_stale = self.is_stale(&commit).await;
        self.is_stale.store(is_stale, Ordering::SeqCst);
        Ok(commit)
    }

    fn committed(&self, is_taken: bool) {
        let is_stale = self.is_stale.swap(false, Ordering::SeqCst);
        assert!(!(is_stale && is_taken), "who has lost the account's lease was allowed to write");
    }
}
