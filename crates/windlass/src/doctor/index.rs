//! Indexes: their contracts are there, the logs of their first block can be had, and their
//! events are among the first logs.

use futures_util::{StreamExt, stream};
use windlass_core::chain::Address;
use windlass_core::code::Code;
use windlass_core::index::Start;
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, ChainErrorKind, ChainReader, LogFilter, LogSpan};

use super::progress::Progress;
use super::report::Finding;
use crate::collect::draft::Draft;
use crate::collect::endpoints::Endpoints;
use crate::collect::preflight;
use crate::collect::retry::{RetryingReader, retrying};
use crate::collect::sample::{self, Sample};
use crate::config::Config;
use crate::failure::Failure;

/// The most contracts of one index that are asked for: enough to find a slip.
const MAX_CONTRACTS: usize = 50;
/// The most of them at a time.
const MAX_ASKED: usize = 8;

/// Looks at every index whose chain answers.
pub(super) async fn examine(config: &Config, progress: &Progress) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, section) in &config.index {
        progress.say(format!("index {name}"));
        let subject = format!("index.{name}");
        let draft = match Draft::new(config, name, section) {
            Ok(draft) => draft,
            Err(failure) => {
                findings.push(Finding::failed(subject, failure));
                continue;
            }
        };
        let endpoints = config.chain.get(&section.chain).map(|chain| Endpoints::open(&section.chain, chain));
        // What is the matter with endpoints was told where each of them was looked at.
        let Some(Ok(endpoints)) = endpoints else { continue };
        if retrying(|| endpoints.check_chain()).await.is_ok() {
            findings.push(contracts(&subject, &endpoints, &draft).await);
            findings.push(first_logs(&subject, &endpoints, &draft).await);
            findings.extend(signatures(&subject, &endpoints, &draft).await);
        }
    }
    findings
}

async fn contracts(subject: &str, endpoints: &Endpoints, draft: &Draft) -> Finding {
    let asked = draft.contracts().iter().take(MAX_CONTRACTS).copied();
    let code = |contract: Address| async move {
        let code = RetryingReader(&*endpoints.pool).code(contract, BlockTag::Latest).await;
        (contract, code)
    };
    let answers: Vec<_> = stream::iter(asked).map(code).buffered(MAX_ASKED).collect().await;
    let count = answers.len();
    for (contract, code) in answers {
        match code {
            Ok(code) if code.is_empty() => {
                return Finding::failed(subject, preflight::no_contract(contract, endpoints, draft));
            }
            Ok(_) => {}
            Err(error) => return Finding::failed(subject, error),
        }
    }
    match draft.contracts() {
        [one] => Finding::ok(subject, format!("contract {one} is there")),
        all if all.len() > count => {
            Finding::ok(subject, format!("{count} of {} contracts were looked for and are there", all.len()))
        }
        all => Finding::ok(subject, format!("all {} contracts are there", all.len())),
    }
}

/// Events that none of the contract's first logs is of. Trouble with endpoints was told before.
async fn signatures(subject: &str, endpoints: &Endpoints, draft: &Draft) -> Vec<Finding> {
    let Start::Block(start) = draft.start() else { return Vec::new() };
    let Ok(sample) = Sample::read(&*endpoints.pool, draft, start).await else { return Vec::new() };
    let unseen = sample.unseen(draft).into_iter();
    let warning = |message| Finding {
        code: Some(Code::EventUnseen.as_str()),
        ..Finding::warning(subject, message, sample::HINT)
    };
    unseen.map(warning).collect()
}

/// Whether the endpoints still have the logs of the first block: a pruned node does not.
async fn first_logs(subject: &str, endpoints: &Endpoints, draft: &Draft) -> Finding {
    let Start::Block(start) = draft.start() else {
        return Finding::ok(subject, "its first block is searched for by the first run");
    };
    let filter = LogFilter {
        addresses: draft.contracts().iter().take(MAX_CONTRACTS).copied().collect(),
        topics: vec![draft.events().filter_map(|event| event.topic0()).collect()],
    };
    let head = match RetryingReader(&*endpoints.pool).header(BlockTag::Latest).await {
        Ok(head) => head.map_or(0, |head| head.block.number),
        Err(error) => return Finding::failed(subject, error),
    };
    if start > head {
        let message = format!("its first block is {start}, and the chain's head {head}");
        return Finding::warning(subject, message, "nothing is collected before the chain is there");
    }
    let range = BlockRange { from: start, to: start };
    match endpoints.pool.logs(LogSpan::Range(range), &filter).await {
        Ok(_) => Finding::ok(subject, format!("logs of its first block {start} can be had")),
        Err(error) => {
            // Only one that has answered may have pruned them; others say nothing about logs.
            let is_answer = matches!(error.kind, ChainErrorKind::Refused | ChainErrorKind::UnknownBlock);
            let failure = Failure::from(error);
            let message = format!("logs of its first block {start} cannot be had: {}", failure.message);
            let failure = Failure { message, ..failure };
            let hint = "an endpoint that has pruned them cannot collect the past; name another as well";
            Finding::failed(subject, if is_answer { failure.hint(hint) } else { failure })
        }
    }
}
