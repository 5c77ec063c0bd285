//! Payouts as rows for bookkeeping, with what each has cost. The oldest come first, page by page.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use windlass_core::error::StoreResult;
use windlass_core::money::Amount;
use windlass_core::payout::gas::Wei;
use windlass_core::payout::ledger::{Approval, Intent, Payout, fees_of};
use windlass_core::payout::memo::{Memo, Reference};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, PayoutQuery, Payouts};
use windlass_core::time::Timestamp;

use super::sheet::{Cell, CellKind, Sheet, SheetColumn};
use super::{Format, Trouble};
use crate::output::time;
use crate::pay::tokens::Tokens;

/// Payouts, as they are exported.
pub(crate) struct PayoutExport<'a> {
    /// Which ones; order and page are not looked at.
    pub(crate) query: PayoutQuery,
    /// In which format.
    pub(crate) format: Format,
    /// The tokens that are configured.
    pub(crate) tokens: &'a Tokens,
}

/// A payout as a row. JSON lines have its fields; the columns of the other formats are the same.
#[derive(Debug, Clone, Serialize)]
struct Record {
    id: String,
    key: String,
    reference: Option<String>,
    memo: Option<String>,
    chain: u64,
    vault: String,
    recipient: String,
    /// The token's symbol, where it is configured.
    token: Option<String>,
    token_address: String,
    /// In whole tokens, exact.
    amount: Option<String>,
    amount_base_units: String,
    state: &'static str,
    created_at: Instant,
    approved_at: Option<Instant>,
    confirmed_at: Option<Instant>,
    finalized_at: Option<Instant>,
    created_by: String,
    /// Separated by commas in CSV and Parquet.
    approvers: Approvers,
    transaction: Option<String>,
    block: Option<u64>,
    block_time: Option<Instant>,
    /// In whole coins of the chain, exact.
    fee: Option<String>,
    fee_wei: Option<String>,
    /// Why it was rejected, has failed, or waits.
    reason: Option<String>,
}

/// An instant, as RFC 3339 in UTC.
#[derive(Debug, Clone, Copy)]
struct Instant(Timestamp);

impl Serialize for Instant {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&time::instant(self.0))
    }
}

/// Who has approved, by name.
#[derive(Debug, Clone, Serialize)]
struct Approvers(Vec<String>);

impl std::fmt::Display for Approvers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

/// The columns, in the order of the fields of [`Record`]: name, kind, whether a cell may be empty.
const COLUMNS: [(&str, CellKind, bool); 24] = [
    ("id", CellKind::Text, false),
    ("key", CellKind::Text, false),
    ("reference", CellKind::Text, true),
    ("memo", CellKind::Text, true),
    ("chain", CellKind::Integer, false),
    ("vault", CellKind::Text, false),
    ("recipient", CellKind::Text, false),
    ("token", CellKind::Text, true),
    ("token_address", CellKind::Text, false),
    ("amount", CellKind::Text, true),
    ("amount_base_units", CellKind::Text, false),
    ("state", CellKind::Text, false),
    ("created_at", CellKind::Instant, false),
    ("approved_at", CellKind::Instant, true),
    ("confirmed_at", CellKind::Instant, true),
    ("finalized_at", CellKind::Instant, true),
    ("created_by", CellKind::Text, false),
    ("approvers", CellKind::Text, false),
    ("transaction", CellKind::Text, true),
    ("block", CellKind::Integer, true),
    ("block_time", CellKind::Instant, true),
    ("fee", CellKind::Text, true),
    ("fee_wei", CellKind::Text, true),
    ("reason", CellKind::Text, true),
];

struct PayoutSheet;

impl Sheet for PayoutSheet {
    type Row = Record;

    fn name(&self) -> &str {
        "payout"
    }

    fn columns(&self) -> Vec<SheetColumn> {
        let column = |(name, kind, is_optional): (&str, CellKind, bool)| SheetColumn {
            name: name.to_owned(),
            kind,
            is_optional,
        };
        COLUMNS.into_iter().map(column).collect()
    }

    fn cell<'r>(&self, row: &'r Record, column: usize) -> Cell<'r> {
        match column {
            0 => Cell::Shown(&row.id),
            1 => Cell::Shown(&row.key),
            2 => text(&row.reference),
            3 => text(&row.memo),
            4 => Cell::integer(row.chain),
            5 => Cell::Shown(&row.vault),
            6 => Cell::Shown(&row.recipient),
            7 => text(&row.token),
            8 => Cell::Shown(&row.token_address),
            9 => text(&row.amount),
            10 => Cell::Shown(&row.amount_base_units),
            11 => Cell::Shown(&row.state),
            12 => Cell::Instant(row.created_at.0),
            13 => instant(row.approved_at),
            14 => instant(row.confirmed_at),
            15 => instant(row.finalized_at),
            16 => Cell::Shown(&row.created_by),
            17 => Cell::Shown(&row.approvers),
            18 => text(&row.transaction),
            19 => row.block.map_or(Cell::Empty, Cell::integer),
            20 => instant(row.block_time),
            21 => text(&row.fee),
            22 => text(&row.fee_wei),
            _ => text(&row.reason),
        }
    }

    fn write_json(&self, row: &Record, out: &mut Vec<u8>) -> io::Result<()> {
        Ok(serde_json::to_writer(out, row)?)
    }

    fn text_bytes(&self, row: &Record) -> usize {
        let texts = [&row.memo, &row.reference, &row.reason].into_iter().flatten();
        row.key.len() + texts.map(String::len).sum::<usize>()
    }
}

fn text(text: &Option<String>) -> Cell<'_> {
    text.as_ref().map_or(Cell::Empty, |text| Cell::Shown(text))
}

fn instant<'r>(at: Option<Instant>) -> Cell<'r> {
    at.map_or(Cell::Empty, |at| Cell::Instant(at.0))
}

impl PayoutExport<'_> {
    /// Writes every payout that is asked for; says how many there were.
    pub(crate) async fn write<W: Write + Send>(
        &self,
        ledger: &dyn Payouts,
        out: &mut W,
    ) -> Result<u64, Trouble> {
        let mut writer = self.format.begin(&PayoutSheet, out)?;
        let page = PayoutQuery { limit: MAX_PAYOUT_PAGE, newest_first: false, ..self.query.clone() };
        let (mut count, mut after) = (0, None);
        loop {
            let payouts = ledger.list_payouts(&PayoutQuery { after, ..page.clone() }).await?;
            let is_last = payouts.len() < MAX_PAYOUT_PAGE as usize;
            after = payouts.last().map(|payout| payout.id);
            count += payouts.len() as u64;
            let records = self.records(ledger, payouts).await?;
            if !records.is_empty() {
                writer.rows(&records)?;
            }
            if is_last {
                break;
            }
        }
        writer.finish()?;
        Ok(count)
    }

    /// A page of payouts, with what belongs to them: two questions for all of them.
    async fn records(&self, ledger: &dyn Payouts, payouts: Vec<Payout>) -> StoreResult<Vec<Record>> {
        let ids: Vec<PayoutId> = payouts.iter().map(|payout| payout.id).collect();
        let mut approvals: BTreeMap<PayoutId, Vec<Approval>> = BTreeMap::new();
        for approval in ledger.approvals(&ids).await? {
            approvals.entry(approval.payout).or_default().push(approval);
        }
        let intents = ledger.intents_of_payouts(&ids).await?;
        let mut of: BTreeMap<PayoutId, Vec<&Intent>> = BTreeMap::new();
        for intent in &intents {
            intent.payouts.iter().for_each(|payout| of.entry(*payout).or_default().push(intent));
        }
        let record = |payout: Payout| {
            let approvals = approvals.remove(&payout.id).unwrap_or_default();
            let intents = of.remove(&payout.id).unwrap_or_default();
            Record::new(self.tokens, payout, approvals, &intents)
        };
        Ok(payouts.into_iter().map(record).collect())
    }
}

impl Record {
    fn new(tokens: &Tokens, payout: Payout, mut approvals: Vec<Approval>, intents: &[&Intent]) -> Self {
        let request = &payout.request;
        let token = tokens.all().get(&request.token);
        let decimal = |token: &windlass_core::money::Token| {
            Amount { units: request.amount, token: token.clone() }.decimal()
        };
        let fee = fees_of(payout.id, intents.iter().copied());
        let paid_in = payout
            .inclusion
            .and_then(|inclusion| intents.iter().find(|intent| intent.inclusion == Some(inclusion))?.receipt);
        approvals.sort_by(|one, other| (one.at, &one.approver).cmp(&(other.at, &other.approver)));
        let was_approved = !matches!(payout.state, PayoutState::PendingRisk | PayoutState::Rejected);
        let approved_at = approvals.last().filter(|_| was_approved).map(|last| Instant(last.at));
        let hold = payout.hold.map(|hold| hold.reason);
        Self {
            id: payout.id.to_string(),
            key: request.key.to_string(),
            reference: payout.reference.map(Reference::into),
            memo: payout.memo.map(Memo::into),
            chain: request.vault.chain.as_u64(),
            vault: request.vault.address.to_string(),
            recipient: request.to.to_string(),
            token: token.map(|token| token.symbol.clone()),
            token_address: request.token.to_string(),
            amount: token.map(decimal),
            amount_base_units: request.amount.to_string(),
            state: payout.state.as_str(),
            created_at: Instant(payout.created_at),
            approved_at,
            confirmed_at: payout.confirmed_at.map(Instant),
            finalized_at: payout.finalized_at.map(Instant),
            created_by: payout.created_by,
            approvers: Approvers(approvals.into_iter().map(|approval| approval.approver).collect()),
            transaction: payout.inclusion.map(|inclusion| inclusion.transaction.to_string()),
            block: payout.inclusion.map(|inclusion| inclusion.block.number),
            block_time: paid_in.map(|receipt| Instant(from_seconds(receipt.block_timestamp_s))),
            fee: fee.map(|fee| Wei(fee).to_string()),
            fee_wei: fee.map(|fee| fee.to_string()),
            reason: payout.reason.or(hold),
        }
    }
}

fn from_seconds(seconds: u64) -> Timestamp {
    Timestamp::from_ms(i64::try_from(seconds.saturating_mul(1_000)).unwrap_or(i64::MAX))
}
