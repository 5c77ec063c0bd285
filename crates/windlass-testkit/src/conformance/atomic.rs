//! A commit is everything or nothing, whatever fails in it and wherever.

use std::sync::Arc;

use windlass_core::commit::{Commit, Write};
use windlass_core::cursor::CursorRule;
use windlass_core::job::{JobTicket, MAX_PAYLOAD_BYTES, NewJob};
use windlass_core::outbox::SinkStart;
use windlass_core::range::BlockRange;
use windlass_core::store::Store;

use super::picture::{CHAIN, CURSOR, STATE, picture};
use super::support::{Well, claim, enqueue, publish, put, write};
use crate::harness::Harness;
use crate::make::{
    TTL_MS, chain, cursor, cursor_name, event, header, identifier, job, message, queue, row, rows, sink,
    table,
};

/// A store with something of everything, a ticket that is good and one that is not.
struct Stage {
    store: Arc<dyn Store>,
    good: JobTicket,
    zombie: JobTicket,
}

async fn stage(harness: &dyn Harness) -> Stage {
    let store = harness.open().await;
    enqueue(&*store, "q", &[("old", "1")]).await;
    let zombie = claim(&*store, "q", "zombie").await[0].ticket;
    harness.clock().advance_ms(TTL_MS as i64);
    claim(&*store, "q", "w").await;
    enqueue(&*store, "q", &[("mine", "2"), ("mine", "3")]).await;
    let good = claim(&*store, "q", "w").await[0].ticket;
    enqueue(&*store, "over", &[("a", "6")]).await;
    store.seed_cursor(&cursor_name(CURSOR), cursor(10, "a")).await.well();
    store.register_sink(&sink("s"), SinkStart::Beginning).await.well();
    publish(&*store, vec![message("p", "0")]).await;
    let headers = vec![header(5, 1)];
    write(
        &*store,
        vec![
            Write::Events(vec![event(CHAIN, 2, 0, 1), event(CHAIN, 5, 0, 1)]),
            Write::Blocks { chain: chain(CHAIN), headers },
        ],
    )
    .await;
    store.create_tables(&[table("t", CHAIN), table("other", CHAIN)]).await.well();
    write(&*store, vec![Write::Rows(rows(&table("t", CHAIN), [row(4, 0, 1), row(5, 0, 1)]))]).await;
    Stage { store, good, zombie }
}

/// One write of every kind, each of which goes well.
fn good_writes(good: JobTicket) -> Vec<Write> {
    let to = cursor(11, "b");
    vec![
        Write::Events(vec![event(CHAIN, 6, 0, 1)]),
        Write::EraseEvents {
            chain: chain(CHAIN),
            blocks: BlockRange { from: 2, to: 2 },
            contracts: Vec::new(),
        },
        Write::Blocks { chain: chain(CHAIN), headers: vec![header(6, 1)] },
        Write::Rows(rows(&table("t", CHAIN), [row(5, 1, 1), row(6, 0, 1)])),
        Write::Rows(rows(&table("other", CHAIN), (0..300).map(|number| row(number, 0, 1)))),
        Write::EraseRows {
            table: identifier("t"),
            blocks: BlockRange { from: 4, to: 4 },
            contracts: Vec::new(),
        },
        Write::ForgetBlocks { chain: chain(CHAIN), below: 5 },
        Write::Retract { chain: chain(CHAIN), from_block: 6 },
        Write::SeedCursor { name: cursor_name("other"), start: cursor(1, "x") },
        Write::AdvanceCursor { name: cursor_name(CURSOR), to: to.clone(), rule: CursorRule::Identified },
        Write::ResetCursor { name: cursor_name(CURSOR), expected: to, to: cursor(12, "c") },
        Write::Enqueue(vec![job("q", "fresh", "4"), job("q2", "fresh", "5")]),
        Write::CompleteJob(good),
        Write::DropQueue(queue("over")),
        Write::Publish(vec![message("p", "1"), message("new", "2")]),
        put(STATE, "1"),
    ]
}

/// Writes that cannot go well, wherever they stand among the good ones.
fn bad_writes(zombie: JobTicket) -> Vec<(&'static str, Write)> {
    let unique = NewJob { unique: true, ..job("q", "old", "x") };
    let large = NewJob { payload: "x".repeat(MAX_PAYLOAD_BYTES + 1), ..job("q", "z", "") };
    let nowhere = cursor(-7, "nowhere");
    let missing = || cursor_name("missing");
    vec![
        ("a zombie's completion", Write::CompleteJob(zombie)),
        ("a second unique job", Write::Enqueue(vec![job("q", "z", "y"), unique])),
        ("a reserved queue", Write::Enqueue(vec![job("q", "z", "y"), job("outbox/s", "p", "x")])),
        ("a payload too large", Write::Enqueue(vec![large])),
        (
            "a cursor nobody seeded",
            Write::AdvanceCursor { name: missing(), to: cursor(1, "a"), rule: CursorRule::Shared },
        ),
        (
            "a cursor conflict",
            Write::AdvanceCursor {
                name: cursor_name("twin"),
                to: cursor(1, "b"),
                rule: CursorRule::Identified,
            },
        ),
        (
            "a reset from elsewhere",
            Write::ResetCursor { name: cursor_name(CURSOR), expected: nowhere.clone(), to: nowhere },
        ),
        ("a log of another fork", Write::Events(vec![event(CHAIN, 4, 0, 2), event(CHAIN, 5, 0, 2)])),
        ("a row of another fork", Write::Rows(rows(&table("t", CHAIN), [row(1, 0, 2), row(5, 0, 2)]))),
        ("rows for a missing table", Write::Rows(rows(&table("missing", CHAIN), [row(1, 0, 1)]))),
        ("rows for another table", Write::Rows(rows(&table("t", CHAIN + 1), [row(1, 0, 1)]))),
        (
            "a missing table to take rows of",
            Write::EraseRows {
                table: identifier("missing"),
                blocks: BlockRange { from: 0, to: 9 },
                contracts: Vec::new(),
            },
        ),
        (
            "a header of another fork",
            Write::Blocks { chain: chain(CHAIN), headers: vec![header(4, 2), header(5, 2)] },
        ),
    ]
}

pub async fn any_failing_write_in_any_place_undoes_all_others(harness: &dyn Harness) {
    let Stage { store, good, zombie } = stage(harness).await;
    store.seed_cursor(&cursor_name("twin"), cursor(1, "a")).await.well();
    let before = picture(&*store).await;
    let places = good_writes(good).len();
    for (what, bad) in bad_writes(zombie) {
        for place in 0..=places {
            let mut writes = good_writes(good);
            writes.insert(place, bad.clone());
            let answer = store.commit(Commit::of(writes)).await;
            assert!(answer.is_err(), "{what} in place {place} was taken: {answer:?}");
        }
        assert_eq!(picture(&*store).await, before, "{what} left something behind");
        assert_eq!(store.cursor(&cursor_name("other")).await.well(), None, "{what} left a cursor behind");
    }
    store.commit(Commit::of(good_writes(good))).await.well();
    assert_ne!(picture(&*store).await, before, "the good writes alone are taken");
    assert_eq!(publish(&*store, vec![message("p", "3"), message("new", "4")]).await, [3, 2], "no gap");
}

pub async fn a_failing_fence_lets_no_write_through(harness: &dyn Harness) {
    let Stage { store, good, zombie } = stage(harness).await;
    let before = picture(&*store).await;
    for commit in [
        Commit::of(good_writes(good)).under_job(zombie),
        Commit::of(good_writes(good)).under_job(good).under_job(zombie),
    ] {
        assert!(store.commit(commit).await.is_err());
        assert_eq!(picture(&*store).await, before);
    }
}
