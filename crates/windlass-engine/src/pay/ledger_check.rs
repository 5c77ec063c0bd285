//! Compares the ledger with the audit log while nobody asks for anything: a row that was
//! inserted, altered, put back or removed is reported within a minute, also where nothing is
//! about to be paid. Jobs that somebody deleted are made again.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this | what is open, which is compared each time |
//! | `rounds` | what has ended, a part of it each time |
//! | `refused` | what was refused, which is looked at again each time |

mod refused;
mod rounds;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use windlass_core::error::{RetryAdvice, StoreError, StoreResult};
use windlass_core::payout::ledger::{BudgetKey, IntentId, RowId};
use windlass_core::payout::request::{PayoutId, VaultRef};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, PayoutQuery, Payouts};

use self::rounds::Rounds;
use super::ledger::Ledger;
use super::missing_jobs::{self, OpenWork};
use crate::pace::{Paced, step_until};

/// How often everything is compared.
const INTERVAL: Duration = Duration::from_secs(60);
/// A store in trouble is asked again after this, unless it says when.
const TROUBLE_PAUSE: Duration = Duration::from_secs(5);
/// The states of which the log names every payout. One that was confirmed is looked for by its id.
const OPEN_STATES: [PayoutState; 3] =
    [PayoutState::PendingRisk, PayoutState::Approved, PayoutState::Submitted];

/// The loop. Any number of processes may run it.
pub struct LedgerCheck {
    ledger: Arc<Ledger>,
    rounds: Mutex<Rounds>,
}

impl LedgerCheck {
    /// A loop.
    pub fn new(ledger: Arc<Ledger>) -> Self {
        Self { ledger, rounds: Mutex::default() }
    }

    /// Compares until told to stop.
    pub async fn run(mut self, shutdown: CancellationToken) -> StoreResult<()> {
        step_until(&mut self, &shutdown).await
    }

    /// Compares every row that the log names, every row that claims to be open, and a part of the others,
    /// once. What is wrong is reported by the ledger.
    pub async fn step(&self) -> StoreResult<()> {
        let open = self.ledger.open_rows().await?;
        let work = self.open_work(&open).await?;
        self.other_open_rows(&open).await?;
        self.next_transactions().await?;
        self.ledger.list_api_keys().await?;
        for state in OPEN_STATES {
            self.list(state).await?;
        }
        self.ledger.check_ids().await?;
        self.rounds.lock().await.step(&self.ledger).await?;
        refused::look_again(&self.ledger).await?;
        missing_jobs::restore(&self.ledger, work).await?;
        self.ledger.forget_removed().await?;
        self.ledger.checkpoint().await?;
        Ok(())
    }

    /// Payouts and transactions that the log names as open.
    async fn open_work(&self, open: &[RowId]) -> StoreResult<OpenWork> {
        let payouts: Vec<PayoutId> = select(open, |row| match row {
            RowId::Payout(id) => Some(*id),
            _ => None,
        });
        let mut work = OpenWork::default();
        for ids in payouts.chunks(MAX_PAYOUT_PAGE as usize) {
            work.payouts.extend(self.ledger.check_payouts(ids).await?.rows);
            self.ledger.approvals(ids).await?;
        }
        let intents: Vec<IntentId> = select(open, |row| match row {
            RowId::Intent(id) => Some(*id),
            _ => None,
        });
        for id in &intents {
            passing(self.ledger.attempts(*id).await)?;
        }
        work.intents = intents.into_iter().collect();
        Ok(work)
    }

    /// Sums and known blocks that the log names.
    async fn other_open_rows(&self, open: &[RowId]) -> StoreResult<()> {
        let budgets: Vec<BudgetKey> = select(open, |row| match row {
            RowId::Budget(key) => Some(*key),
            _ => None,
        });
        for keys in budgets.chunks(MAX_PAYOUT_PAGE as usize) {
            passing(self.ledger.budgets(keys).await)?;
        }
        let vaults: Vec<VaultRef> = select(open, |row| match row {
            RowId::ChainIdentity(vault) => Some(*vault),
            _ => None,
        });
        for vault in vaults {
            passing(self.ledger.chain_identity(vault).await)?;
        }
        Ok(())
    }

    /// Accounts, and what stands where the next transaction of each will: it would keep the account from signing.
    async fn next_transactions(&self) -> StoreResult<()> {
        for account in self.ledger.list_signers().await? {
            let next = IntentId { chain: account.chain, signer: account.address, nonce: account.next_nonce };
            passing(self.ledger.attempts(next).await)?;
        }
        Ok(())
    }

    async fn list(&self, state: PayoutState) -> StoreResult<()> {
        let mut query = PayoutQuery { state: Some(state), limit: MAX_PAYOUT_PAGE, ..PayoutQuery::default() };
        loop {
            let payouts = self.ledger.list_payouts(&query).await?;
            match payouts.last() {
                Some(last) if payouts.len() == MAX_PAYOUT_PAGE as usize => query.after = Some(last.id),
                _ => return Ok(()),
            }
        }
    }
}

fn select<T>(rows: &[RowId], which: impl Fn(&RowId) -> Option<T>) -> Vec<T> {
    rows.iter().filter_map(which).collect()
}

/// What was refused is reported by now, and the rest is to be looked at as well.
fn passing<T>(read: StoreResult<T>) -> StoreResult<()> {
    match read {
        Ok(_) | Err(StoreError::Forged(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

impl Paced for LedgerCheck {
    const WHAT: &'static str = "comparing the ledger with the audit log";
    type Error = StoreError;

    async fn pace(&mut self) -> StoreResult<Duration> {
        self.step().await.map(|()| INTERVAL)
    }

    fn retry(error: &StoreError) -> RetryAdvice {
        match (error, error.retry()) {
            (StoreError::Closed, _) => RetryAdvice::Never,
            (_, RetryAdvice::Never) => RetryAdvice::After(TROUBLE_PAUSE),
            (_, after) => after,
        }
    }
}
