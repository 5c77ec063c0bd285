//! Where payouts are asked for, approved, rejected and tried again.
//!
//! Every command reads, decides, and commits on the condition that nothing it stood on
//! has changed; where it has, the command is decided anew.

mod approve;
mod create;
mod facts;
mod reject;
mod report;
mod retry;
mod vault_desk;

use std::sync::Arc;

use windlass_core::error::StoreError;
use windlass_core::name::NameError;
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::desk::DeskError;
use windlass_core::payout::ledger::{Budget, BudgetKey, Payout};
use windlass_core::payout::request::{PayoutId, PayoutRequest};
use windlass_core::payout::risk::Candidate;
use windlass_core::payout::store::Payouts;
use windlass_core::store::Store;
use windlass_core::time::Timestamp;

use self::facts::Facts;
pub(super) use self::facts::known_recipients;
pub use self::report::risk_report;
pub use self::vault_desk::VaultDesk;

use super::ledger::Ledger;
use super::names::PayNames;
use super::options::PayOptions;
use super::page::Clerk;

/// How often a command is decided anew before it is given up.
const MAX_TRIES: u32 = 50;

/// The desk of one vault.
#[derive(Clone)]
pub struct Desk {
    ledger: Arc<Ledger>,
    store: Arc<dyn Store>,
    options: Arc<PayOptions>,
    names: PayNames,
    random: Arc<dyn Fn() -> u128 + Send + Sync>,
}

/// Decides a command anew as long as somebody else is quicker.
macro_rules! decide {
    ($step:expr) => {{
        let mut tries = 0;
        loop {
            match $step.await {
                Err(error) if error.is_overtaken() => {
                    tries += 1;
                    if tries == super::MAX_TRIES {
                        break Err(windlass_core::payout::desk::DeskError::Crowded);
                    }
                }
                done => break done,
            }
        }
    }};
}
pub(crate) use decide;

impl Desk {
    /// The desk of a vault. `random` tells payouts of one millisecond apart.
    pub fn new(
        ledger: Arc<Ledger>,
        options: Arc<PayOptions>,
        random: Arc<dyn Fn() -> u128 + Send + Sync>,
    ) -> Result<Self, NameError> {
        let names = PayNames::new(options.vault)?;
        let store = Arc::clone(ledger.store());
        Ok(Self { ledger, store, options, names, random })
    }

    fn clerk(&self, actor: &str) -> Clerk {
        Clerk { actor: actor.into(), partition: self.names.partition.clone(), key: self.ledger.key().clone() }
    }

    /// A payout of this vault. Another's is not for this desk to decide about: other rules
    /// hold for it, and other accounts sign.
    async fn find(&self, id: PayoutId) -> Result<Payout, DeskError> {
        let payout = self.ledger.payouts(&[id]).await?.pop().ok_or(DeskError::NotFound(id))?;
        if payout.request.vault != self.options.vault {
            return Err(DeskError::OtherVault(payout.request.vault));
        }
        Ok(payout)
    }

    /// The day's sums that a payout counts against: of everybody, and of its recipient.
    async fn budgets(&self, request: &PayoutRequest, day: UtcDay) -> Result<[Budget; 2], DeskError> {
        budgets(&self.ledger, request, day).await.map_err(Into::into)
    }

    /// What the rules are asked by, for payouts that hold nothing of today yet.
    async fn facts(&self, payouts: &[&Payout], now: Timestamp) -> Result<Facts, DeskError> {
        Ok(Facts::read(&self.ledger, &self.options.rules, payouts, now).await?)
    }
}

/// A payout as the rules see it.
pub(super) fn candidate(payout: &Payout) -> Candidate {
    let request = &payout.request;
    Candidate { token: request.token, to: request.to, amount: request.amount, created_at: payout.created_at }
}

/// The day's sums that a payout counts against: of everybody, and of its recipient.
pub(super) async fn budgets(
    ledger: &Ledger,
    request: &PayoutRequest,
    day: UtcDay,
) -> Result<[Budget; 2], StoreError> {
    let key = |to| BudgetKey { vault: request.vault, token: request.token, day, to };
    let found = ledger.budgets(&[key(None), key(Some(request.to))]).await?;
    <[Budget; 2]>::try_from(found).map_err(|_| StoreError::Other("two budgets were asked for".to_owned()))
}
