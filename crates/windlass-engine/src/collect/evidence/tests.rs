//! The rule as a table: accounts in, verdict and false accounts out.

use super::*;

const SAME: Change = Change {
    adds: false,
    takes: false,
    retimes: false,
    is_of_another_block: false,
    additions_fit_bloom: true,
};
const ADDS: Change = Change { adds: true, ..SAME };
const ADDS_OUTSIDE: Change = Change { adds: true, additions_fit_bloom: false, ..SAME };
const TAKES: Change = Change { takes: true, ..SAME };
const RETIMES: Change = Change { retimes: true, ..SAME };
/// What is stored is of a block that the chain does not have.
const REHASHES: Change = Change { takes: true, is_of_another_block: true, ..SAME };

fn word(endpoints: usize, fit: BloomFit, change: Change) -> Account {
    Account { endpoints, is_receipts: false, fit, change }
}

fn receipts(change: Change) -> Account {
    Account { endpoints: 1, is_receipts: true, fit: BloomFit::Exact, change }
}

fn one(fit: BloomFit, change: Change) -> Vec<Account> {
    vec![word(1, fit, change)]
}

#[test]
fn what_is_stored_is_replaced_by_proof_alone() {
    use BloomFit::{Exact, Lacking, Wider};
    use Doubt::{BloomMismatch, Disagreement, OneEndpoint};
    use Verdict::{Doubtful, Replace, Stored};
    let by = |proof| Replace { account: 0, proof };
    let none: &[usize] = &[];
    let table: Vec<(&str, Vec<Account>, Verdict, &[usize])> = vec![
        ("one endpoint agrees, all its logs give the bloom", one(Exact, SAME), Stored(Proof::Bloom), none),
        (
            "one endpoint agrees, with logs outside the bloom",
            one(Wider, SAME),
            Stored(Proof::OneEndpoint),
            none,
        ),
        ("one endpoint has logs that were missing", one(Exact, ADDS), by(Proof::Bloom), none),
        ("one has more, outside the bloom", one(Wider, ADDS_OUTSIDE), Doubtful(OneEndpoint), none),
        ("one endpoint lacks logs that are stored", one(Exact, TAKES), Doubtful(OneEndpoint), none),
        ("one endpoint has no logs, against the bloom", one(Lacking, TAKES), Doubtful(BloomMismatch), &[0]),
        ("nobody says anything", vec![], Doubtful(BloomMismatch), none),
        ("the header has another time", one(Exact, RETIMES), by(Proof::Header), none),
        ("rows of another block, and the bloom is given", one(Exact, REHASHES), by(Proof::Bloom), none),
        ("rows of another block, against the bloom", one(Lacking, REHASHES), Doubtful(BloomMismatch), &[0]),
        ("rows of another block, more than the bloom", one(Wider, REHASHES), Doubtful(OneEndpoint), none),
        (
            "a liar with nothing, and one who agrees",
            vec![word(1, Lacking, TAKES), word(1, Exact, SAME)],
            Stored(Proof::Bloom),
            &[0],
        ),
        (
            "two that fit the bloom disagree",
            vec![word(1, Exact, SAME), word(1, Exact, TAKES)],
            Doubtful(Disagreement),
            none,
        ),
        ("two agree against what is stored", vec![word(2, Exact, TAKES)], by(Proof::TwoEndpoints), none),
        (
            "two agree against a third",
            vec![word(2, Wider, SAME), word(1, Exact, TAKES)],
            Stored(Proof::TwoEndpoints),
            &[1],
        ),
        (
            "two agree on nothing, against the bloom",
            vec![word(2, Lacking, TAKES)],
            Doubtful(BloomMismatch),
            &[0],
        ),
        (
            "two and two disagree",
            vec![word(2, Exact, SAME), word(2, Exact, TAKES)],
            Doubtful(Disagreement),
            none,
        ),
        (
            "receipts against two endpoints",
            vec![receipts(TAKES), word(2, Exact, SAME)],
            by(Proof::Receipts),
            &[1],
        ),
        ("receipts confirm", vec![receipts(SAME), word(1, Exact, TAKES)], Stored(Proof::Receipts), &[1]),
    ];
    for (case, accounts, verdict, false_accounts) in table {
        let judgement = Judgement { verdict, false_accounts: false_accounts.to_vec() };
        assert_eq!(judge(&accounts, true, HeaderProof::TwoEndpoints), judgement, "{case}");
    }
}

#[test]
fn where_blooms_are_not_whole_more_than_the_bloom_replaces_rows_of_another_block() {
    let accounts = one(BloomFit::Wider, REHASHES);
    assert_eq!(
        judge(&accounts, false, HeaderProof::TwoEndpoints).verdict,
        Verdict::Replace { account: 0, proof: Proof::Bloom }
    );
    assert_eq!(
        judge(&one(BloomFit::Wider, TAKES), false, HeaderProof::TwoEndpoints).verdict,
        Verdict::Doubtful(Doubt::OneEndpoint)
    );
}

/// A header that one endpoint alone has may be made up, and everything that fits it with it.
#[test]
fn a_header_of_one_endpoint_alters_nothing_that_is_stored() {
    for change in [TAKES, RETIMES, REHASHES] {
        for accounts in [one(BloomFit::Exact, change), vec![receipts(change)]] {
            let alone = judge(&accounts, true, HeaderProof::None);
            assert_eq!(alone.verdict, Verdict::Doubtful(Doubt::OneEndpoint), "{change:?}");
            assert!(alone.false_accounts.is_empty(), "nobody is called a liar on one endpoint's word");
        }
        let agreed = judge(&[word(2, BloomFit::Exact, change)], true, HeaderProof::None);
        assert_eq!(agreed.verdict, Verdict::Replace { account: 0, proof: Proof::TwoEndpoints });
    }
    let added = judge(&one(BloomFit::Exact, ADDS), true, HeaderProof::None);
    assert_eq!(added.verdict, Verdict::Replace { account: 0, proof: Proof::Bloom });
}

/// A header that hashes to the hash that is stored cannot be made up; one of another hash can.
#[test]
fn a_header_that_proves_its_hash_speaks_for_its_own_block_alone() {
    let verdict = |accounts: &[Account]| judge(accounts, true, HeaderProof::Hash).verdict;
    let by = |proof| Verdict::Replace { account: 0, proof };
    assert_eq!(verdict(&one(BloomFit::Exact, RETIMES)), by(Proof::Header));
    assert_eq!(verdict(&[receipts(TAKES)]), by(Proof::Receipts));
    for accounts in [one(BloomFit::Exact, REHASHES), vec![receipts(REHASHES)], one(BloomFit::Exact, TAKES)] {
        assert_eq!(verdict(&accounts), Verdict::Doubtful(Doubt::OneEndpoint));
    }
}

/// Where the header is one endpoint's word, neither it nor what speaks by it against another
/// endpoint counts.
#[test]
fn a_header_that_may_be_made_up_accuses_nobody() {
    let accounts = [word(1, BloomFit::Lacking, SAME), word(1, BloomFit::Exact, ADDS)];
    let judgement = judge(&accounts, true, HeaderProof::None);
    assert_eq!(judgement.verdict, Verdict::Doubtful(Doubt::Disagreement));
    assert!(judgement.false_accounts.is_empty());
    let proven = judge(&accounts, true, HeaderProof::Hash);
    assert_eq!(proven.verdict, Verdict::Replace { account: 1, proof: Proof::Bloom });
    assert_eq!(proven.false_accounts, [0]);
}
