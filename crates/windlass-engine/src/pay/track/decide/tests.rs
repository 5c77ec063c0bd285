//! The rules of deciding, over whatever the chain could tell: also what no honest one does.

use proptest::collection::vec;
use proptest::prelude::*;
use windlass_core::chain::{Address, B256, BlockRef, Bytes, ChainId, U256};
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::IntentId;
use windlass_core::payout::request::{IdempotencyKey, PayoutId, PayoutRequest, VaultRef};
use windlass_core::time::Timestamp;

use super::*;

/// Heights are small, so that they meet.
const HEIGHTS: u64 = 12;
const NOW: Timestamp = Timestamp::from_ms(9_000);

fn intent_id() -> IntentId {
    IntentId { chain: ChainId::new(1).expect("an id"), signer: Address::repeat_byte(9), nonce: 4 }
}

fn inclusion() -> impl Strategy<Value = Inclusion> {
    (1..4_u8, 0..HEIGHTS, 1..3_u8).prop_map(|(transaction, number, hash)| Inclusion {
        transaction: B256::repeat_byte(transaction),
        block: BlockRef { number, hash: B256::repeat_byte(hash) },
    })
}

fn record() -> impl Strategy<Value = VaultRecord> {
    let status =
        prop_oneof![Just(VaultStatus::Unknown), Just(VaultStatus::Paid), Just(VaultStatus::Cancelled)];
    (status, 0..HEIGHTS).prop_map(|(status, block)| VaultRecord {
        status,
        settled_at_s: 0,
        block,
        to: Address::ZERO,
    })
}

fn records(payouts: usize) -> impl Strategy<Value = Vec<VaultRecord>> {
    // Now and then none were asked for, or too few came back.
    prop_oneof![4 => vec(record(), payouts), 1 => Just(Vec::new()), 1 => vec(record(), payouts - 1)]
}

fn evidence(payouts: usize) -> impl Strategy<Value = Evidence> {
    let found = || vec(proptest::option::of(inclusion()), payouts);
    prop_oneof![
        (inclusion(), records(payouts))
            .prop_map(|(inclusion, records)| Evidence::Mined { inclusion, records }),
        (inclusion(), records(payouts), found(), any::<bool>()).prop_map(
            |(inclusion, records, found, is_short_of_gas)| {
                Evidence::Reverted { inclusion, records, found, why: None, is_short_of_gas }
            }
        ),
        (records(payouts), found()).prop_map(|(records, found)| Evidence::NonceUsed { records, found }),
        (any::<bool>(), any::<bool>()).prop_map(|(is_gone, is_next)| Evidence::Missing { is_gone, is_next }),
    ]
}

/// A payout that a transaction was signed for, wherever it stands since.
fn payout(number: u128) -> impl Strategy<Value = Payout> {
    (0..5_u8, inclusion(), any::<bool>()).prop_map(move |(stands, inclusion, is_seen)| {
        let at = Timestamp::from_ms;
        let request = PayoutRequest {
            vault: VaultRef { chain: ChainId::new(1).expect("an id"), address: Address::repeat_byte(1) },
            token: Address::repeat_byte(2),
            to: Address::repeat_byte(3),
            amount: U256::from(5),
            key: IdempotencyKey::new(format!("key-{number}")).expect("a key"),
        };
        let asked = Payout::new(PayoutId::new(at(1), number), request, "somebody", at(1));
        let approved = asked.approved(UtcDay(1), at(2)).expect("approved");
        let submitted = approved.submitted(intent_id(), UtcDay(1), at(3)).expect("submitted");
        let seen = if is_seen { submitted.seen(Some(inclusion), at(4)) } else { submitted };
        match stands {
            0 | 1 => seen,
            2 => seen.confirmed(inclusion, at(5)).expect("confirmed"),
            3 => seen.confirmed(inclusion, at(5)).expect("confirmed").finalized(at(6)),
            _ => seen.failed("reverted", at(5)).expect("failed"),
        }
    })
}

/// Everything that a decision stands on.
#[derive(Debug, Clone)]
struct Facts {
    heights: Heights,
    intent: Intent,
    payouts: Vec<Payout>,
    evidence: Evidence,
}

impl Facts {
    fn decide(&self) -> Decision {
        decide(self.heights, &self.intent, &self.payouts, &self.evidence)
    }

    fn is_final(&self, block: u64) -> bool {
        block <= self.heights.last_final
    }

    /// Whether no form of the transaction can still be mined, by what is known.
    fn is_over(&self) -> bool {
        match &self.evidence {
            Evidence::NonceUsed { .. } => true,
            Evidence::Reverted { inclusion, .. } => self.is_final(inclusion.block.number),
            Evidence::Mined { .. } | Evidence::Missing { .. } => false,
        }
    }

    /// What the vault said of a payout, if it was asked.
    fn record(&self, place: usize) -> Option<VaultRecord> {
        let records = match &self.evidence {
            Evidence::Mined { records, .. }
            | Evidence::Reverted { records, .. }
            | Evidence::NonceUsed { records, .. } => records,
            Evidence::Missing { .. } => return None,
        };
        if records.len() == self.payouts.len() { records.get(place).copied() } else { None }
    }
}

fn facts() -> impl Strategy<Value = Facts> {
    (1..4_usize).prop_flat_map(|count| {
        let payouts: Vec<_> = (0..count).map(|number| payout(number as u128)).collect();
        let heights = (0..HEIGHTS, 0..HEIGHTS)
            .prop_map(|(last_final, last_confirmed)| Heights { last_final, last_confirmed });
        (heights, payouts, evidence(count), proptest::option::of(inclusion())).prop_map(
            |(heights, payouts, evidence, inclusion)| {
                let at = Timestamp::from_ms(3);
                let intent = Intent {
                    id: intent_id(),
                    version: 1,
                    to: Address::repeat_byte(1),
                    data: Bytes::new(),
                    gas_limit: 1,
                    payouts: payouts.iter().map(|payout| payout.id).collect(),
                    created_at: at,
                    state: IntentState::Open,
                    updated_at: at,
                    attempts: 1,
                    signed_at_block: 1,
                    inclusion,
                    receipt: None,
                    mac: windlass_core::chain::B256::ZERO,
                };
                Facts { heights, intent, payouts, evidence }
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_fails_but_by_a_final_revert_or_a_final_cancel(facts in facts()) {
        for (place, next) in facts.decide().nexts.iter().enumerate() {
            let Next::Failed(_) = next else { continue };
            prop_assert!(facts.is_over());
            let record = facts.record(place).expect("the vault was asked");
            match record.status {
                VaultStatus::Paid => return Err(TestCaseError::fail("it was paid")),
                VaultStatus::Cancelled => prop_assert!(facts.is_final(record.block)),
                // By itself, in a final block.
                VaultStatus::Unknown => {
                    let is_reverted =
                        matches!(facts.evidence, Evidence::Reverted { is_short_of_gas: false, .. });
                    prop_assert!(is_reverted);
                    prop_assert_eq!(facts.payouts.len(), 1);
                }
            }
        }
    }

    #[test]
    fn another_nonce_is_given_only_when_the_old_one_is_used_up_and_nothing_was_found_paid(facts in facts()) {
        let decision = facts.decide();
        for (place, next) in decision.nexts.iter().enumerate() {
            let Next::Again = next else { continue };
            prop_assert!(facts.is_over());
            prop_assert!(matches!(decision.state, IntentState::Reverted | IntentState::Displaced));
            prop_assert!(facts.record(place).is_some(), "the vault was asked");
        }
    }

    #[test]
    fn confirmed_is_what_a_deep_block_and_the_vault_say(facts in facts()) {
        for next in facts.decide().nexts {
            let Next::Confirmed { inclusion, is_final } = next else { continue };
            let Evidence::Mined { inclusion: told, .. } = &facts.evidence else {
                return Err(TestCaseError::fail("without a receipt"));
            };
            prop_assert_eq!(*told, inclusion);
            let deep = facts.heights.last_final.max(facts.heights.last_confirmed);
            prop_assert!(inclusion.block.number <= deep);
            prop_assert_eq!(is_final, facts.is_final(inclusion.block.number));
            for place in 0..facts.payouts.len() {
                prop_assert_eq!(facts.record(place).expect("asked").status, VaultStatus::Paid);
            }
        }
    }

    #[test]
    fn found_is_what_the_vault_has_paid_for_good(facts in facts()) {
        for (place, next) in facts.decide().nexts.iter().enumerate() {
            let Next::Found(inclusion) = next else { continue };
            prop_assert_eq!(facts.record(place).expect("asked").status, VaultStatus::Paid);
            prop_assert!(facts.is_final(inclusion.block.number));
        }
    }

    #[test]
    fn a_transaction_ends_only_in_a_final_block_and_leaves_no_payout_behind(facts in facts()) {
        let decision = facts.decide();
        let is_mined = match &facts.evidence {
            Evidence::Mined { inclusion, .. } => facts.is_final(inclusion.block.number),
            _ => false,
        };
        prop_assert!(decision.state == IntentState::Open || is_mined || facts.is_over());
        prop_assert_eq!(decision.nexts.len(), facts.payouts.len());
        for (payout, next) in facts.payouts.iter().zip(&decision.nexts) {
            let is_over = payout.finalized_at.is_some() || payout.state.is_end();
            let ends = match next {
                Next::Confirmed { is_final, .. } => *is_final,
                Next::Found(_) | Next::Failed(_) | Next::Again => true,
                Next::Same | Next::Seen(_) | Next::Reorganised(_) => false,
            };
            // Whoever is followed no longer has an end or goes on elsewhere, and nobody else does.
            prop_assert_eq!(ends, decision.state != IntentState::Open && !is_over);
            if is_over {
                prop_assert_eq!(next, &Next::Same);
            }
        }
    }

    #[test]
    fn only_what_is_in_no_block_is_sent(facts in facts()) {
        let decision = facts.decide();
        if decision.is_to_be_sent {
            prop_assert_eq!((decision.state, decision.inclusion), (IntentState::Open, None));
            let is_gone = matches!(facts.evidence, Evidence::Missing { is_gone: true, .. });
            prop_assert!(is_gone || facts.intent.inclusion.is_none());
        }
        // What nobody knows of, and is in no block that is still there, is sent; else nobody mines it.
        if let Evidence::Missing { is_gone, .. } = facts.evidence {
            prop_assert_eq!(decision.is_to_be_sent, is_gone || facts.intent.inclusion.is_none());
        }
    }

    #[test]
    fn a_key_is_said_to_be_used_elsewhere_only_when_something_was_not_paid(facts in facts()) {
        if facts.decide().is_displaced {
            let is_used = matches!(facts.evidence, Evidence::NonceUsed { .. });
            prop_assert!(is_used);
            let statuses = (0..facts.payouts.len()).map(|place| facts.record(place).expect("asked").status);
            prop_assert!(statuses.collect::<Vec<_>>().iter().any(|status| *status != VaultStatus::Paid));
        }
    }

    #[test]
    fn whatever_follows_is_a_way_that_states_have(facts in facts()) {
        for (payout, next) in facts.payouts.iter().zip(facts.decide().nexts) {
            let rows = next.rows(payout, NOW);
            prop_assert!(rows.is_ok(), "{:?} of {:?}", next, payout);
            let rows = rows.expect("legal");
            prop_assert_eq!(&rows[0], payout);
            for pair in rows.windows(2) {
                prop_assert_eq!(pair[1].version, pair[0].version + 1);
                let is_legal = pair[0].state == pair[1].state || pair[0].state.leads_to(pair[1].state);
                prop_assert!(is_legal, "{} to {}", pair[0].state, pair[1].state);
            }
            // What is to be signed again is in no block, and stays on its way.
            if next == Next::Again {
                let last = rows.last().expect("itself at least");
                prop_assert_eq!((last.state, last.inclusion), (PayoutState::Submitted, None));
            }
        }
    }
}
