//! Payouts.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio_postgres::Row;
use windlass_core::chain::{Address, U256};
use windlass_core::error::StoreResult;
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::{Hold, OpenTotalLimit, Payout};
use windlass_core::payout::memo::{Memo, Reference};
use windlass_core::payout::partial_id::IdSuffix;
use windlass_core::payout::request::{IdempotencyKey, PayoutId, PayoutRequest, VaultRef};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, PayoutQuery};
use windlass_core::time::Timestamp;

use super::ids::readable;
use super::put_rows;
use super::value::{chain, hex, inclusion, intent_id, nothing, number, optional_timestamp};
use crate::error::Outcome;
use crate::row::{address, damaged, get, hash, name, optional_name, signed, timestamp, unsigned};
use crate::tx::{Param, Tx};

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, version, key, chain_id, vault, token, recipient, amount::text, created_by, \
                 created_at_ms, retry_of, state, updated_at_ms, reason, hold_reason, hold_until_ms, \
                 budget_day, intent_signer, intent_nonce, transaction_hash, block_number, block_hash, \
                 submitted_at_ms, confirmed_at_ms, finalized_at_ms, mac, memo, reference, request_id \
             FROM payout ",
            $rest
        )
    };
}

const INSERT: &str = "INSERT INTO payout (id, version, key, request_id, chain_id, vault, token, recipient, \
         amount, created_by, created_at_ms, retry_of, state, updated_at_ms, mac, memo, reference) \
     SELECT id, 1, key, decode(request_id, 'hex'), chain_id, decode(vault, 'hex'), decode(token, 'hex'), \
         decode(recipient, 'hex'), amount::numeric, created_by, created_at_ms, retry_of, state, \
         updated_at_ms, decode(mac, 'hex'), memo, reference \
     FROM jsonb_to_recordset($1::text::jsonb) AS r (id text, key text, request_id text, chain_id bigint, \
         vault text, token text, recipient text, amount text, created_by text, created_at_ms bigint, \
         retry_of text, state text, updated_at_ms bigint, mac text, memo text, reference text) \
     ORDER BY id";

/// In the order of ids, so that two commits do not lock each other out.
const LOCK: &str = "SELECT 1 FROM payout WHERE id = ANY($1) ORDER BY id FOR UPDATE";

const UPDATE: &str = "UPDATE payout p SET version = r.version, state = r.state, \
         updated_at_ms = r.updated_at_ms, reason = r.reason, hold_reason = r.hold_reason, \
         hold_until_ms = r.hold_until_ms, budget_day = r.budget_day, \
         intent_signer = decode(r.intent_signer, 'hex'), intent_nonce = r.intent_nonce, \
         transaction_hash = decode(r.transaction_hash, 'hex'), block_number = r.block_number, \
         block_hash = decode(r.block_hash, 'hex'), submitted_at_ms = r.submitted_at_ms, \
         confirmed_at_ms = r.confirmed_at_ms, finalized_at_ms = r.finalized_at_ms, \
         mac = decode(r.mac, 'hex') \
     FROM jsonb_to_recordset($1::text::jsonb) AS r (id text, version bigint, state text, \
         updated_at_ms bigint, reason text, hold_reason text, hold_until_ms bigint, budget_day bigint, \
         intent_signer text, intent_nonce bigint, transaction_hash text, block_number bigint, \
         block_hash text, submitted_at_ms bigint, confirmed_at_ms bigint, finalized_at_ms bigint, \
         mac text) \
     WHERE p.id = r.id AND p.version = r.version - 1";

/// Makes payouts, or replaces them by the version that follows. A statement takes no
/// row twice, so a payout that comes again begins the next one.
pub(super) async fn put(tx: &Tx, payouts: &[Payout]) -> Outcome<()> {
    let mut rest = payouts;
    while let Some(first) = rest.first() {
        let is_new = first.version == 1;
        let mut seen = std::collections::HashSet::new();
        let run =
            rest.iter().take_while(|next| (next.version == 1) == is_new && seen.insert(next.id)).count();
        let (run, behind) = rest.split_at(run);
        if is_new {
            insert(tx, run).await?
        } else {
            update(tx, run).await?
        }
        rest = behind;
    }
    Ok(())
}

async fn insert(tx: &Tx, payouts: &[Payout]) -> Outcome<()> {
    let rows = Value::Array(payouts.iter().map(asked).collect()).to_string();
    let what = || format!("payout {} or its key, or one of those with it", payouts[0].id);
    put_rows(tx, what, payouts.len(), INSERT, &[&rows]).await
}

pub(super) async fn update(tx: &Tx, payouts: &[Payout]) -> Outcome<()> {
    if payouts.len() > 1 {
        let ids: Vec<String> = payouts.iter().map(|payout| payout.id.to_string()).collect();
        tx.query(LOCK, &[&ids]).await?;
    }
    let rows: Vec<Value> = payouts.iter().map(stands).collect::<StoreResult<_>>()?;
    let what = || match payouts {
        [one] => format!("payout {}", one.id),
        many => format!("payout {} or one of the {} with it", many[0].id, many.len() - 1),
    };
    put_rows(tx, what, payouts.len(), UPDATE, &[&Value::Array(rows).to_string()]).await
}

/// What never changes.
fn asked(payout: &Payout) -> Value {
    let request = &payout.request;
    json!({
        "id": payout.id,
        "key": request.key,
        "request_id": hex(request.request_id()),
        "chain_id": request.vault.chain.as_i64(),
        "vault": hex(request.vault.address),
        "token": hex(request.token),
        "recipient": hex(request.to),
        "amount": request.amount.to_string(),
        "created_by": payout.created_by,
        "created_at_ms": payout.created_at.as_ms(),
        "retry_of": payout.retry_of,
        "state": payout.state.as_str(),
        "updated_at_ms": payout.updated_at.as_ms(),
        "mac": hex(payout.mac),
        "memo": payout.memo,
        "reference": payout.reference,
    })
}

/// What changes.
fn stands(payout: &Payout) -> StoreResult<Value> {
    let ms = |at: Option<Timestamp>| at.map(Timestamp::as_ms);
    let at = payout.inclusion.as_ref();
    Ok(json!({
        "id": payout.id,
        "version": payout.version,
        "state": payout.state.as_str(),
        "updated_at_ms": payout.updated_at.as_ms(),
        "reason": payout.reason,
        "hold_reason": payout.hold.as_ref().map(|hold| &hold.reason),
        "hold_until_ms": payout.hold.as_ref().and_then(|hold| ms(hold.until)),
        "budget_day": payout.budget_day.map(|day| day.0),
        "intent_signer": payout.intent.map(|intent| hex(intent.signer)),
        "intent_nonce": payout.intent.map(|intent| signed("nonce", intent.nonce)).transpose()?,
        "transaction_hash": at.map(|at| hex(at.transaction)),
        "block_number": at.map(|at| signed("block", at.block.number)).transpose()?,
        "block_hash": at.map(|at| hex(at.block.hash)),
        "submitted_at_ms": ms(payout.submitted_at),
        "confirmed_at_ms": ms(payout.confirmed_at),
        "finalized_at_ms": ms(payout.finalized_at),
        "mac": hex(payout.mac),
    }))
}

pub(super) async fn of_ids(tx: &Tx, ids: &[String]) -> Outcome<Vec<Payout>> {
    Ok(read_all(&tx.query(select!("WHERE id = ANY($1) ORDER BY id"), &[&ids]).await?))
}

pub(super) async fn of_keys(tx: &Tx, keys: &[&str]) -> Outcome<Vec<Payout>> {
    Ok(read_all(&tx.query(select!("WHERE key = ANY($1) ORDER BY id"), &[&keys]).await?))
}

pub(super) async fn of_requests(tx: &Tx, ids: &[&[u8]]) -> Outcome<Vec<Payout>> {
    Ok(read_all(&tx.query(select!("WHERE request_id = ANY($1) ORDER BY id"), &[&ids]).await?))
}

/// A page of payouts.
pub(super) async fn list(tx: &Tx, query: &PayoutQuery) -> Outcome<Vec<Payout>> {
    let (behind, order) = if query.newest_first { ("id <", "DESC") } else { ("id >", "ASC") };
    let state = query.state.map(PayoutState::as_str);
    let amount = query.amount.map(|amount| amount.to_string());
    let key = query.key.as_ref().map(IdempotencyKey::as_str);
    let [retry_of, from, before, after] =
        [query.retry_of, query.from, query.before, query.after].map(|id| id.map(|id| id.to_string()));
    let [to, token] = [&query.to, &query.token].map(|address| address.as_ref().map(|it| it.as_slice()));
    let reference = query.reference.as_ref().map(Reference::as_str);
    let suffix = query.id_suffix.as_ref().map(IdSuffix::indexed);
    let like = query.id_suffix.as_ref().map(|suffix| format!("%{}", suffix.digits()));
    let wanted: [(&str, &str, Option<Param<'_>>); 12] = [
        ("state =", "", state.as_ref().map(|it| it as Param<'_>)),
        ("retry_of =", "", retry_of.as_ref().map(|it| it as Param<'_>)),
        ("recipient =", "", to.as_ref().map(|it| it as Param<'_>)),
        ("token =", "", token.as_ref().map(|it| it as Param<'_>)),
        ("amount =", "::text::numeric", amount.as_ref().map(|it| it as Param<'_>)),
        ("key =", "", key.as_ref().map(|it| it as Param<'_>)),
        ("reference =", "", reference.as_ref().map(|it| it as Param<'_>)),
        ("substr(id, 31) =", "", suffix.as_ref().map(|it| it as Param<'_>)),
        ("replace(id, '-', '') LIKE", "", like.as_ref().map(|it| it as Param<'_>)),
        ("id >=", "", from.as_ref().map(|it| it as Param<'_>)),
        ("id <", "", before.as_ref().map(|it| it as Param<'_>)),
        (behind, "", after.as_ref().map(|it| it as Param<'_>)),
    ];
    let (mut conditions, mut params): (Vec<String>, Vec<Param<'_>>) =
        (vec![readable!(payout).to_owned()], Vec::new());
    for (condition, cast, value) in wanted {
        if let Some(value) = value {
            params.push(value);
            conditions.push(format!("{condition} ${}{cast}", params.len()));
        }
    }
    let limit = i64::from(query.limit.min(MAX_PAYOUT_PAGE));
    params.push(&limit);
    let conditions = conditions.join(" AND ");
    let sql = format!("{}WHERE {conditions} ORDER BY id {order} LIMIT ${}", select!(""), params.len());
    Ok(read_all(&tx.query(&sql, &params).await?))
}

/// How many payouts stand where.
pub(super) async fn count(tx: &Tx) -> Outcome<Vec<(PayoutState, u64)>> {
    let rows = tx.query("SELECT state, count(*) FROM payout GROUP BY state", &[]).await?;
    let mut counts: Vec<(PayoutState, u64)> =
        // A row of an unknown state is refused wherever it is read.
        rows.iter().filter_map(|row| Some((name(row, 0).ok()?, unsigned(row, 1).ok()?))).collect();
    counts.sort_unstable();
    Ok(counts)
}

/// How many payouts of each vault are not in a block yet.
pub(super) async fn count_waiting(tx: &Tx) -> Outcome<Vec<(VaultRef, u64)>> {
    let sql = "SELECT chain_id, vault, count(*) FROM payout WHERE state IN ('PENDING_RISK', 'APPROVED', 'SUBMITTED') \
         GROUP BY chain_id, vault ORDER BY chain_id, vault";
    let rows = tx.query(sql, &[]).await?;
    // Rows of a vault that cannot be read are refused wherever they are read.
    let count = |row: &Row| {
        let (chain, address) = (chain(row, 0).ok()?, address(row, 1).ok()?);
        Some(unsigned(row, 2).map(|count| (VaultRef { chain, address }, count)))
    };
    rows.iter().filter_map(count).collect()
}

/// For each of these recipients that has one a confirmed payout of a vault. One row each is looked
/// for, however many there are.
pub(super) async fn paid_to(tx: &Tx, vault: VaultRef, to: &[Address]) -> Outcome<Vec<Payout>> {
    let to: BTreeSet<&[u8]> = to.iter().map(|address| address.as_slice()).collect();
    let to: Vec<&[u8]> = to.into_iter().collect();
    let sql = select!(
        "WHERE id IN (SELECT one.id FROM unnest($3::bytea[]) AS wanted(recipient), LATERAL ( \
             SELECT id FROM payout WHERE chain_id = $1 AND vault = $2 AND payout.recipient = wanted.recipient \
                 AND state = 'CONFIRMED' LIMIT 1) AS one) \
         ORDER BY recipient"
    );
    let rows = tx.query(sql, &[&vault.chain.as_i64(), &vault.address.as_slice(), &to]).await?;
    Ok(read_all(&rows))
}

/// How much of a token is submitted and not in a block yet.
pub(super) async fn open_total(tx: &Tx, vault: VaultRef, token: Address) -> Outcome<U256> {
    // An amount that is none is of a row that is refused wherever it is read.
    let sql = "SELECT LEAST(COALESCE(sum(amount), 0), 2::numeric ^ 256 - 1)::numeric(78, 0)::text FROM payout \
               WHERE amount >= 0 AND amount < 2::numeric ^ 256 AND state = 'SUBMITTED' AND block_number IS NULL AND chain_id = $1 AND vault = $2 AND token = $3";
    let params = (vault.chain.as_i64(), vault.address, token);
    let row = tx.query_one(sql, &[&params.0, &params.1.as_slice(), &params.2.as_slice()]).await?;
    number(&row, 0)
}

/// Refuses the commit where more is on its way. Commits of payouts come one after another here:
/// each has locked the end of the audit log by now.
pub(super) async fn check_open_total(tx: &Tx, limit: &OpenTotalLimit) -> Outcome<()> {
    tx.query_one("SELECT seq FROM audit_head FOR UPDATE", &[]).await?;
    Ok(limit.check(open_total(tx, limit.vault, limit.token).await?)?)
}

fn read_all(rows: &[Row]) -> Vec<Payout> {
    rows.iter().filter_map(read).collect()
}

/// A payout, readable or not; nothing where its id cannot be read.
fn read(row: &Row) -> Option<Payout> {
    let id = name(row, 0).ok()?;
    Some(read_columns(id, row).unwrap_or_else(|_| Payout::unreadable(id)))
}

fn read_columns(id: PayoutId, row: &Row) -> Outcome<Payout> {
    let vault = VaultRef { chain: chain(row, 3)?, address: address(row, 4)? };
    let key = IdempotencyKey::new(get::<String>(row, 2)?).map_err(|error| damaged(error.to_string()))?;
    let until = optional_timestamp(row, 15)?;
    let payout = Payout {
        id,
        version: get(row, 1)?,
        request: PayoutRequest {
            vault,
            token: address(row, 5)?,
            to: address(row, 6)?,
            amount: number(row, 7)?,
            key,
        },
        created_by: get(row, 8)?,
        created_at: timestamp(row, 9)?,
        retry_of: optional_name(row, 10)?,
        state: name(row, 11)?,
        updated_at: timestamp(row, 12)?,
        reason: get(row, 13)?,
        hold: match get::<Option<String>>(row, 14)? {
            Some(reason) => Some(Hold { reason, until }),
            None => nothing(row, &[15])?,
        },
        budget_day: get::<Option<i64>>(row, 16)?.map(UtcDay),
        intent: intent_id(row, vault.chain, 17)?,
        inclusion: inclusion(row, 19)?,
        submitted_at: optional_timestamp(row, 22)?,
        confirmed_at: optional_timestamp(row, 23)?,
        finalized_at: optional_timestamp(row, 24)?,
        mac: hash(row, 25)?,
        memo: get::<Option<String>>(row, 26)?
            .map(Memo::new)
            .transpose()
            .map_err(|error| damaged(error.to_string()))?,
        reference: get::<Option<String>>(row, 27)?
            .map(Reference::new)
            .transpose()
            .map_err(|error| damaged(error.to_string()))?,
    };
    Ok(payout.stored_under(hash(row, 28)?))
}
