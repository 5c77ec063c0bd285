//! What enough endpoints say alike: two, or the only one that there is. What cannot be undone, and what is
//! published, is decided by this and never by one endpoint's answer.

use std::collections::{BTreeMap, HashMap, HashSet};

use windlass_core::chain::{B256, Bytes};
use windlass_core::event::LogEvent;
use windlass_core::payout::ledger::{Inclusion, Payout};
use windlass_core::payout::submit::{Call, CallOutcome};
use windlass_core::payout::vault::answer::{self, VaultRecord, VaultStatus};
use windlass_core::payout::vault::calldata::{self, MAX_BATCH};
use windlass_core::payout::vault::event::{VaultEvent, filter_of};
use windlass_core::payout::vault::refusal::VaultRefusal;
use windlass_core::range::BlockRange;
use windlass_core::reader::{
    AnswerFault, BlockTag, ChainError, ChainErrorKind, EndpointAnswer, FalseAnswer, LogFilter, LogSpan,
    agreed, is_quorum,
};

use super::error::PayError;
use super::payer::Payer;
use super::vault::{inclusion, is_as_asked, read_outcome};

/// Why a payout waits of which endpoints tell different things.
pub(super) const DISPUTED: &str = "the endpoints of the vault's chain do not agree whether and where the vault has paid \
                                   or cancelled it, or too few of them answer";

/// An event of the vault, and where it is.
pub(super) type Told = (VaultEvent, Inclusion);

/// What the endpoints tell of the vault's events in a range of final blocks.
#[derive(Debug, Default)]
pub(super) struct AgreedEvents {
    /// Those that enough endpoints tell alike, in the order of the blocks.
    pub(super) events: Vec<Told>,
    /// How many others some endpoint tells of, while too few say that they are not there.
    pub(super) disputed: usize,
    /// Whether enough endpoints have answered, or those that have not never will.
    pub(super) is_heard: bool,
}

/// The answers to a question about events.
#[derive(Default)]
struct Answers {
    told: Vec<(String, HashSet<Told>)>,
    /// How many were asked, those that were left out among them.
    asked: usize,
    errors: Vec<PayError>,
}

impl Answers {
    fn is_enough(&self) -> bool {
        is_quorum(self.told.len(), self.asked)
    }

    /// Whether whoever has not answered refuses the question itself: it keeps no such old logs.
    fn are_others_refusing(&self) -> bool {
        let is_refusal = |error: &PayError| matches!(error, PayError::Chain(error) if error.kind == ChainErrorKind::Refused);
        self.told.len() + self.errors.len() >= self.asked && self.errors.iter().all(is_refusal)
    }

    /// The error that tells best why there are too few answers.
    fn into_error(mut self) -> PayError {
        let is_too_large = |error: &PayError| matches!(error, PayError::Chain(error) if is_too_large(error));
        let place = self.errors.iter().position(is_too_large).unwrap_or(0);
        if place < self.errors.len() {
            return self.errors.swap_remove(place);
        }
        ChainError::new(ChainErrorKind::Unreachable, "no endpoint tells of the vault's events").into()
    }
}

/// Whether an endpoint wants a smaller range.
pub(super) const fn is_too_large(error: &ChainError) -> bool {
    matches!(error.kind, ChainErrorKind::RangeTooLarge { .. })
}

impl Payer {
    /// What enough endpoints say of each of these requests at a block; `None` for those of which they do
    /// not say the same, or too few of them answer.
    pub(super) async fn agreed_records(
        &self,
        ids: &[B256],
        at: BlockTag,
    ) -> Result<Vec<Option<VaultRecord>>, PayError> {
        let mut records = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MAX_BATCH) {
            let call = self.call_of(calldata::request_states(ids));
            let (mut told, mut refused): (Vec<Vec<VaultRecord>>, _) = (Vec::new(), None);
            let answers = self.chain.call_from_each(&call, at).await;
            let asked = answers.len();
            for EndpointAnswer { answer, .. } in answers {
                let read = |told: &Bytes| answer::request_states(ids.len(), told);
                match answer.map_err(PayError::from).and_then(|outcome| read_outcome(outcome, read)) {
                    Ok(found) => told.push(found),
                    Err(error) => refused = Some(error),
                }
            }
            if let (true, Some(error)) = (told.is_empty(), refused) {
                return Err(error);
            }
            records.extend((0..ids.len()).map(|place| {
                let of_one: Vec<VaultRecord> = told.iter().map(|records| records[place]).collect();
                agreed(&of_one, asked).copied()
            }));
        }
        Ok(records)
    }

    /// The same at a block, and for those of which nothing is agreed there at one below it, which endpoints
    /// have that are behind.
    pub(super) async fn agreed_records_behind(
        &self,
        ids: &[B256],
        at: u64,
        below: u64,
    ) -> Result<Vec<Option<VaultRecord>>, PayError> {
        let mut records = self.agreed_records(ids, BlockTag::Number(at)).await?;
        let open: Vec<usize> = (0..ids.len()).filter(|place| records[*place].is_none()).collect();
        if below < at && !open.is_empty() {
            let asked: Vec<B256> = open.iter().map(|place| ids[*place]).collect();
            let found = self.agreed_records(&asked, BlockTag::Number(below)).await?;
            open.into_iter().zip(found).for_each(|(place, record)| records[place] = record);
        }
        Ok(records)
    }

    /// The vault's first block: where the endpoints do not agree, the lowest that one of them tells.
    pub(super) async fn deployed_at(&self) -> Result<u64, PayError> {
        let call = self.call_of(calldata::deployed_at_block());
        let answers = self.chain.call_from_each(&call, BlockTag::Latest).await;
        let (asked, mut told, mut refused) = (answers.len(), Vec::new(), None);
        for EndpointAnswer { answer, .. } in answers {
            let read = |told: &Bytes| answer::deployed_at_block(told);
            match answer.map_err(PayError::from).and_then(|outcome| read_outcome(outcome, read)) {
                Ok(block) => told.push(block),
                Err(error) => refused = Some(error),
            }
        }
        let lowest = || told.iter().min().copied();
        let unanswered =
            || ChainError::new(ChainErrorKind::Unreachable, "no endpoint tells the vault's block");
        let block = agreed(&told, asked).copied().or_else(lowest);
        block.ok_or_else(|| refused.unwrap_or_else(|| unanswered().into()))
    }

    /// Where the vault paid a payout, as asked, by its event in one of these blocks as enough endpoints
    /// tell it.
    pub(super) async fn agreed_payment(
        &self,
        payout: &Payout,
        blocks: &[u64],
    ) -> Result<Option<Inclusion>, PayError> {
        let id = payout.request.request_id();
        let filter = filter_of(self.options.vault.address, &[id]);
        for block in blocks {
            let told = self.agreed_events(BlockRange { from: *block, to: *block }, &filter).await?;
            let mut of_it = told.events.into_iter().filter(|(event, _)| event.request_id() == id);
            match of_it.next() {
                Some((VaultEvent::PayoutExecuted(paid), at)) if is_as_asked(payout, &paid) => {
                    return Ok(Some(at));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Where enough endpoints have the vault pay each payout: `None` where a payment is not final, not told
    /// by enough of them, or no payment.
    pub(super) async fn agreed_payments(
        &self,
        last_final: u64,
        payouts: &[Payout],
        records: &[VaultRecord],
    ) -> Result<Vec<Option<Inclusion>>, PayError> {
        let mut found = Vec::with_capacity(payouts.len());
        for (payout, record) in payouts.iter().zip(records) {
            let is_final = record.status == VaultStatus::Paid && record.block <= last_final;
            found.push(match is_final {
                true => self.agreed_payment(payout, &[record.block]).await?,
                false => None,
            });
        }
        Ok(found)
    }

    /// How enough endpoints have the vault refuse a call, and for which request; the inner `None` where they
    /// have it pay. `None` where they do not say the same, or too few of them answer.
    pub(super) async fn agreed_refusal(&self, call: &Call, at: BlockTag) -> Option<Option<VaultRefusal>> {
        let answers = self.chain.call_from_each(call, at).await;
        let asked = answers.len();
        let read = |outcome| match outcome {
            CallOutcome::Reverted { data, message } => Some(VaultRefusal::read(&data, &message)),
            CallOutcome::Returned(_) => None,
        };
        let told: Vec<Option<VaultRefusal>> =
            answers.into_iter().filter_map(|one| one.answer.ok()).map(read).collect();
        // Endpoints put the same refusal into words of their own.
        let named = |refusal: &VaultRefusal| (refusal.name.clone(), refusal.request_id);
        let names: Vec<_> = told.iter().map(|refusal| refusal.as_ref().map(named)).collect();
        let name = agreed(&names, asked)?;
        names.iter().position(|other| other == name).and_then(|place| told.into_iter().nth(place))
    }

    /// The vault's events in a range of blocks. Endpoints whose answers two others contradict are reported.
    pub(super) async fn agreed_events(
        &self,
        range: BlockRange,
        filter: &LogFilter,
    ) -> Result<AgreedEvents, PayError> {
        let answers = self.events_from_each(range, filter).await;
        let is_heard = answers.is_enough() || answers.are_others_refusing();
        let wants_less = |error: &PayError| matches!(error, PayError::Chain(error) if is_too_large(error));
        let is_too_large = range.from < range.to && answers.errors.iter().any(wants_less);
        if answers.told.is_empty() || (!answers.is_enough() && is_too_large) {
            return Err(answers.into_error());
        }
        let mut counts: HashMap<Told, usize> = HashMap::new();
        answers.told.iter().flat_map(|(_, events)| events).for_each(|event| {
            *counts.entry(*event).or_default() += 1;
        });
        let mut found = AgreedEvents { is_heard, ..AgreedEvents::default() };
        let mut faults: BTreeMap<&str, AnswerFault> = BTreeMap::new();
        for (event, telling) in counts {
            let denying = answers.told.len() - telling;
            let is_there = is_quorum(telling, answers.asked) && telling > denying;
            let is_made_up = is_quorum(denying, answers.asked) && denying > telling;
            match (is_there, is_made_up) {
                (true, _) => found.events.push(event),
                (false, true) => {}
                (false, false) => found.disputed += 1,
            }
            let is_false = |events: &HashSet<Told>| {
                (is_there && !events.contains(&event)) || (is_made_up && events.contains(&event))
            };
            let fault = if is_there { AnswerFault::MissingLogs } else { AnswerFault::WrongLogs };
            let liars = answers.told.iter().filter(|(_, events)| is_false(events));
            faults.extend(liars.map(|(endpoint, _)| (endpoint.as_str(), fault)));
        }
        for (endpoint, fault) in faults {
            self.chain.report_false_answer(endpoint, &FalseAnswer { blocks: range, fault });
        }
        found.events.sort_by_key(|(event, at)| (at.block.number, at.transaction, event.request_id()));
        Ok(found)
    }

    async fn events_from_each(&self, range: BlockRange, filter: &LogFilter) -> Answers {
        let told = self.chain.logs_from_each(LogSpan::Range(range), filter).await;
        // Endpoints whose logs were proven false are not asked: they count as not heard.
        let asked = told.len().max(self.chain.endpoint_names().len());
        let mut answers = Answers { asked, ..Answers::default() };
        for EndpointAnswer { endpoint, answer } in told {
            match answer.map_err(PayError::from).and_then(|logs| self.read_events(range, &logs)) {
                Ok(events) => answers.told.push((endpoint, events)),
                Err(error) => {
                    tracing::debug!(endpoint, %error, "an endpoint does not tell of the vault's events");
                    answers.errors.push(error);
                }
            }
        }
        answers
    }

    fn read_events(&self, range: BlockRange, logs: &[LogEvent]) -> Result<HashSet<Told>, PayError> {
        let mut events = HashSet::with_capacity(logs.len());
        for log in logs {
            if !(range.from..=range.to).contains(&log.block.number) {
                let why = format!("a log of block {} where {range:?} was asked for", log.block.number);
                return Err(ChainError::new(ChainErrorKind::Malformed, why).into());
            }
            if let Some(event) = VaultEvent::read(self.options.vault, log)? {
                events.insert((event, inclusion(log)));
            }
        }
        Ok(events)
    }
}
