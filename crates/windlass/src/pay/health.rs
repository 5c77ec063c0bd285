//! How paying goes, looked at every few seconds: for `/readyz` and for metrics.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use windlass_api::ports::{Readiness, Reason};
use windlass_core::chain::Address;
use windlass_core::code::Code;
use windlass_core::error::StoreResult;
use windlass_core::payout::gas::GasLevel;
use windlass_core::payout::ledger::{Forgery, Payout, SignerRow};
use windlass_core::payout::request::VaultRef;
use windlass_core::payout::state::PayoutState;
use windlass_core::store::Store;
use windlass_engine::pay::accounts::{AccountStatus, Accounts, Blocked};
use windlass_engine::pay::counts::PayoutCounts;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::reconcile::recheck::lost_payments;
use windlass_engine::pay::unattended::{UnattendedVault, unattended_configured, unattended_vaults};

use super::{metrics, unattended};
use crate::output::human;

/// How many rows that were refused are named one by one.
const MAX_SHOWN: usize = 20;
/// How often it is looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// Payouts that no process pays are counted at every so many looks: counting reads every payout that waits.
const LOOKS_PER_COUNT: u32 = 6;

/// What a look has seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct PayLook {
    /// How many payouts stand where.
    pub(crate) payouts: Vec<(PayoutState, u64)>,
    /// The accounts that sign.
    pub(crate) signers: Vec<SignerRow>,
    /// What this process knows of its accounts.
    pub(crate) accounts: BTreeMap<Address, AccountStatus>,
    /// What was tampered with.
    tampered: Vec<Reason>,
    /// Final payments that are gone.
    lost: Vec<Reason>,
    /// Vaults whose payouts wait while no process pays from them.
    unattended: Vec<Reason>,
}

/// Looks at the store, and tells what it has seen.
pub(crate) struct PayWatcher {
    store: Arc<dyn Store>,
    ledgers: Vec<Arc<Ledger>>,
    vault: VaultRef,
    /// Whether this process pays from it.
    pays: bool,
    /// Whether no process did when payouts were last counted.
    was_unattended: bool,
    accounts: Option<Arc<Accounts>>,
    counts: PayoutCounts,
    seen: watch::Sender<PayLook>,
    looks: u32,
}

/// Reasons not to be ready, from what was last seen.
pub(crate) struct PayReadiness(watch::Receiver<PayLook>);

impl PayWatcher {
    /// Looks for the first time. `pays` says whether this process is to pay from the vault.
    pub(crate) async fn new(
        store: Arc<dyn Store>,
        ledgers: Vec<Arc<Ledger>>,
        vault: VaultRef,
        pays: bool,
    ) -> StoreResult<Self> {
        let counts = PayoutCounts::new(store.clone());
        let (seen, _) = watch::channel(PayLook::default());
        let (was_unattended, accounts, looks) = (false, None, 0);
        let mut watcher = Self { store, ledgers, vault, pays, was_unattended, accounts, counts, seen, looks };
        let first = watcher.look().await?;
        watcher.seen.send_replace(first);
        Ok(watcher)
    }

    /// Looks at these accounts of this process, too.
    pub(crate) fn watch_accounts(&mut self, accounts: Arc<Accounts>) {
        self.accounts = Some(accounts);
    }

    /// Reasons not to be ready.
    pub(crate) fn readiness(&self) -> PayReadiness {
        PayReadiness(self.seen.subscribe())
    }

    /// Looks until told to stop. What cannot be read is told by others.
    pub(crate) async fn run(mut self, shutdown: CancellationToken) {
        while shutdown.run_until_cancelled(tokio::time::sleep(LOOK_INTERVAL)).await.is_some() {
            match self.look().await {
                Ok(seen) => {
                    metrics::tell(&seen);
                    self.seen.send_replace(seen);
                }
                Err(error) => tracing::debug!(%error, "payouts could not be counted"),
            }
        }
    }

    /// The accounts of the vault's chain: others are another configuration's.
    async fn look(&mut self) -> StoreResult<PayLook> {
        let mut signers = self.store.list_signers().await?;
        signers.retain(|signer| signer.chain == self.vault.chain);
        let unattended = match self.looks % LOOKS_PER_COUNT {
            0 => self.unattended().await?,
            _ => self.seen.borrow().unattended.clone(),
        };
        self.looks = self.looks.wrapping_add(1);
        Ok(PayLook {
            payouts: self.counts.look().await?,
            signers,
            accounts: self.accounts.as_ref().map(|accounts| accounts.all()).unwrap_or_default(),
            tampered: each_once(self.ledgers.iter().flat_map(|ledger| tampered(ledger)).collect()),
            lost: self.lost().await?,
            unattended,
        })
    }

    async fn lost(&self) -> StoreResult<Vec<Reason>> {
        let Some(ledger) = self.ledgers.first() else { return Ok(Vec::new()) };
        let reason = |payout: Payout| Reason {
            code: Code::VaultDiffers,
            message: payout.hold.map(|hold| hold.reason).unwrap_or_default(),
            subject: format!("payout {}", payout.id),
        };
        Ok(lost_payments(ledger, self.vault).await?.into_iter().take(MAX_SHOWN).map(reason).collect())
    }

    async fn unattended(&mut self) -> StoreResult<Vec<Reason>> {
        let own = match self.pays {
            true => None,
            false => unattended_configured(&*self.store, self.vault).await?,
        };
        // A process that was killed may be started again, or another take over.
        let was_unattended = std::mem::replace(&mut self.was_unattended, own.is_some());
        let others = unattended_vaults(&*self.store, self.vault).await?;
        let found: Vec<_> = own.filter(|_| was_unattended).into_iter().chain(others).collect();
        let reason = |found: &UnattendedVault| Reason {
            code: Code::VaultUnattended,
            message: format!(
                "{}; {}",
                unattended::message(found, self.vault),
                unattended::hint(found, self.vault)
            ),
            subject: unattended::named(found.vault),
        };
        Ok(found.iter().take(MAX_SHOWN).map(reason).collect())
    }
}

/// Each reason once: the ledgers of one database refuse the same rows.
fn each_once(mut reasons: Vec<Reason>) -> Vec<Reason> {
    let mut told = BTreeSet::new();
    reasons.retain(|reason| told.insert((reason.subject.clone(), reason.message.clone())));
    reasons
}

/// What a ledger has refused, the log before its rows.
fn tampered(ledger: &Ledger) -> Vec<Reason> {
    let fault = ledger.fault().map(|fault| Reason {
        code: Code::AuditBroken,
        message: format!("the audit log is broken: {fault}; nothing is paid, and no API key is good"),
        subject: "audit log".to_owned(),
    });
    let forged = |forgery: &Forgery| Reason {
        code: Code::RowForged,
        message: format!("{forgery}; it is not used"),
        subject: forgery.row.to_string(),
    };
    let forgeries = ledger.forgeries();
    let shown = forgeries.iter().take(MAX_SHOWN).map(forged);
    let rest = forgeries.len().checked_sub(MAX_SHOWN + 1).map(|rest| Reason {
        code: Code::RowForged,
        message: format!("{} more rows were refused; `windlass audit-log verify` names them", rest + 1),
        subject: "ledger".to_owned(),
    });
    fault.into_iter().chain(shown).chain(rest).collect()
}

#[async_trait]
impl Readiness for PayReadiness {
    async fn reasons(&self) -> Vec<Reason> {
        let seen = self.0.borrow();
        let halted = seen.signers.iter().filter_map(|signer| Some((signer, signer.halted.as_ref()?)));
        halted
            .map(|(signer, why)| Reason {
                code: Code::SignerHalted,
                message: why.clone(),
                subject: signer.address.to_string(),
            })
            .chain(seen.accounts.iter().filter_map(|(account, status)| short_of_gas(*account, status)))
            .chain(other_chain(&seen))
            .chain(chain_trouble(&seen))
            .chain(seen.lost.iter().cloned())
            .chain(seen.tampered.iter().cloned())
            .chain(seen.unattended.iter().cloned())
            .collect()
    }
}

/// The endpoints serve another chain than the one that the vault is known on.
fn other_chain(seen: &PayLook) -> Option<Reason> {
    let why = seen.other_chain()?;
    Some(Reason {
        code: Code::FinalityViolated,
        message: format!(
            "{why}; nothing is signed. Correct `rpc`, or accept the chain with `windlass pay accept-chain`"
        ),
        subject: "pay".to_owned(),
    })
}

/// The endpoints of the vault's chain have not answered for a while.
fn chain_trouble(seen: &PayLook) -> Option<Reason> {
    let trouble = seen.accounts.values().find_map(AccountStatus::lasting_trouble)?;
    let age = human::seconds(trouble.age().as_secs());
    Some(Reason {
        code: trouble.code,
        message: format!("{}; nothing is signed or followed for {age}", trouble.reason()),
        subject: "pay".to_owned(),
    })
}

impl PayLook {
    /// Why the endpoints' chain is another one than the vault's, if it is.
    pub(crate) fn other_chain(&self) -> Option<&str> {
        self.accounts.values().find_map(|status| match &status.blocked {
            Some(Blocked::OtherChain(why)) => Some(&**why),
            _ => None,
        })
    }
}

fn short_of_gas(account: Address, status: &AccountStatus) -> Option<Reason> {
    let is_short = matches!(status.blocked, Some(Blocked::ShortOfGas { .. }))
        || status.gas.is_some_and(|gas| gas.level() == GasLevel::Short);
    let gas = status.gas.filter(|_| is_short)?;
    Some(Reason {
        code: Code::SignerShortOfGas,
        message: format!("the account {gas}: send it more"),
        subject: account.to_string(),
    })
}

/// Several at once.
pub(crate) struct All(pub(crate) Vec<Arc<dyn Readiness>>);

#[async_trait]
impl Readiness for All {
    async fn reasons(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        for one in &self.0 {
            reasons.extend(one.reasons().await);
        }
        reasons
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;
    use windlass_core::reader::{ChainError, ChainErrorKind};
    use windlass_engine::pay::chain_trouble::{ChainTrouble, GRACE};

    use super::*;

    async fn reasons(age: Duration) -> Vec<(Code, String)> {
        let error = ChainError::new(ChainErrorKind::Unreachable, "connection refused");
        let since = Instant::now().checked_sub(age).expect("an instant");
        let trouble = Some(ChainTrouble::new(&error, since));
        let status = AccountStatus { trouble, ..AccountStatus::default() };
        let accounts = BTreeMap::from([(Address::repeat_byte(1), status)]);
        let (_sender, seen) = watch::channel(PayLook { accounts, ..PayLook::default() });
        let reasons = PayReadiness(seen).reasons().await;
        reasons.into_iter().map(|reason| (reason.code, reason.message)).collect()
    }

    #[tokio::test]
    async fn endpoints_that_have_not_answered_for_a_while_are_a_reason_not_to_be_ready() {
        assert_eq!(reasons(Duration::ZERO).await, []);
        let told = reasons(GRACE).await;
        let [(Code::RpcUnreachable, message)] = &told[..] else { panic!("{told:?}") };
        assert!(message.contains("do not answer: ") && message.contains("connection refused"), "{message}");
    }

    #[test]
    fn a_row_that_two_ledgers_have_refused_is_told_once() {
        let reason = |subject: &str| Reason {
            code: Code::RowForged,
            message: format!("{subject} was altered; it is not used"),
            subject: subject.to_owned(),
        };
        let told = each_once(vec![reason("payout 1"), reason("payout 2"), reason("payout 1")]);
        let subjects: Vec<&str> = told.iter().map(|reason| reason.subject.as_str()).collect();
        assert_eq!(subjects, ["payout 1", "payout 2"]);
    }
}
