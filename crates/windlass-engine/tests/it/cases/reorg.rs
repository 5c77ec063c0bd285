//! Reorganisations: how far back the common ancestor is, what is taken back, and when
//! nothing may be.

use std::time::Duration;

use windlass_core::commit::{Commit, Write};
use windlass_core::error::RetryAdvice;
use windlass_core::finality::Finality;
use windlass_core::range::BlockRange;
use windlass_core::reader::ChainErrorKind;
use windlass_core::store::Door;
use windlass_core::table::RowHead;
use windlass_engine::collect::backfill::Backfilled;
use windlass_engine::collect::error::CollectError;
use windlass_engine::collect::head::Followed;
use windlass_engine::collect::rewind::Rewound;
use windlass_engine::collect::sight::Sight;

use super::health::pass;
use super::stage::{Collector, Orders, Stage, from_block, with_finality};
use crate::database::Kind;

const TAG: Finality = Finality::Finalized;
const DEPTH: Finality = Finality::Depth(3);

/// Replaces the blocks above one by others, up to another.
fn fork(stage: &Stage, ancestor: u64, head: u64) {
    stage.chain.take_off(stage.chain.head() - ancestor);
    for number in ancestor + 1..=head {
        stage.mine(&[1_000 + number]);
    }
}

/// Steps once and expects to be told that what was final is gone, and that nothing is
/// deleted because of it.
async fn expect_violation(stage: &Stage, collector: &mut Collector) {
    let before = (stage.rows().await, stage.headers().await, stage.position().await);
    let error = collector.follower.step().await.expect_err("what was final is gone");
    assert!(matches!(error, CollectError::FinalityViolated { .. }), "{error}");
    assert!(matches!(error.retry(), RetryAdvice::After(_)), "the endpoint may be right again");
    assert_eq!((stage.rows().await, stage.headers().await, stage.position().await), before);
    let halt = stage.halt().await.expect("everybody is told");
    assert_eq!(halt.reason, error.to_string());
    assert_eq!(collector.backfill().await, Backfilled::Halted);
}

/// The branch that was followed was longer than the one that has taken its place.
pub(super) async fn a_shorter_branch_is_followed_before_it_has_caught_up(kind: Kind) {
    let stage = Stage::new(kind, 10).await;
    stage.mine_up_to(20);
    let orders = with_finality(TAG);
    let mut collector = stage.collector("a", &orders);
    collector.settle().await;
    stage.mine_up_to(60);
    stage.reader.set_finalized(Some(12));
    collector.settle().await;
    assert_eq!(stage.position().await, Some(60));
    // One that only lags is waited for.
    stage.reader.set_head(Some(40));
    assert_eq!(collector.follow().await, Followed::Idle);
    assert_eq!(stage.position().await, Some(60));
    stage.reader.set_head(None);
    fork(&stage, 20, 25);
    assert_eq!(collector.follow().await, Followed::Idle, "it may catch up");
    pass(Duration::from_secs(600)).await;
    assert_eq!(collector.follow().await, Followed::Reorganised { depth: 40, retracted: 40 });
    collector.settle().await;
    assert_eq!(stage.position().await, Some(25));
    stage.assert_complete(&orders).await;
    // And below what is final nothing is taken back.
    fork(&stage, 8, 15);
    assert_eq!(collector.follow().await, Followed::Idle);
    pass(Duration::from_secs(600)).await;
    expect_violation(&stage, &mut collector).await;
}

pub(super) async fn a_reorg_while_down_is_found_although_finality_moved_on_by_tag(kind: Kind) {
    reorg_while_down(kind, &with_finality(TAG)).await;
}

pub(super) async fn a_reorg_while_down_is_found_although_finality_moved_on_by_depth(kind: Kind) {
    reorg_while_down(kind, &with_finality(DEPTH)).await;
}

async fn reorg_while_down(kind: Kind, orders: &Orders) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_empty(1);
    stage.mine(&[1]);
    let mut before = stage.collector("a", orders);
    before.settle().await;
    assert_eq!(stage.fees().await, [(2, 1)]);
    before.follower.release().await;
    fork(&stage, 1, 35);
    let mut collector = stage.collector("b", orders);
    assert_eq!(collector.follow().await, Followed::Reorganised { depth: 1, retracted: 1 });
    collector.settle().await;
    stage.assert_complete(orders).await;
    assert_eq!(stage.fees().await.first(), Some(&(2, 1_002)));
    stage.assert_headers(32..=35).await;
    assert_eq!(stage.halt().await, None);
}

pub(super) async fn a_reorg_past_finality_stops_deletes_nothing_and_heals_by_tag(kind: Kind) {
    reorg_past_finality(kind, &with_finality(TAG)).await;
}

pub(super) async fn a_reorg_past_finality_stops_deletes_nothing_and_heals_by_depth(kind: Kind) {
    reorg_past_finality(kind, &with_finality(DEPTH)).await;
}

async fn reorg_past_finality(kind: Kind, orders: &Orders) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(35);
    let mut collector = stage.collector("a", orders);
    collector.settle().await;
    let right = stage.chain.take_off(33);
    stage.mine_up_to(36);
    expect_violation(&stage, &mut collector).await;
    stage.mine_up_to(40);
    expect_violation(&stage, &mut collector).await;

    stage.chain.take_off(stage.chain.head() - 2);
    stage.chain.put_back(right);
    stage.mine_up_to(41);
    collector.settle().await;
    assert_eq!(stage.halt().await, None);
    stage.assert_complete(orders).await;
    assert_eq!(stage.position().await, Some(41));
}

pub(super) async fn a_reorg_past_finality_stops_although_older_headers_are_kept(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(30);
    let mut collector = stage.collector("a", &Orders::default());
    assert_eq!(collector.follow().await, Followed::Planned);
    collector.work_off().await;
    assert_eq!(collector.follow().await, Followed::Advanced { blocks: 3, events: 3 });
    // Always something new, and so no time for a second look yet.
    for head in 31..=45 {
        stage.mine_up_to(head);
        assert!(matches!(collector.follow().await, Followed::Advanced { .. }));
    }
    let kept = stage.headers().await.first().map(|header| header.number);
    assert_eq!(kept, Some(27), "long final");
    fork(&stage, 35, 46);
    expect_violation(&stage, &mut collector).await;
}

/// Ranges are not asked for before the endpoints have shown that they serve the chain whose blocks
/// are stored; the way back that is named takes everything back that may differ.
pub(super) async fn after_a_restart_nothing_of_another_chain_is_collected(kind: Kind) {
    let (stage, orders) = (Stage::new(kind, 3).await, Orders::default());
    stage.mine_up_to(30);
    let mut collector = stage.collector("a", &orders);
    assert_eq!(collector.follow().await, Followed::Planned);
    assert_eq!(collector.follow().await, Followed::Advanced { blocks: 3, events: 3 });
    collector.follower.release().await;
    fork(&stage, 0, 31);
    let mut restarted = stage.collector("b", &orders);
    assert_eq!(restarted.backfill().await, Backfilled::Halted);
    assert_eq!(stage.fees().await.len(), 3, "nothing of the other chain");
    expect_violation(&stage, &mut restarted).await;
    let rewind_to = stage.halt().await.and_then(|halt| halt.rewind_to);
    assert_eq!(rewind_to, Some(0), "nothing that is stored is on this chain");
    restarted.follower.release().await;
    restarted.chain.rewind(0).await.expect("rewound");
    restarted.settle().await;
    stage.assert_complete(&orders).await;
}

/// A test chain that was started anew under its old id has not even its first block in common with
/// what is stored: the way back that is named can be gone all the same.
pub(super) async fn a_chain_that_was_started_anew_is_collected_after_a_rewind(kind: Kind) {
    for start in [0, 1, 8] {
        let (stage, orders) = (Stage::new(kind, 3).await, from_block(start));
        stage.mine_up_to(30);
        let mut collector = stage.collector("a", &orders);
        collector.settle().await;
        stage.chain.restart();
        stage.mine_up_to(5);
        collector.follower.release().await;
        // Its blocks are of another chain also where it is too short yet to have stored ones.
        rewind_to_what_is_proposed(&stage, &mut collector, start).await;
        let mut restarted = stage.collector("b", &orders);
        restarted.settle().await;
        stage.mine_up_to(40);
        restarted.settle().await;
        stage.assert_complete(&orders).await;
        assert_eq!(stage.halt().await, None);
        let stale = stage.headers().await.into_iter().filter(|header| {
            stage.chain.block(header.number).is_none_or(|block| block.header.block.hash != header.hash)
        });
        assert_eq!(stale.collect::<Vec<_>>(), [], "nothing is left of the other chain");
    }
}

/// Tries a block that does not do, then the one that is named instead.
async fn rewind_to_what_is_proposed(stage: &Stage, collector: &mut Collector, start: u64) {
    let too_high = start.max(5);
    stage.mine_up_to(too_high);
    let refused = collector.chain.rewind(too_high).await.expect("an answer");
    let Rewound::Differs { rewind_to: Some(to), .. } = refused else { panic!("{refused:?}") };
    assert_eq!(to, start.saturating_sub(1));
    let rewound = collector.chain.rewind(to).await.expect("an answer");
    assert!(matches!(rewound, Rewound::Done { rows } if rows > 0), "{rewound:?}");
    assert_eq!(stage.fees().await, []);
}

/// A running process notices it although the new chain is not as long as the stored one, also where
/// nothing is collected at its height.
pub(super) async fn a_chain_that_was_started_anew_is_noticed_while_it_is_short(kind: Kind) {
    for start in [1, 8] {
        let (stage, orders) = (Stage::new(kind, 3).await, from_block(start));
        stage.mine_up_to(30);
        let mut collector = stage.collector("a", &orders);
        collector.settle().await;
        stage.reader.set_head(Some(5));
        assert_eq!(collector.follow().await, Followed::Idle);
        pass(Duration::from_secs(600)).await;
        assert_eq!(collector.follow().await, Followed::Idle, "an endpoint that lags is waited for");
        stage.reader.set_head(None);
        stage.chain.restart();
        stage.mine_up_to(5);
        assert_eq!(collector.follow().await, Followed::Idle, "it is looked at twice");
        pass(Duration::from_secs(600)).await;
        expect_violation(&stage, &mut collector).await;
        let to = stage.halt().await.and_then(|halt| halt.rewind_to).expect("a block");
        assert_eq!(to, (start - 1).min(5));
        collector.follower.release().await;
        let rewound = collector.chain.rewind(to).await.expect("an answer");
        assert!(matches!(rewound, Rewound::Done { rows } if rows > 0), "{rewound:?}");
        let mut restarted = stage.collector("b", &orders);
        restarted.settle().await;
        stage.mine_up_to(40);
        restarted.settle().await;
        stage.assert_complete(&orders).await;
    }
}

/// Rows of the new chain that were written before it was noticed are no proof of those below them.
pub(super) async fn a_block_of_the_new_chain_is_not_taken_for_shared(kind: Kind) {
    let (stage, orders) = (Stage::new(kind, 3).await, from_block(1));
    stage.mine_up_to(30);
    let mut collector = stage.collector("a", &orders);
    collector.settle().await;
    stage.chain.restart();
    stage.mine_up_to(40);
    for number in [8, 15, 20] {
        let old = stage.row_of(number).await.head;
        let blocks = BlockRange { from: number, to: number };
        let erase = Write::EraseRows { table: stage.table.name.clone(), blocks, contracts: Vec::new() };
        stage.store.commit(Commit::of(vec![erase])).await.expect("erased");
        let block = stage.chain.block(number).expect("a block").header.block.block_ref();
        stage.write_row(RowHead { block, ..old }, number).await;
    }
    expect_violation(&stage, &mut collector).await;
    assert_eq!(stage.halt().await.and_then(|halt| halt.rewind_to), Some(0));
    collector.follower.release().await;
    let refused = collector.chain.rewind(20).await.expect("an answer");
    assert!(matches!(refused, Rewound::Differs { rewind_to: Some(0), .. }), "{refused:?}");
    let rewound = collector.chain.rewind(0).await.expect("an answer");
    assert!(matches!(rewound, Rewound::Done { rows: 30 }), "{rewound:?}");
    let mut restarted = stage.collector("b", &orders);
    restarted.settle().await;
    stage.assert_complete(&orders).await;
}

/// Nothing is stored at the height of the new chain yet, and nothing of it is stored afterwards.
pub(super) async fn a_chain_that_began_anew_while_history_is_collected_is_noticed(kind: Kind) {
    let (stage, orders) = (Stage::new(kind, 3).await, from_block(10));
    stage.mine_up_to(100);
    stage.reader.learn(5);
    let mut collector = stage.collector("a", &orders);
    assert_eq!(collector.follow().await, Followed::Planned);
    assert!(matches!(collector.backfill().await, Backfilled::Collected { .. }));
    collector.follow().await;
    let before = stage.rows().await;
    stage.chain.restart();
    stage.mine_up_to(50);
    collector.follow().await;
    for _ in 0..3 {
        // Whatever it says, it stores nothing.
        let _ = collector.backfiller.step().await;
    }
    assert_eq!(stage.rows().await, before);
    pass(Duration::from_secs(600)).await;
    expect_violation(&stage, &mut collector).await;
    let to = stage.halt().await.and_then(|halt| halt.rewind_to).expect("a block");
    collector.follower.release().await;
    let rewound = collector.chain.rewind(to).await.expect("an answer");
    assert!(matches!(rewound, Rewound::Done { .. }), "{rewound:?}");
    let mut restarted = stage.collector("b", &orders);
    restarted.settle().await;
    stage.assert_complete(&orders).await;
}

/// Whether it is shorter or longer than the chain that was there.
pub(super) async fn what_another_chain_answers_while_history_is_collected_is_not_stored(kind: Kind) {
    for head in [60, 200] {
        let (stage, orders) = (Stage::new(kind, 3).await, from_block(10));
        stage.mine_up_to(100);
        stage.reader.learn(5);
        let mut collector = stage.collector("a", &orders);
        assert_eq!(collector.follow().await, Followed::Planned);
        assert!(matches!(collector.backfill().await, Backfilled::Collected { .. }));
        collector.follow().await;
        let before = stage.rows().await;
        let ranges = stage.reader.hold_ranges();
        let asked = stage.reader.asked().len();
        let step = tokio::spawn(async move {
            let did = collector.backfiller.step().await;
            (collector, did)
        });
        while stage.reader.asked().len() == asked {
            tokio::task::yield_now().await;
        }
        stage.chain.restart();
        stage.mine_up_to(head);
        ranges.add_permits(100);
        let (mut collector, did) = step.await.expect("no panic");
        assert!(!matches!(did, Ok(Backfilled::Collected { .. })), "{did:?}");
        assert_eq!(stage.rows().await, before, "head {head}");
        for _ in 0..3 {
            let _ = collector.backfiller.step().await;
        }
        assert_eq!(stage.rows().await, before, "head {head}");
    }
}

/// Another process follows the head.
pub(super) async fn a_process_that_only_collects_history_notices_that_the_chain_began_anew(kind: Kind) {
    let (stage, orders) = (Stage::new(kind, 3).await, from_block(10));
    stage.mine_up_to(100);
    stage.reader.learn(5);
    let mut following = stage.collector("a", &orders);
    assert_eq!(following.follow().await, Followed::Planned);
    let mut backfilling = stage.collector("b", &orders);
    assert!(matches!(backfilling.backfill().await, Backfilled::Collected { .. }));
    following.follow().await;
    let before = stage.rows().await;
    stage.chain.restart();
    stage.mine_up_to(50);
    pass(Duration::from_secs(5)).await;
    for _ in 0..3 {
        // Whatever it says, it stores nothing.
        let _ = backfilling.backfiller.step().await;
    }
    assert_eq!(stage.rows().await, before);
}

/// A violation deeper than what an endpoint keeps: no block to go back to is named, for it could take back
/// everything.
pub(super) async fn blocks_that_an_endpoint_does_not_keep_are_not_taken_for_gone(kind: Kind) {
    let (stage, orders) = (Stage::new(kind, 3).await, from_block(1));
    stage.mine_up_to(60);
    let mut collector = stage.collector("a", &orders);
    collector.settle().await;
    let before = stage.rows().await;
    fork(&stage, 40, 70);
    stage.reader.forget(&(1..=45).collect::<Vec<u64>>());
    expect_violation(&stage, &mut collector).await;
    assert_eq!(stage.halt().await.and_then(|halt| halt.rewind_to), None);
    assert_eq!(stage.rows().await, before);
}

/// It refuses to tell of old blocks, as nodes do that keep the last ones only.
pub(super) async fn an_endpoint_that_refuses_old_blocks_does_not_keep_a_block_to_go_back_to_from_being_named(
    kind: Kind,
) {
    for words in [ChainErrorKind::Refused, ChainErrorKind::UnknownBlock] {
        let (stage, orders) = (Stage::new(kind, 3).await, from_block(1));
        stage.mine_up_to(120);
        let mut collector = stage.collector("a", &orders);
        collector.settle().await;
        fork(&stage, 110, 140);
        stage.reader.prune(0..=60, words);
        expect_violation(&stage, &mut collector).await;
        let to = stage.halt().await.and_then(|halt| halt.rewind_to).expect("a block");
        assert!((100..=110).contains(&to), "{to}");
        collector.follower.release().await;
        let rewound = collector.chain.rewind(to).await.expect("an answer");
        assert!(matches!(rewound, Rewound::Done { .. }), "{rewound:?}");
        stage.reader.prune([], words);
        stage.collector("b", &orders).settle().await;
        stage.assert_complete(&orders).await;
    }
}

/// An endpoint that fails now and then is not waited for anew each time.
pub(super) async fn refusals_do_not_put_off_that_the_chain_began_anew(kind: Kind) {
    let (stage, orders) = (Stage::new(kind, 3).await, from_block(1));
    stage.mine_up_to(30);
    let mut collector = stage.collector("a", &orders);
    collector.settle().await;
    stage.chain.restart();
    stage.mine_up_to(5);
    assert_eq!(collector.follow().await, Followed::Idle, "it is looked at twice");
    pass(Duration::from_secs(600)).await;
    stage.reader.refuse_from_each(true);
    assert_eq!(collector.follow().await, Followed::Idle, "nobody is heard");
    stage.reader.refuse_from_each(false);
    expect_violation(&stage, &mut collector).await;
}

/// A block that an endpoint does not have yet says nothing about the chain.
pub(super) async fn an_endpoint_that_lags_does_not_pass_for_another_chain_at_a_rewind(kind: Kind) {
    let (stage, orders) = (Stage::new(kind, 3).await, from_block(3));
    stage.mine_up_to(30);
    stage.reader.learn(5);
    let mut collector = stage.collector("a", &orders);
    assert_eq!(collector.follow().await, Followed::Planned);
    assert!(matches!(collector.backfill().await, Backfilled::Collected { .. }));
    assert_eq!(collector.follow().await, Followed::Advanced { blocks: 3, events: 3 });
    collector.follower.release().await;
    stage.reader.forget(&[30]);
    let error = collector.chain.rewind(17).await.expect_err("the stored block is not known");
    let CollectError::Chain(error) = error else { panic!("{error}") };
    assert_eq!(error.kind, ChainErrorKind::UnknownBlock, "{error}");
    stage.reader.forget(&[]);
    let rewound = collector.chain.rewind(17).await.expect("an answer");
    assert!(matches!(rewound, Rewound::Done { .. }), "{rewound:?}");
    let mut restarted = stage.collector("b", &orders);
    restarted.settle().await;
    stage.assert_complete(&orders).await;
}

/// Ranges that were under way when the chain was replaced have stored rows of both chains. The way
/// back that is named lies below all of them.
pub(super) async fn ranges_of_a_chain_that_was_replaced_are_collected_anew_after_a_rewind(kind: Kind) {
    let (stage, orders) = (Stage::new(kind, 3).await, from_block(3));
    stage.mine_up_to(30);
    stage.reader.learn(5);
    let mut collector = stage.collector("a", &orders);
    assert_eq!(collector.follow().await, Followed::Planned);
    let blocks = |from, to| BlockRange { from, to };
    for range in [blocks(3, 7), blocks(8, 12)] {
        assert_eq!(collector.backfill().await, Backfilled::Collected { blocks: range, events: 5 });
    }
    assert_eq!(collector.follow().await, Followed::Advanced { blocks: 3, events: 3 });
    stage.chain.restart();
    stage.mine_up_to(35);
    collector.backfiller.step().await.expect_err("the answer is of another chain");
    expect_violation(&stage, &mut collector).await;
    assert_eq!(stage.halt().await.and_then(|halt| halt.rewind_to), Some(2));
    collector.follower.release().await;
    let refused = collector.chain.rewind(17).await.expect("an answer");
    assert_eq!(refused, Rewound::Mixed { open_from: 3, rewind_to: Some(2) });
    let rewound = collector.chain.rewind(2).await.expect("an answer");
    assert_eq!(rewound, Rewound::Done { rows: 13 });
    let mut restarted = stage.collector("b", &orders);
    restarted.settle().await;
    stage.assert_complete(&orders).await;
}

pub(super) async fn a_reorg_past_finality_stops_behind_a_jump_too(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = stage.collector("a", &Orders::default());
    stage.mine_up_to(10);
    collector.settle().await;
    stage.mine_up_to(50);
    assert_eq!(collector.follow().await, Followed::Jumped { blocks: 37 });
    assert_eq!(collector.follow().await, Followed::Advanced { blocks: 3, events: 3 });
    collector.work_off().await;
    fork(&stage, 40, 51);
    expect_violation(&stage, &mut collector).await;
}

pub(super) async fn the_common_ancestor_is_found_however_much_is_gone(kind: Kind) {
    let stage = Stage::new(kind, 12).await;
    let orders = Orders::default();
    let mut collector = stage.collector("a", &orders);
    stage.mine_up_to(10);
    collector.settle().await;
    assert_eq!(collector.follow().await, Followed::Idle, "everything is there");
    for gone in [1, 5, 10] {
        let (ancestor, head) = (stage.chain.head() - gone, stage.chain.head() + 1);
        fork(&stage, ancestor, head);
        let back = Followed::Reorganised { depth: gone, retracted: gone };
        assert_eq!(collector.follow().await, back);
        assert_eq!(stage.position().await, i64::try_from(ancestor).ok());
        collector.settle().await;
        stage.assert_complete(&orders).await;
        stage.assert_headers(stage.chain.finalized()..=head).await;
    }
}

pub(super) async fn the_oldest_header_may_be_the_common_ancestor(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    let mut collector = stage.collector("a", &Orders::default());
    stage.mine_up_to(20);
    collector.settle().await;
    stage.assert_headers(17..=20).await;
    fork(&stage, 17, 21);
    assert_eq!(collector.follow().await, Followed::Reorganised { depth: 3, retracted: 3 });
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
}

pub(super) async fn an_ancestor_that_cannot_be_told_takes_nothing_back(kind: Kind) {
    let stage = Stage::new(kind, 12).await;
    let mut collector = stage.collector("a", &Orders::default());
    stage.mine_up_to(10);
    collector.settle().await;
    let before = (stage.rows().await, stage.headers().await);
    fork(&stage, 5, 11);
    stage.reader.forget(&[8]);
    let error = collector.follower.step().await.expect_err("a node that lags cannot tell");
    assert!(matches!(error.retry(), RetryAdvice::After(_)), "{error}");
    stage.reader.set_down(true);
    collector.follower.step().await.expect_err("nor one that is down");
    stage.reader.set_down(false);
    assert_eq!((stage.rows().await, stage.headers().await), before);
    assert_eq!(stage.halt().await, None);
    stage.reader.forget(&[]);
    assert_eq!(collector.follow().await, Followed::Reorganised { depth: 5, retracted: 5 });
}

pub(super) async fn a_shorter_branch_is_waited_out(kind: Kind) {
    let stage = Stage::new(kind, 12).await;
    let mut collector = stage.collector("a", &Orders::default());
    stage.mine_up_to(10);
    collector.settle().await;
    let before = stage.rows().await;
    fork(&stage, 6, 8);
    assert_eq!(collector.follow().await, Followed::Idle);
    assert_eq!(stage.rows().await, before, "what a node lacks is not gone yet");
    fork(&stage, 6, 11);
    assert_eq!(collector.follow().await, Followed::Reorganised { depth: 4, retracted: 4 });
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
}

pub(super) async fn a_branch_too_short_to_tell_does_not_end_a_halt(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(35);
    let mut collector = stage.collector("a", &Orders::default());
    collector.settle().await;
    fork(&stage, 2, 36);
    expect_violation(&stage, &mut collector).await;
    stage.chain.take_off(6);
    assert_eq!(collector.follow().await, Followed::Idle);
    assert!(stage.halt().await.is_some(), "nothing shows that the chain is right again");
    assert_eq!(collector.backfill().await, Backfilled::Halted);
}

pub(super) async fn no_second_look_is_taken_at_a_branch_too_short_to_tell(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(30);
    let mut collector = stage.collector("a", &Orders::default());
    collector.follow().await;
    collector.work_off().await;
    collector.follow().await;
    for head in 31..=45 {
        stage.mine_up_to(head);
        assert!(matches!(collector.follow().await, Followed::Advanced { .. }));
    }
    let (before, right) = (stage.rows().await, stage.chain.take_off(10));
    fork(&stage, 35, 44);
    assert_eq!(collector.follow().await, Followed::Idle);
    assert_eq!(stage.rows().await, before, "what was final is not mended by another branch");
    stage.chain.take_off(9);
    stage.chain.put_back(right);
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
}

pub(super) async fn a_dead_branch_that_was_followed_below_finality_is_left_again(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(20);
    let mut collector = stage.collector("a", &Orders::default());
    collector.settle().await;
    // A node that is stuck on a branch of its own has two more blocks, while others know of
    // final ones far above.
    stage.mine(&[21]);
    stage.mine(&[22]);
    let did = collector.follow().await;
    assert_eq!(did, Followed::Advanced { blocks: 2, events: 2 });
    fork(&stage, 20, 35);
    let finalized = stage.chain.block(32).expect("a block").header.block;
    let sight = Sight { finalized, ..stage.sight().await.expect("it was seen") };
    let text = serde_json::to_string(&sight).expect("json");
    let put = Write::PutState { key: stage.names.sight.clone(), value: Some(text) };
    stage.store.commit(Commit::of(vec![put])).await.expect("written");
    let back = collector.follower.step().await.expect("nothing that was final is gone");
    assert_eq!(back, Followed::Reorganised { depth: 2, retracted: 2 });
    collector.settle().await;
    stage.assert_complete(&Orders::default()).await;
    assert_eq!(stage.halt().await, None);
}
