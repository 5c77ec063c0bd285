//! What each account of this process can do: send, or what keeps it from sending.
//!
//! The submitters and the watcher write it; readiness, metrics and the holds of payouts read it.
//! Nothing here is stored: a process that starts looks for itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use windlass_core::chain::Address;
use windlass_core::error::RetryAdvice;
use windlass_core::payout::gas::{GasBalance, GasLevel, TYPICAL_GAS};
use windlass_core::reader::ChainError;

use super::chain_trouble::ChainTrouble;
use super::error::PayError;
use super::payer::Payer;
use crate::pace::{Paced, step_until};

/// How often balances are asked for while every account has enough.
const WELL_INTERVAL: Duration = Duration::from_secs(60);
/// The same while one has not.
const SHORT_INTERVAL: Duration = Duration::from_secs(10);

/// What keeps an account from sending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocked {
    /// It was halted, with this reason; an operator resumes it.
    Halted(String),
    /// It cannot pay for the gas of its next transaction, which takes so many units.
    ShortOfGas {
        /// The units of gas.
        gas: u64,
    },
    /// Transactions that were not sent from here are not final yet.
    ForeignTransactions(u64),
    /// An endpoint counts more of its transactions than are stored here, which is not certain yet.
    CountUnconfirmed(String),
    /// The endpoints serve another chain than the one that the vault is known on.
    OtherChain(String),
}

/// What is known of an account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountStatus {
    /// Why it sends nothing, if it does not.
    pub blocked: Option<Blocked>,
    /// What it has for gas, once that was asked for.
    pub gas: Option<GasBalance>,
    /// Whether this process gives out its nonces.
    pub is_ours: bool,
    /// That the chain's endpoints do not answer its submitter, from the first failure on.
    pub trouble: Option<ChainTrouble>,
}

impl AccountStatus {
    /// That the chain's endpoints do not answer, once that has lasted.
    pub fn lasting_trouble(&self) -> Option<&ChainTrouble> {
        self.trouble.as_ref().filter(|trouble| trouble.has_lasted())
    }

    /// Why the account sends nothing, in words.
    pub fn reason(&self, account: Address) -> Option<String> {
        let Some(blocked) = &self.blocked else { return self.lasting_trouble().map(ChainTrouble::reason) };
        Some(match blocked {
            Blocked::Halted(why) => format!("account {account} is halted: {why}"),
            Blocked::ForeignTransactions(count) => {
                format!(
                    "account {account} has {count} transactions that were not sent from here and are not final"
                )
            }
            Blocked::OtherChain(why) | Blocked::CountUnconfirmed(why) => why.clone(),
            Blocked::ShortOfGas { .. } => match &self.gas {
                Some(gas) => format!("account {account} {gas}: send it more"),
                None => format!("account {account} cannot pay for gas: send it more of the chain's coin"),
            },
        })
    }

    fn level(&self) -> Option<GasLevel> {
        self.gas.map(|gas| gas.level())
    }
}

/// The accounts of a payer.
pub struct Accounts(Mutex<BTreeMap<Address, AccountStatus>>);

impl Accounts {
    /// Accounts of which nothing is known yet.
    pub(super) fn new(accounts: impl Iterator<Item = Address>) -> Self {
        Self(Mutex::new(accounts.map(|account| (account, AccountStatus::default())).collect()))
    }

    /// What is known of every account.
    pub fn all(&self) -> BTreeMap<Address, AccountStatus> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is known of an account.
    pub fn get(&self, account: Address) -> AccountStatus {
        let statuses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        statuses.get(&account).cloned().unwrap_or_default()
    }

    fn change(&self, account: Address, change: impl FnOnce(&mut AccountStatus)) {
        let mut statuses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(statuses.entry(account).or_default());
    }

    /// This process gives out the account's nonces, or another does.
    pub(super) fn set_ours(&self, account: Address, is_ours: bool) {
        self.change(account, |status| status.is_ours = is_ours);
    }

    /// The account sends, as far as its row says: only too little gas and a count of its transactions
    /// that is not certain block it further.
    pub(super) fn unblock(&self, account: Address) {
        self.change(account, |status| {
            if !matches!(status.blocked, Some(Blocked::ShortOfGas { .. } | Blocked::CountUnconfirmed(_))) {
                status.blocked = None;
            }
        });
    }

    /// The chain has no more transactions of the account than are stored here.
    pub(super) fn count_confirmed(&self, account: Address) {
        self.change(account, |status| {
            if matches!(status.blocked, Some(Blocked::CountUnconfirmed(_))) {
                status.blocked = None;
            }
        });
    }

    /// The account sends nothing.
    pub(super) fn block(&self, account: Address, blocked: Blocked) {
        self.change(account, |status| status.blocked = Some(blocked));
    }

    /// The endpoints serve another chain, or the right one again.
    pub(super) fn set_other_chain(&self, other: Option<&str>) {
        let mut statuses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for status in statuses.values_mut() {
            match (&status.blocked, other) {
                (_, Some(why)) => status.blocked = Some(Blocked::OtherChain(why.to_owned())),
                (Some(Blocked::OtherChain(_)), None) => status.blocked = None,
                _ => {}
            }
        }
    }

    /// Why the chain is another one than that of the vault, if it is.
    pub fn other_chain(&self) -> Option<String> {
        self.all().into_values().find_map(|status| match status.blocked {
            Some(Blocked::OtherChain(why)) => Some(why),
            _ => None,
        })
    }

    /// A question that was asked for an account at `asked_at` was not answered.
    pub(super) fn chain_failed(&self, account: Address, error: &ChainError, asked_at: Instant) {
        self.change(account, |status| {
            status.trouble = Some(ChainTrouble::after(status.trouble.take(), error, asked_at));
        });
    }

    /// The endpoints answer an account's submitter.
    pub(super) fn chain_answered(&self, account: Address) {
        let mut has_lasted = false;
        self.change(account, |status| has_lasted = status.trouble.take().is_some_and(|it| it.has_lasted()));
        if has_lasted {
            tracing::info!(%account, "the endpoints of the vault's chain answer again: paying goes on");
        }
    }

    /// That the chain's endpoints do not answer, once that has lasted.
    pub fn chain_trouble(&self) -> Option<ChainTrouble> {
        self.all().values().find_map(|status| status.lasting_trouble().cloned())
    }

    /// The account cannot pay for its next transaction.
    pub(super) fn short_of_gas(&self, account: Address, gas: u64, balance: GasBalance) {
        if !matches!(self.get(account).blocked, Some(Blocked::ShortOfGas { .. })) {
            tracing::error!(%account, "the account {balance}: nothing is sent from it until it has more");
        }
        self.change(account, |status| {
            status.blocked = Some(Blocked::ShortOfGas { gas });
            status.gas = Some(balance);
        });
    }

    /// What the account has now. Says so in the log where the level has changed.
    fn has_gas(&self, account: Address, now: GasBalance) {
        let before = self.get(account).level();
        match now.level() {
            level if Some(level) == before => {}
            GasLevel::Short => tracing::error!(%account, "the account {now}: send it more"),
            GasLevel::Low => tracing::warn!(%account, "the account {now}: send it more soon"),
            GasLevel::Enough if before.is_some() => tracing::info!(%account, "the account {now} again"),
            GasLevel::Enough => {}
        }
        self.change(account, |status| {
            status.gas = Some(now);
            if now.level() != GasLevel::Short && matches!(status.blocked, Some(Blocked::ShortOfGas { .. })) {
                status.blocked = None;
            }
        });
    }

    /// Why no account of this process sends; `None` while one does, or another process sends.
    pub(super) fn all_blocked(&self) -> Option<String> {
        let statuses = self.all();
        let reasons: Option<Vec<String>> = statuses
            .iter()
            .map(|(account, status)| status.reason(*account).filter(|_| status.is_ours))
            .collect();
        let mut reasons = reasons.filter(|reasons| !reasons.is_empty())?;
        // The chain is the same for all of them.
        reasons.dedup();
        Some(reasons.join("; "))
    }
}

/// Asks what the accounts of this process have for gas.
pub struct AccountWatcher {
    payer: Arc<Payer>,
}

impl AccountWatcher {
    /// A watcher of a payer's accounts.
    pub const fn new(payer: Arc<Payer>) -> Self {
        Self { payer }
    }

    /// Watches until stopped.
    pub async fn run(mut self, shutdown: CancellationToken) -> Result<(), PayError> {
        step_until(&mut self, &shutdown).await
    }

    /// Asks once. Whether every account has enough.
    pub async fn step(&self) -> Result<bool, PayError> {
        let payer = &self.payer;
        payer.watch_chain().await?;
        let Ok(fees) = payer.gas_fees().await? else { return Ok(true) };
        let max_fee = fees.max_fee;
        let mut all_enough = true;
        for account in payer.signers().iter().map(|signer| signer.address()) {
            // What it could not pay for decides, not what is usual.
            let gas = match payer.accounts.get(account).blocked {
                Some(Blocked::ShortOfGas { gas }) => gas,
                _ => TYPICAL_GAS,
            };
            let balance = payer.gas_balance(account, gas, max_fee).await?;
            payer.accounts.has_gas(account, balance);
            all_enough &= balance.level() == GasLevel::Enough;
        }
        Ok(all_enough)
    }
}

impl Paced for AccountWatcher {
    const WHAT: &'static str = "asking what the accounts have for gas";
    type Error = PayError;

    async fn pace(&mut self) -> Result<Duration, PayError> {
        Ok(if self.step().await? { WELL_INTERVAL } else { SHORT_INTERVAL })
    }

    fn retry(error: &PayError) -> RetryAdvice {
        error.retry()
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::chain::U256;

    use super::*;

    const ONE: Address = Address::repeat_byte(1);
    const OTHER: Address = Address::repeat_byte(2);

    fn gas(balance: u64) -> GasBalance {
        GasBalance::new(U256::from(balance), 100, 1, Some(U256::from(1_000)))
    }

    fn accounts() -> Accounts {
        let accounts = Accounts::new([ONE, OTHER].into_iter());
        [ONE, OTHER].iter().for_each(|account| accounts.set_ours(*account, true));
        accounts
    }

    #[test]
    fn payouts_wait_for_accounts_only_where_every_one_is_blocked() {
        let accounts = accounts();
        assert_eq!(accounts.all_blocked(), None);
        accounts.block(ONE, Blocked::Halted("the key is used elsewhere".to_owned()));
        assert_eq!(accounts.all_blocked(), None, "the other sends");
        accounts.short_of_gas(OTHER, 100, gas(7));
        let reason = accounts.all_blocked().expect("a reason");
        for words in ["is halted: the key is used elsewhere; account 0x02", "has 0.000000000000000007"] {
            assert!(reason.contains(words), "{reason}");
        }
        accounts.set_ours(OTHER, false);
        assert_eq!(accounts.all_blocked(), None, "another process sends from it");
    }

    #[test]
    fn an_account_that_was_topped_up_is_not_blocked_any_more() {
        let accounts = accounts();
        accounts.short_of_gas(ONE, 100, gas(7));
        accounts.unblock(ONE);
        accounts.has_gas(ONE, gas(99));
        assert!(accounts.get(ONE).blocked.is_some());
        accounts.has_gas(ONE, gas(100));
        assert_eq!(accounts.get(ONE).blocked, None);
        accounts.block(ONE, Blocked::ForeignTransactions(2));
        accounts.has_gas(ONE, gas(5_000));
        assert!(accounts.get(ONE).blocked.is_some(), "gas alone does not mend that");
        accounts.unblock(ONE);
        assert_eq!(accounts.get(ONE).blocked, None);
    }
}
