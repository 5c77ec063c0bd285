//! Asks the endpoints about one block, and judges what they say.

use std::sync::atomic::Ordering;

use windlass_core::bloom::{BloomFit, has_room};
use windlass_core::chain::{B256, BlockHeader};
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::reader::{
    AnswerFault, BlockTag, ChainError, ChainErrorKind, ChainReader, EndpointAnswer, FalseAnswer, Header,
    LogFilter, LogSpan,
};

use super::{Account, Doubt, HeaderProof, Judgement, Proof, StoredBlock, Verdict, judge};
use crate::collect::block_logs;
use crate::collect::chain::CollectedChain;
use crate::collect::error::CollectError;
use crate::collect::resolve::is_passing;
use crate::collect::routing::Routing;

/// What was found out about a block.
pub(in crate::collect) struct Judged {
    /// Its header, as endpoints agree on it; `None` where they do not.
    pub(in crate::collect) header: Option<Header>,
    /// What is to become of what is stored of it.
    pub(in crate::collect) verdict: Verdict,
    /// Its wanted logs, where the verdict says which those are.
    pub(in crate::collect) logs: Vec<LogEvent>,
    /// Whether it has logs that its bloom has no room for, and they are proven.
    pub(in crate::collect) has_logs_outside_bloom: bool,
    /// Whether nothing but the word of the only endpoint is behind it.
    pub(in crate::collect) is_lone_word: bool,
    /// Endpoints whose logs of it were proven false.
    pub(in crate::collect) false_answers: Vec<(String, FalseAnswer)>,
}

/// What some endpoints say alike.
struct Voice {
    endpoints: Vec<String>,
    is_receipts: bool,
    /// All logs of the block.
    all: Vec<LogEvent>,
    /// Those that are wanted.
    wanted: Vec<LogEvent>,
}

/// Asks every endpoint about a block and judges what is stored of it. An error only when no
/// endpoint answers at all.
pub(in crate::collect) async fn judge_block(
    chain: &CollectedChain,
    reader: &dyn ChainReader,
    routing: &Routing,
    number: u64,
    is_bloom_whole: bool,
) -> Result<Judged, CollectError> {
    let (header, proof) = match ask_header(reader, number).await? {
        Some(Agreed { proof: HeaderProof::None | HeaderProof::Hash, is_partial: true, .. }) => {
            // That it is on the chain is one endpoint's word, whatever it hashes to.
            return Ok(doubtful(Doubt::Unheard));
        }
        Some(Agreed { header, proof, .. }) if !is_stored_otherwise(chain, &header.block).await? => {
            (header, proof)
        }
        _ => return Ok(doubtful(Doubt::Headers)),
    };
    let stored = StoredBlock::read(&*chain.store, chain.options.chain, routing, number).await?;
    // Some endpoints refuse questions without a contract, and tell receipts.
    let Heard { mut voices, is_partial, refusal } = ask_logs(reader, &header, &routing.filter).await;
    let judged = |voices: &[Voice]| {
        let accounts: Vec<Account> =
            voices.iter().map(|voice| account(voice, &header, routing, &stored)).collect();
        judge(&accounts, is_bloom_whole, proof)
    };
    let mut judgement = judged(&voices);
    // What two endpoints say alike stands where no other contradicts them; receipts are more than
    // any word.
    let is_agreed = voices.len() == 1
        && matches!(
            judgement.verdict,
            Verdict::Stored(Proof::TwoEndpoints) | Verdict::Replace { proof: Proof::TwoEndpoints, .. }
        );
    // A header that may be made up has a root that may be.
    let receipts = match is_agreed || proof == HeaderProof::None {
        true => AskedReceipts::default(),
        false => ask_receipts(reader, &header, &routing.filter).await,
    };
    let has_failed = receipts.has_failed;
    if let Some(mut voice) = receipts.proven {
        chain.has_proven_receipts.store(true, Ordering::Relaxed);
        if !voice.is_contested_by(&voices, &stored) {
            // Who says the same as the receipts is right with them.
            voices.retain(|other| other.wanted != voice.wanted);
            voices.push(voice);
            judgement = judged(&voices);
        }
    } else if receipts.has_others && chain.has_proven_receipts.load(Ordering::Relaxed) {
        judgement = without_receipts(judgement);
    }
    if is_partial {
        judgement = without_lone_word(judgement, &voices);
    }
    if let Some(error) = refusal.filter(|_| voices.is_empty()) {
        return Err(error.into());
    }
    let heard: usize = voices.iter().map(|voice| voice.endpoints.len()).sum();
    let is_lone_word = heard < 2 && !voices.iter().any(|voice| voice.is_receipts);
    if is_lone_word && has_failed && chain.has_proven_receipts.load(Ordering::Relaxed) {
        // Receipts will tell.
        return Ok(doubtful(Doubt::Unheard));
    }
    Ok(Judged { is_lone_word, ..conclude(header, voices, judgement) })
}

/// The header that endpoints agree on; one that fails now and then is asked again.
async fn ask_header(reader: &dyn ChainReader, number: u64) -> Result<Option<Agreed>, ChainError> {
    let mut round = 1;
    loop {
        let answers = reader.header_from_each(BlockTag::Number(number)).await;
        let has_failed = answers.iter().any(|one| one.answer.is_err());
        let agreed = agreed(answers, number);
        let is_partial = matches!(&agreed, Ok(Some(Agreed { is_partial: true, .. })) if has_failed);
        if !is_partial || round == MAX_ROUNDS {
            return agreed;
        }
        round += 1;
    }
}

/// A header, and on what it stands.
struct Agreed {
    header: Header,
    proof: HeaderProof,
    /// Whether another endpoint did not tell it, or not the same block.
    is_partial: bool,
}

/// The header that most endpoints have, and on what it stands; `None` where they disagree. One
/// that does not hash to its hash is not that block's where another does.
fn agreed(answers: Vec<EndpointAnswer<Option<Header>>>, number: u64) -> Result<Option<Agreed>, ChainError> {
    let asked = answers.len();
    let mut votes: Vec<(Header, usize)> = Vec::new();
    let mut failed = None;
    for EndpointAnswer { answer, .. } in answers {
        match answer {
            Ok(Some(header)) => match votes.iter_mut().find(|(known, _)| *known == header) {
                Some((_, count)) => *count += 1,
                None => votes.push((header, 1)),
            },
            Ok(None) => {}
            Err(error) => failed = Some(error),
        }
    }
    let proven: Vec<B256> = votes
        .iter()
        .filter(|(header, _)| header.is_hash_proven)
        .map(|(header, _)| header.block.hash)
        .collect();
    let hashes: Vec<(B256, usize)> =
        votes.iter().map(|(header, count)| (header.block.hash, *count)).collect();
    votes.retain(|(header, _)| header.is_hash_proven || !proven.contains(&header.block.hash));
    votes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let is_tie = votes.len() > 1 && votes[0].1 == votes[1].1;
    let unknown = || {
        let told = format!("no endpoint knows block {number}, which is final");
        ChainError::new(ChainErrorKind::UnknownBlock, told)
    };
    match votes.into_iter().next() {
        None => Err(failed.unwrap_or_else(unknown)),
        Some(_) if is_tie => Ok(None),
        Some((header, votes)) => {
            let proof = match (votes, header.is_hash_proven) {
                (2.., _) => HeaderProof::TwoEndpoints,
                (_, true) => HeaderProof::Hash,
                (_, false) => HeaderProof::None,
            };
            // Whoever names its hash has the block, whatever else it says about it.
            let named = hashes.iter().filter(|(hash, _)| *hash == header.block.hash);
            let heard = if header.is_hash_proven { named.map(|(_, count)| count).sum() } else { votes };
            Ok(Some(Agreed { header, proof, is_partial: asked > heard }))
        }
    }
}

/// Whether another block of this number is kept: the head has followed it by its parents.
async fn is_stored_otherwise(chain: &CollectedChain, block: &BlockHeader) -> Result<bool, CollectError> {
    let kept = chain.store.blocks(chain.options.chain, block.number, 1).await?;
    Ok(kept.first().is_some_and(|kept| kept.number == block.number && kept.hash != block.hash))
}

/// What was heard of the endpoints.
struct Heard {
    voices: Vec<Voice>,
    /// Whether an endpoint was not heard, and fewer than two were.
    is_partial: bool,
    /// Why nobody was heard.
    refusal: Option<ChainError>,
}

/// How often endpoints are asked, while one is heard and another is not.
const MAX_ROUNDS: u32 = 3;

/// All logs of the block, as each endpoint has them by its hash.
async fn ask_logs(reader: &dyn ChainReader, header: &Header, filter: &LogFilter) -> Heard {
    let mut round = 1;
    loop {
        let heard = ask_logs_once(reader, header, filter).await;
        if !heard.is_partial || round == MAX_ROUNDS {
            return heard;
        }
        round += 1;
    }
}

async fn ask_logs_once(reader: &dyn ChainReader, header: &Header, filter: &LogFilter) -> Heard {
    let (all, span) = (LogFilter::default(), LogSpan::Block(header.block.block_ref()));
    let mut voices: Vec<Voice> = Vec::new();
    let (mut failed, mut heard) = (None, 0);
    for EndpointAnswer { endpoint, answer } in reader.logs_from_each(span, &all).await {
        let logs = answer.and_then(|logs| block_logs::checked(&header.block, &all, logs));
        match logs {
            Ok(logs) => {
                heard += 1;
                let voice = Voice::new(endpoint, logs, filter, false);
                match voices.iter_mut().find(|other| other.wanted == voice.wanted) {
                    Some(other) => other.join(voice, header),
                    None => voices.push(voice),
                }
            }
            Err(error) => failed = Some(error),
        }
    }
    let is_partial = failed.is_some() && heard == 1;
    Heard { refusal: failed.filter(|_| voices.is_empty()), is_partial, voices }
}

/// One endpoint's word decides nothing while another that could contradict it is not heard: not
/// even that what is stored is right, since it was contradicted before.
fn without_lone_word(judgement: Judgement, voices: &[Voice]) -> Judgement {
    let is_proven = voices.iter().any(|voice| voice.is_receipts);
    let verdict = match judgement.verdict {
        _ if is_proven => return judgement,
        Verdict::Replace { .. } => Verdict::Doubtful(Doubt::OneEndpoint),
        Verdict::Stored(_) => Verdict::Doubtful(Doubt::Unheard),
        doubtful => doubtful,
    };
    Judgement { verdict, false_accounts: Vec::new() }
}

/// One endpoint's word is worth nothing where receipts contradict the header, on a chain whose
/// receipts do hash to their roots.
fn without_receipts(judgement: Judgement) -> Judgement {
    match judgement.verdict {
        Verdict::Stored(Proof::TwoEndpoints) | Verdict::Doubtful(_) => judgement,
        _ => Judgement { verdict: Verdict::Doubtful(Doubt::Receipts), false_accounts: Vec::new() },
    }
}

/// What endpoints say about the receipts of a block.
#[derive(Default)]
struct AskedReceipts {
    /// Those that hash to the header's root.
    proven: Option<Voice>,
    /// Whether an endpoint has some that do not.
    has_others: bool,
    /// Whether an endpoint failed, and did not say that it has none.
    has_failed: bool,
}

async fn ask_receipts(reader: &dyn ChainReader, header: &Header, filter: &LogFilter) -> AskedReceipts {
    let mut asked = AskedReceipts::default();
    for one in reader.receipts_from_each(&header.block).await {
        let receipts = match one.answer {
            Ok(Some(receipts)) => receipts,
            Ok(None) => continue,
            Err(error) => {
                asked.has_failed |= is_passing(&error);
                continue;
            }
        };
        if !receipts.prove(header) {
            asked.has_others |= receipts.root != header.receipts_root;
            continue;
        }
        let logs = block_logs::checked(&header.block, &LogFilter::default(), receipts.logs).ok();
        asked.proven = asked.proven.or(logs.map(|logs| Voice::new(one.endpoint, logs, filter, true)));
    }
    asked
}

fn account(voice: &Voice, header: &Header, routing: &Routing, stored: &StoredBlock) -> Account {
    let sorted = routing.sorted(&voice.wanted);
    Account {
        endpoints: voice.endpoints.len(),
        is_receipts: voice.is_receipts,
        fit: BloomFit::of(&header.logs_bloom, &voice.all),
        change: stored.change(&header.block, &header.logs_bloom, (&voice.wanted, &sorted)),
    }
}

fn conclude(header: Header, mut voices: Vec<Voice>, judgement: Judgement) -> Judged {
    let Judgement { verdict, false_accounts } = judgement;
    let right = match verdict {
        Verdict::Replace { account, .. } => Some(account),
        Verdict::Stored(_) => (0..voices.len()).find(|place| !false_accounts.contains(place)),
        Verdict::Doubtful(_) => None,
    };
    let truth = right.map(|place| voices[place].wanted.clone());
    let blocks = BlockRange { from: header.block.number, to: header.block.number };
    let false_answers = false_accounts.iter().flat_map(|place| {
        let voice = &voices[*place];
        let is_part = truth.as_ref().is_none_or(|truth| voice.wanted.iter().all(|log| truth.contains(log)));
        let fault = if is_part { AnswerFault::MissingLogs } else { AnswerFault::WrongLogs };
        voice.endpoints.iter().map(move |endpoint| (endpoint.clone(), FalseAnswer { blocks, fault }))
    });
    let false_answers = false_answers.collect();
    let is_outside = |log: &LogEvent| !has_room(&header.logs_bloom, log);
    let is_proven = matches!(
        verdict,
        Verdict::Stored(Proof::Receipts | Proof::TwoEndpoints)
            | Verdict::Replace { proof: Proof::Receipts | Proof::TwoEndpoints, .. }
    );
    let has_logs_outside_bloom =
        right.is_some_and(|place| is_proven && voices[place].wanted.iter().any(is_outside));
    let logs = right.map(|place| voices.swap_remove(place).wanted).unwrap_or_default();
    Judged { header: Some(header), verdict, logs, has_logs_outside_bloom, is_lone_word: false, false_answers }
}

fn doubtful(doubt: Doubt) -> Judged {
    Judged {
        header: None,
        verdict: Verdict::Doubtful(doubt),
        logs: Vec::new(),
        has_logs_outside_bloom: false,
        is_lone_word: false,
        false_answers: Vec::new(),
    }
}

impl Voice {
    fn new(endpoint: String, all: Vec<LogEvent>, filter: &LogFilter, is_receipts: bool) -> Self {
        let wanted = all.iter().filter(|log| filter.matches(log)).cloned().collect();
        Self { endpoints: vec![endpoint], is_receipts, all, wanted }
    }

    /// Another endpoint says the same about what is wanted. What fits the bloom better counts.
    fn join(&mut self, other: Self, header: &Header) {
        self.endpoints.extend(other.endpoints);
        let fit = |logs: &[LogEvent]| BloomFit::of(&header.logs_bloom, logs);
        if fit(&other.all) < fit(&self.all) {
            self.all = other.all;
        }
    }

    /// Whether receipts cannot decide, because somebody names other transactions for the same
    /// logs: no root has their hashes. What is stored keeps those that it has.
    fn is_contested_by(&mut self, voices: &[Self], stored: &StoredBlock) -> bool {
        for log in self.wanted.iter_mut().chain(&mut self.all) {
            if let Some(transaction_hash) = stored.transaction_of(log) {
                log.transaction_hash = transaction_hash;
            }
        }
        let is_same_log = |one: &LogEvent, other: &LogEvent| {
            *one == LogEvent { transaction_hash: one.transaction_hash, ..other.clone() }
        };
        voices.iter().any(|voice| {
            voice.wanted != self.wanted
                && voice.wanted.len() == self.wanted.len()
                && voice.wanted.iter().zip(&self.wanted).all(|(one, other)| is_same_log(one, other))
        })
    }
}
