//! What must hold of a world, at the end or at any time.

use std::collections::BTreeMap;

use alloy_primitives::{B256, U256};
use windlass_core::payout::audit::{AuditHead, AuditRow};
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::BudgetKey;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::AuditQuery;
use windlass_engine::pay::names::PayNames;
use windlass_testkit::clock::ManualClock;

use super::world::{AUDIT_KEY, FUNDS, World};

impl World {
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

    /// What the log tells of one kind of deed.
    pub(crate) async fn entries(&self, action: &str) -> Vec<String> {
        let (mut after, mut told) = (0, Vec::new());
        loop {
            let query = AuditQuery { subject: None, after, limit: 1_000 };
            let rows = self.store.audit_rows(&query).await.expect("read");
            let Some(last) = rows.last() else { return told };
            after = last.seq;
            let is_wanted = |row: &AuditRow| row.entry.action == action;
            told.extend(rows.into_iter().filter(is_wanted).map(|row| row.entry.detail));
        }
    }

    /// Whether the log has an entry of that kind.
    pub(crate) async fn is_logged(&self, action: &str) -> bool {
        !self.entries(action).await.is_empty()
    }

    /// What was told to everybody, by topic.
    pub(crate) async fn told(&self, topic: &str) -> Vec<String> {
        let partition = PayNames::new(self.vault).expect("names").partition;
        let messages = self.store.messages(&partition, 0, 1_000).await.expect("read");
        messages.into_iter().filter(|message| message.topic == topic).map(|message| message.payload).collect()
    }
}
