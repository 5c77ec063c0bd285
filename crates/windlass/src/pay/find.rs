//! A payout by its id, whole or shortened, or by its idempotency key.

use std::fmt;
use std::str::FromStr;

use windlass_core::code::Code;
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::partial_id::PartialId;
use windlass_core::payout::request::{IdempotencyKey, PayoutId};
use windlass_core::payout::store::{PayoutQuery, Payouts};

use crate::failure::Failure;
use crate::output::{self, time};

/// The most candidates that are listed for an ambiguous name.
const MAX_CANDIDATES: u32 = 10;

/// What a command was given to name a payout: an id or a part of one, a key, or a text that can be both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PayoutName {
    text: String,
    id: Option<PartialId>,
    key: Option<IdempotencyKey>,
}

impl FromStr for PayoutName {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (id, key) = (text.parse::<PartialId>(), IdempotencyKey::new(text));
        match (&id, &key) {
            (Err(error), Err(_)) => Err(format!("{error}, or its idempotency key")),
            _ => Ok(Self { text: text.to_owned(), id: id.ok(), key: key.ok() }),
        }
    }
}

impl fmt::Display for PayoutName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The one payout with this id, whose id begins or ends like this, or with this key. A match by key is
/// said. A whole id of a payout stands for that payout, whatever key another one has.
pub(crate) async fn payout(ledger: &dyn Payouts, name: &PayoutName) -> Result<PayoutId, Failure> {
    let of_key = of_key(ledger, name).await?;
    let of_id = match name.id {
        Some(id) => of_id(ledger, id).await?,
        None => Vec::new(),
    };
    match (of_id.as_slice(), of_key) {
        ([one], None) => Ok(one.id),
        ([one], Some(key)) if one.id == key.id || name.is_whole() => Ok(one.id),
        ([], Some(payout)) => {
            output::note(&format!("`{name}` is the key of payout {}", payout.id));
            Ok(payout.id)
        }
        ([], None) if name.is_whole() => Err(missing(format_args!("there is no payout {name}"))),
        ([], None) if name.id.is_some() => Err(missing(format_args!(
            "no payout's id begins or ends with {name}, and no payout has the key `{name}`"
        ))),
        ([], None) => Err(missing(format_args!("no payout has the key `{name}`"))),
        (many, of_key) => {
            let mut candidates = many.to_vec();
            candidates.extend(of_key.filter(|payout| many.iter().all(|other| other.id != payout.id)));
            Err(ambiguous(name, &candidates))
        }
    }
}

impl PayoutName {
    /// Whether a whole id was given.
    fn is_whole(&self) -> bool {
        self.id.is_some_and(|id| id.whole().is_some())
    }
}

/// The payout with this key.
pub(crate) async fn of_key(ledger: &dyn Payouts, name: &PayoutName) -> Result<Option<Payout>, Failure> {
    match &name.key {
        Some(key) => Ok(ledger.payouts_of_keys(std::slice::from_ref(key)).await?.pop()),
        None => Ok(None),
    }
}

/// The one payout whose id begins or ends with these digits. A whole id is not looked up.
pub(crate) async fn payout_id(ledger: &dyn Payouts, id: PartialId) -> Result<PayoutId, Failure> {
    if let Some(id) = id.whole() {
        return Ok(id);
    }
    match of_id(ledger, id).await?.as_slice() {
        [one] => Ok(one.id),
        [] => Err(missing(format_args!("no payout's id begins or ends with {id}"))),
        many => Err(ambiguous(id, many)),
    }
}

/// Payouts whose id this is, or begins or ends like this.
async fn of_id(ledger: &dyn Payouts, id: PartialId) -> Result<Vec<Payout>, Failure> {
    if let Some(id) = id.whole() {
        return Ok(ledger.payouts(&[id]).await?);
    }
    let mut found: Vec<Payout> = Vec::new();
    for query in [id.prefix_query(), id.suffix_query()].into_iter().flatten() {
        let query = PayoutQuery { limit: MAX_CANDIDATES + 1, newest_first: true, ..query };
        found.extend(ledger.list_payouts(&query).await?);
    }
    found.sort_unstable_by_key(|payout| payout.id);
    found.dedup_by_key(|payout| payout.id);
    Ok(found)
}

/// There is no such payout.
pub(crate) fn missing(message: impl fmt::Display) -> Failure {
    Failure::coded(Code::PayoutMissing, message).hint("`windlass payout list` shows what there is")
}

fn ambiguous(name: impl fmt::Display, candidates: &[Payout]) -> Failure {
    let shown = candidates.len().min(MAX_CANDIDATES as usize);
    let line = |payout: &Payout| {
        let at = time::instant(payout.created_at);
        format!("{}  {}  created {at}  key {}", payout.id, payout.state, payout.request.key)
    };
    let more = (candidates.len() > shown).then(|| "… and more".to_owned());
    let message = format_args!("{name} is a part of more than one payout's id, or also another payout's key");
    Failure::coded(Code::PayoutMissing, message)
        .details(candidates.iter().take(shown).map(line).chain(more))
        .hint("give more digits of the id, or all of them")
}
