//! Whether a payout that was approved may be signed now: by the rules, and by the vault's own record.

use std::collections::{BTreeSet, HashMap};

use windlass_core::chain::{Address, B256, U256};
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::{Budget, BudgetKey, Inclusion, OpenTotalLimit, Payout};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::risk::{RiskFacts, RiskVerdict};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, Payouts};
use windlass_core::payout::vault::answer::{VaultRecord, VaultStatus};
use windlass_core::reader::BlockTag;
use windlass_core::time::Timestamp;

use super::{Submitter, Taken};
use crate::pay::agreed::DISPUTED;
use crate::pay::approvals::Approvals;
use crate::pay::desk::{candidate, known_recipients};
use crate::pay::error::PayError;
use crate::pay::payer::Sight;

/// Why a payout waits whose token the configuration of this process does not name: it was taken out, or
/// added while the process ran.
const UNKNOWN_TOKEN: &str = "the process that pays does not know its token: name the token in `[pay]`, and \
                             restart `windlass run`";

/// What becomes of a payout that is not signed now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nothing: it is over, or on its way.
    Over,
    /// It stays as it is for a while.
    Wait { reason: String, until: Option<Timestamp> },
    /// It was not its turn, for no reason of its own.
    Later,
    /// It will not be made: nothing was signed for it, or what was is over for good.
    End { reason: String },
    /// The vault has paid it, and nothing can undo that.
    Paid { inclusion: Inclusion },
}

impl Fate {
    pub(super) fn wait(reason: impl Into<String>) -> Self {
        Self::Wait { reason: reason.into(), until: None }
    }
}

/// Payouts by what becomes of them.
pub(super) struct Checked {
    pub(super) now: Timestamp,
    /// These may be signed, on the budget of today.
    pub(super) ready: Vec<Taken>,
    /// These not.
    pub(super) settled: Vec<(Taken, Fate)>,
    /// The days' sums that are concerned.
    pub(super) budgets: Budgets,
    /// The recipients that were paid before.
    known_recipients: BTreeSet<Address>,
    /// What the vault can pay of each token that is to be signed.
    pub(super) limits: Vec<OpenTotalLimit>,
}

/// Days' sums, each read once.
#[derive(Default)]
pub(super) struct Budgets {
    known: HashMap<BudgetKey, Budget>,
    /// What comes on top if everything is signed that may be.
    tentative: HashMap<BudgetKey, U256>,
    changed: Vec<BudgetKey>,
}

impl Budgets {
    fn get(&self, key: BudgetKey) -> Budget {
        self.known.get(&key).copied().unwrap_or(Budget::empty(key))
    }

    /// What a sum would come to with everything that may be signed.
    fn tentative(&self, key: BudgetKey) -> U256 {
        let more = self.tentative.get(&key).copied().unwrap_or_default();
        self.get(key).total.saturating_add(more)
    }

    /// A payout that was approved on another day is signed today.
    pub(super) fn move_to(&mut self, payout: &Payout, today: UtcDay) {
        let Some(held_on) = payout.budget_day.filter(|day| *day != today) else { return };
        let amount = payout.request.amount;
        for (from, to) in keys(payout, held_on).into_iter().zip(keys(payout, today)) {
            self.change(from, |budget| budget.without(amount));
            self.change(to, |budget| budget.with(amount));
        }
    }

    /// Changes a sum; however often, it is written once.
    fn change(&mut self, key: BudgetKey, change: impl Fn(Budget) -> Budget) {
        let before = self.get(key);
        let after = change(before);
        let version = if self.changed.contains(&key) { before.version } else { after.version };
        self.known.insert(key, Budget { version, ..after });
        if !self.changed.contains(&key) {
            self.changed.push(key);
        }
    }

    pub(super) fn changed(&self) -> Vec<Budget> {
        self.changed.iter().map(|key| self.get(*key)).collect()
    }
}

/// The sums of a day that a payout counts against.
fn keys(payout: &Payout, day: UtcDay) -> [BudgetKey; 2] {
    let request = &payout.request;
    let key = |to| BudgetKey { vault: request.vault, token: request.token, day, to };
    [key(None), key(Some(request.to))]
}

impl Submitter {
    pub(super) async fn check(&self, taken: Vec<Taken>) -> Result<Checked, PayError> {
        let now = self.payer.store.now().await?;
        let mut checked = Checked {
            now,
            ready: Vec::new(),
            settled: Vec::new(),
            budgets: Budgets::default(),
            known_recipients: BTreeSet::new(),
            limits: Vec::new(),
        };
        let mut asked = Vec::new();
        for taken in taken {
            match self.stands(&taken.payout).await? {
                Some(fate) => checked.settled.push((taken, fate)),
                None => asked.push(taken),
            }
        }
        let ids: Vec<B256> = asked.iter().map(|taken| taken.payout.request.request_id()).collect();
        self.load_budgets(&mut checked, &asked).await?;
        let wanted: Vec<&Payout> = asked.iter().map(|taken| &taken.payout).collect();
        let (ledger, rules) = (&self.payer.ledger, &self.payer.options.rules);
        checked.known_recipients = known_recipients(ledger, rules, &wanted).await?;
        let payouts: Vec<PayoutId> = asked.iter().map(|taken| taken.payout.id).collect();
        let approvals = Approvals::of(&self.payer.ledger, &payouts).await?;
        let sight = self.payer.sight().await?;
        let records = self.records(&sight, &ids).await?;
        for (taken, record) in asked.into_iter().zip(records) {
            let told = match record {
                Some(record) => self.told(&sight, &taken.payout, record).await,
                None => Ok(Some(Fate::wait(DISPUTED))),
            };
            let fate = match told {
                Ok(None) => match self.unapproved(&taken.payout, &approvals) {
                    None => self.allowed(&mut checked, &taken.payout)?,
                    fate => fate,
                },
                Ok(fate) => fate,
                Err(PayError::Store(error)) => return Err(error.into()),
                // One payout's trouble holds up no other.
                Err(error) => Some(Fate::wait(error.to_string())),
            };
            match fate {
                Some(fate) => {
                    if matches!(fate, Fate::End { .. }) {
                        Self::free(&mut checked, &taken.payout);
                    }
                    checked.settled.push((taken, fate));
                }
                None => checked.ready.push(taken),
            }
        }
        Ok(checked)
    }

    /// Why too few have approved a payout, as far as this process can tell: its own
    /// configuration says how many it takes.
    fn unapproved(&self, payout: &Payout, approvals: &Approvals) -> Option<Fate> {
        let options = &self.payer.options;
        let needed = options.approvals.needed(payout.request.token, payout.request.amount);
        approvals.count(payout, options).shortage(needed).map(Fate::wait)
    }

    /// Every sum that may be asked for, in few questions.
    async fn load_budgets(&self, checked: &mut Checked, asked: &[Taken]) -> Result<(), PayError> {
        let today = UtcDay::of(checked.now);
        let days =
            |payout: &Payout| [Some(today), payout.budget_day].into_iter().flatten().collect::<Vec<_>>();
        let wanted: BTreeSet<BudgetKey> = asked
            .iter()
            .flat_map(|taken| days(&taken.payout).into_iter().flat_map(|day| keys(&taken.payout, day)))
            .collect();
        let wanted: Vec<BudgetKey> = wanted.into_iter().collect();
        for part in wanted.chunks(MAX_PAYOUT_PAGE as usize) {
            let found = self.payer.ledger.budgets(part).await?;
            checked.budgets.known.extend(found.into_iter().map(|budget| (budget.key, budget)));
        }
        Ok(())
    }

    /// What its state says: approved, or submitted by a transaction that is over without payment.
    pub(super) async fn stands(&self, payout: &Payout) -> Result<Option<Fate>, PayError> {
        Ok(match (payout.state, payout.intent) {
            (PayoutState::Approved, _) => None,
            (PayoutState::Submitted, Some(intent)) => {
                let intent = self.payer.ledger.intent(intent).await?;
                intent.is_none_or(|intent| intent.state.is_live()).then_some(Fate::Over)
            }
            _ => Some(Fate::Over),
        })
    }

    /// What the vault itself says of requests. One endpoint's word that it knows nothing of a request is
    /// enough to go on, for it never pays one twice; that it was paid or cancelled is asked of all.
    async fn records(&self, sight: &Sight, ids: &[B256]) -> Result<Vec<Option<VaultRecord>>, PayError> {
        let latest = BlockTag::Number(sight.latest.number);
        let mut records: Vec<Option<VaultRecord>> =
            self.payer.records(ids, latest).await?.into_iter().map(Some).collect();
        let is_over = |place: &usize| records[*place].is_some_and(|one| one.status != VaultStatus::Unknown);
        let over: Vec<usize> = (0..ids.len()).filter(is_over).collect();
        let asked: Vec<B256> = over.iter().map(|place| ids[*place]).collect();
        let (at, below) = (sight.latest.number, sight.last_final);
        let agreed = self.payer.agreed_records_behind(&asked, at, below).await?;
        over.into_iter().zip(agreed).for_each(|(place, record)| records[place] = record);
        Ok(records)
    }

    /// What the vault itself says, as enough endpoints tell it. Only what is final ends anything.
    async fn told(
        &self,
        sight: &Sight,
        payout: &Payout,
        record: VaultRecord,
    ) -> Result<Option<Fate>, PayError> {
        let is_final = record.block <= sight.last_final;
        Ok(match record.status {
            VaultStatus::Unknown => None,
            VaultStatus::Cancelled if is_final => {
                Some(Fate::End { reason: "the request was cancelled on the vault".to_owned() })
            }
            VaultStatus::Cancelled => {
                Some(Fate::wait("the request was cancelled on the vault, not finally yet"))
            }
            VaultStatus::Paid if is_final => {
                match self.payer.agreed_payment(payout, &[record.block]).await? {
                    Some(inclusion) => Some(Fate::Paid { inclusion }),
                    None => Some(Fate::wait(
                        "the vault has paid this request, and not as it was asked for here, or too few \
                         endpoints tell its event alike",
                    )),
                }
            }
            VaultStatus::Paid => {
                Some(Fate::wait("the vault has paid it already; waiting until that is final"))
            }
        })
    }

    /// What the rules say, and whether today has room for what was approved on another day.
    fn allowed(&self, checked: &mut Checked, payout: &Payout) -> Result<Option<Fate>, PayError> {
        if !self.payer.options.pays(payout.request.token) {
            return Ok(Some(Fate::wait(UNKNOWN_TOKEN)));
        }
        let (rules, now) = (&self.payer.options.rules, checked.now);
        let today = UtcDay::of(now);
        let held_on = payout
            .budget_day
            .ok_or_else(|| PayError::strange(payout.id, "it is approved without a day's budget"))?;
        let own = if held_on == today { payout.request.amount } else { U256::ZERO };
        let [day_total, recipient_total] =
            keys(payout, today).map(|key| checked.budgets.tentative(key).saturating_sub(own));
        let is_known_recipient = checked.known_recipients.contains(&payout.request.to);
        let facts = RiskFacts { now, day_total, recipient_total, is_known_recipient };
        match rules.check(&candidate(payout), &facts) {
            RiskVerdict::Passes => {
                if held_on != today {
                    for key in keys(payout, today) {
                        let more = checked.budgets.tentative.entry(key).or_default();
                        *more = more.saturating_add(payout.request.amount);
                    }
                }
                Ok(None)
            }
            RiskVerdict::Waits { until } => {
                let reason = "first payment to this recipient".to_owned();
                Ok(Some(Fate::Wait { reason, until: Some(until) }))
            }
            RiskVerdict::Refused(reason) if reason.passes_with_the_day() => {
                let reason = self.payer.options.refusal(reason, &payout.request, &facts);
                Ok(Some(Fate::Wait { reason, until: Some(today.next().start()) }))
            }
            RiskVerdict::Refused(reason) => {
                let reason = self.payer.options.refusal(reason, &payout.request, &facts);
                Ok(Some(Fate::End { reason }))
            }
        }
    }

    /// Gives back what was held for a payout that will not be made.
    pub(super) fn free(checked: &mut Checked, payout: &Payout) {
        let Some(day) = payout.budget_day else { return };
        for key in keys(payout, day) {
            checked.budgets.change(key, |budget| budget.without(payout.request.amount));
        }
    }
}
