//! A payout by its id, whole or shortened.

use windlass_core::code::Code;
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::partial_id::PartialId;
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::store::{PayoutQuery, Payouts};

use crate::failure::Failure;
use crate::output::time;

/// The most candidates that are listed for an ambiguous id.
const MAX_CANDIDATES: u32 = 10;

/// The one payout whose id begins or ends with these digits. A whole id is not looked up.
pub(crate) async fn payout_id(ledger: &dyn Payouts, id: PartialId) -> Result<PayoutId, Failure> {
    if let Some(id) = id.whole() {
        return Ok(id);
    }
    let mut found: Vec<Payout> = Vec::new();
    for query in [id.prefix_query(), id.suffix_query()].into_iter().flatten() {
        let query = PayoutQuery { limit: MAX_CANDIDATES + 1, newest_first: true, ..query };
        found.extend(ledger.list_payouts(&query).await?);
    }
    found.sort_unstable_by_key(|payout| payout.id);
    found.dedup_by_key(|payout| payout.id);
    match found.as_slice() {
        [one] => Ok(one.id),
        [] => Err(missing(format_args!("no payout's id begins or ends with {id}"))),
        many => Err(ambiguous(id, many)),
    }
}

/// There is no such payout.
pub(crate) fn missing(message: impl std::fmt::Display) -> Failure {
    Failure::coded(Code::PayoutMissing, message).hint("`windlass payout list` shows what there is")
}

fn ambiguous(id: PartialId, candidates: &[Payout]) -> Failure {
    let shown = candidates.len().min(MAX_CANDIDATES as usize);
    let line = |payout: &Payout| {
        let at = time::instant(payout.created_at);
        format!("{}  {}  created {at}  key {}", payout.id, payout.state, payout.request.key)
    };
    let more = (candidates.len() > shown).then(|| "… and more".to_owned());
    Failure::coded(Code::PayoutMissing, format_args!("{id} is a part of more than one payout's id"))
        .details(candidates.iter().take(shown).map(line).chain(more))
        .hint("give more digits of it")
}
