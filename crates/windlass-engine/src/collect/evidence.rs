//! Whether what is stored of a block stays: from evidence to a verdict.
//!
//! No single endpoint's answer takes away or alters what is stored. A stored block is
//! replaced only by logs that are proven: its receipts hash to the root in its header; or two
//! endpoints agree; or all logs of the block give the header's bloom, and what is stored is of
//! another block. Times are the header's. A header that only one endpoint has proves that only
//! if it hashes to the hash that is stored: else it may be made up as a whole. Logs that are
//! only added must be the header's block's by hash and have room in its bloom. Everything else
//! is doubtful: it is reported, kept, and asked again later; `audit --repair` takes an
//! endpoint's word where a person decides so.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this | the rule: pure |
//! | `gather` | asks the endpoints about one block |
//! | `stored` | what an answer would change about what is stored |

mod gather;
mod stored;

use std::fmt;

use serde::{Deserialize, Serialize};
use windlass_core::bloom::BloomFit;

pub(super) use self::gather::{Judged, judge_block};
pub(super) use self::stored::{Change, StoredBlock};

/// On what the knowledge of a block's logs stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// Its receipts hash to the root in its header.
    Receipts,
    /// Its bloom: all of its logs give it, or it has no room for a wanted log.
    Bloom,
    /// Its header.
    Header,
    /// Two endpoints agree.
    TwoEndpoints,
    /// One endpoint's word.
    OneEndpoint,
}

/// What one or several endpoints say alike about a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    /// How many endpoints say it.
    pub(super) endpoints: usize,
    /// Whether it was read from receipts that hash to the root in the header.
    pub(super) is_receipts: bool,
    /// How all logs of it fit the header's bloom.
    pub(super) fit: BloomFit,
    /// What it would change about what is stored.
    pub(super) change: Change,
}

impl Account {
    /// Whether it may be followed: a header of one endpoint alone proves only what is added, and
    /// what it says about the very block that is stored, if it hashes to that block's hash.
    fn is_safe_with(&self, header: HeaderProof) -> bool {
        let Change { takes, retimes, is_of_another_block, .. } = self.change;
        match header {
            _ if self.endpoints > 1 => true,
            HeaderProof::TwoEndpoints => true,
            HeaderProof::Hash => !is_of_another_block,
            HeaderProof::None => !(takes || retimes || is_of_another_block),
        }
    }
}

/// On what a block's header stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderProof {
    /// Two endpoints have it.
    TwoEndpoints,
    /// One endpoint has it, and it hashes to its own hash.
    Hash,
    /// One endpoint has it.
    None,
}

/// What is to become of a stored block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is right.
    Stored(Proof),
    /// It is wrong, and this account is right.
    Replace {
        /// Which account.
        account: usize,
        /// Why it is right.
        proof: Proof,
    },
    /// Nobody can tell.
    Doubtful(Doubt),
}

/// Why nobody can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// Endpoints have different headers of the block, or another one is stored.
    Headers,
    /// Endpoints have different logs of the block.
    Disagreement,
    /// One endpoint's word stands against what is stored.
    OneEndpoint,
    /// No answer fits the bloom in the header.
    BloomMismatch,
    /// Endpoints answer other questions, and refuse this one.
    NoAnswer,
    /// An endpoint that may have contradicted what is stored was not heard.
    Unheard,
    /// Its receipts do not hash to the root in its header.
    Receipts,
    /// Another version of this program knows.
    #[serde(other)]
    Unknown,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Headers => "endpoints have different headers of it",
            Self::Disagreement => "endpoints have different logs of it",
            Self::OneEndpoint => "one endpoint contradicts what is stored, and nothing proves it",
            Self::NoAnswer => "no endpoint tells its logs",
            Self::Receipts => "the receipts that endpoints send do not hash to the root in its header",
            Self::Unknown => "another version of windlass has called it doubtful",
            Self::Unheard => "what is stored was contradicted, and an endpoint does not answer",
            Self::BloomMismatch => "the logs that endpoints send do not fit the bloom in its header",
        })
    }
}

/// A verdict, and which accounts were proven false.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judgement {
    pub(super) verdict: Verdict,
    pub(super) false_accounts: Vec<usize>,
}

/// Decides about a block. `is_bloom_whole` says whether the chain's blooms have every log,
/// `header` on what its header stands.
pub(super) fn judge(accounts: &[Account], is_bloom_whole: bool, header: HeaderProof) -> Judgement {
    let mut judgement = judge_by_header(accounts, is_bloom_whole);
    let is_agreed = accounts.iter().any(|account| account.endpoints > 1);
    if header == HeaderProof::None {
        // The header may be made up, and with it whatever speaks for or against one of them.
        judgement.false_accounts.clear();
        if accounts.len() > 1 && !is_agreed {
            judgement.verdict = Verdict::Doubtful(Doubt::Disagreement);
        } else if judgement.verdict == Verdict::Stored(Proof::Bloom) {
            judgement.verdict = Verdict::Stored(Proof::OneEndpoint);
        }
    }
    let Judgement { verdict, false_accounts } = judgement;
    match verdict {
        Verdict::Replace { account, .. } if !accounts[account].is_safe_with(header) => {
            Judgement { verdict: Verdict::Doubtful(Doubt::OneEndpoint), false_accounts: Vec::new() }
        }
        verdict => Judgement { verdict, false_accounts },
    }
}

/// The same, where the header is right.
fn judge_by_header(accounts: &[Account], is_bloom_whole: bool) -> Judgement {
    let places = |is: &dyn Fn(&Account) -> bool| -> Vec<usize> {
        accounts.iter().enumerate().filter(|(_, account)| is(account)).map(|(place, _)| place).collect()
    };
    if let Some(place) = places(&|account| account.is_receipts).first() {
        return settled(accounts, *place, Proof::Receipts);
    }
    let agreed = places(&|account| account.endpoints > 1 && account.fit != BloomFit::Lacking);
    if let [place] = agreed[..] {
        return settled(accounts, place, Proof::TwoEndpoints);
    }
    // Logs that do not give the bloom's bits are not all logs of the block, whatever else holds.
    let false_accounts = places(&|account| account.fit == BloomFit::Lacking);
    let plausible = places(&|account| account.fit != BloomFit::Lacking);
    let verdict = match plausible[..] {
        [] => Verdict::Doubtful(Doubt::BloomMismatch),
        [place] => one_word(&accounts[place], place, is_bloom_whole),
        _ => Verdict::Doubtful(Doubt::Disagreement),
    };
    Judgement { verdict, false_accounts }
}

/// One account is the truth: all others are false.
fn settled(accounts: &[Account], place: usize, proof: Proof) -> Judgement {
    let verdict = match accounts[place].change.is_none() {
        true => Verdict::Stored(proof),
        false => Verdict::Replace { account: place, proof },
    };
    let false_accounts = (0..accounts.len()).filter(|other| *other != place).collect();
    Judgement { verdict, false_accounts }
}

/// What one endpoint's word, which fits the header, is worth.
fn one_word(account: &Account, place: usize, is_bloom_whole: bool) -> Verdict {
    let Change { adds, takes, retimes, is_of_another_block, additions_fit_bloom } = account.change;
    let gives_bloom = account.fit == BloomFit::Exact || !is_bloom_whole;
    let replace = |proof| Verdict::Replace { account: place, proof };
    match (adds, takes, retimes) {
        (false, false, false) if account.fit == BloomFit::Exact => Verdict::Stored(Proof::Bloom),
        (false, false, false) => Verdict::Stored(Proof::OneEndpoint),
        _ if is_of_another_block && gives_bloom => replace(Proof::Bloom),
        (_, true, _) => Verdict::Doubtful(Doubt::OneEndpoint),
        (true, false, _) if additions_fit_bloom => replace(Proof::Bloom),
        (true, false, _) => Verdict::Doubtful(Doubt::OneEndpoint),
        (false, false, true) => replace(Proof::Header),
    }
}

#[cfg(test)]
mod tests;
