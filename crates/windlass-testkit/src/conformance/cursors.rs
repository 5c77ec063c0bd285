//! Cursors: seeded once, moved forward, never papered over.

use windlass_core::commit::{Commit, Write, Written};
use windlass_core::cursor::{Cursor, CursorMove, CursorRule};
use windlass_core::error::StoreError;
use windlass_core::store::Store;

use super::support::{Well, put, refused, state, write};
use crate::harness::Harness;
use crate::make::{cursor, cursor_name};

async fn position(store: &dyn Store, name: &str) -> Option<Cursor> {
    store.cursor(&cursor_name(name)).await.well()
}

async fn advance(store: &dyn Store, to: Cursor, rule: CursorRule) -> CursorMove {
    store.advance_cursor(&cursor_name("c"), to, rule).await.well()
}

pub async fn a_cursor_is_seeded_once(harness: &dyn Harness) {
    let store = harness.open().await;
    assert_eq!(position(&*store, "c").await, None);
    assert!(store.seed_cursor(&cursor_name("c"), cursor(10, "a")).await.well());
    assert!(!store.seed_cursor(&cursor_name("c"), cursor(99, "b")).await.well());
    assert_eq!(position(&*store, "c").await, Some(cursor(10, "a")));
}

pub async fn a_cursor_moves_forward_and_never_back(harness: &dyn Harness) {
    let store = harness.open().await;
    store.seed_cursor(&cursor_name("c"), cursor(10, "a")).await.well();
    for rule in [CursorRule::Identified, CursorRule::Shared] {
        let from = position(&*store, "c").await.expect("it was seeded");
        let to = cursor(from.primary() + 5, "h");
        assert_eq!(advance(&*store, to.clone(), rule).await, CursorMove::Advanced);
        assert_eq!(advance(&*store, from, rule).await, CursorMove::Unchanged);
        assert_eq!(advance(&*store, to.clone(), rule).await, CursorMove::Unchanged);
        assert_eq!(position(&*store, "c").await, Some(to));
    }
}

pub async fn another_identity_at_the_same_number_is_a_conflict(harness: &dyn Harness) {
    let store = harness.open().await;
    store.seed_cursor(&cursor_name("c"), cursor(10, "a")).await.well();
    let other = cursor(10, "b");
    let refusal = store.advance_cursor(&cursor_name("c"), other.clone(), CursorRule::Identified).await;
    refused!(refusal, StoreError::CursorConflict { name, stored, proposed }
        if name == cursor_name("c") && stored == cursor(10, "a") && proposed == other);
    assert_eq!(position(&*store, "c").await, Some(cursor(10, "a")));
}

pub async fn another_identity_at_a_shared_number_is_progress(harness: &dyn Harness) {
    let store = harness.open().await;
    store.seed_cursor(&cursor_name("c"), cursor(10, "a")).await.well();
    assert_eq!(advance(&*store, cursor(10, "b"), CursorRule::Shared).await, CursorMove::Advanced);
    assert_eq!(position(&*store, "c").await, Some(cursor(10, "b")));
}

pub async fn a_conflict_refuses_the_whole_commit(harness: &dyn Harness) {
    let store = harness.open().await;
    store.seed_cursor(&cursor_name("c"), cursor(10, "a")).await.well();
    let conflict =
        Write::AdvanceCursor { name: cursor_name("c"), to: cursor(10, "b"), rule: CursorRule::Identified };
    let commit = Commit::of(vec![put("seen", "1"), conflict, put("too", "1")]);
    refused!(store.commit(commit).await, StoreError::CursorConflict { .. });
    assert_eq!((state(&*store, "seen").await, state(&*store, "too").await), (None, None));
}

pub async fn a_cursor_nobody_seeded_does_not_move(harness: &dyn Harness) {
    let store = harness.open().await;
    let to = cursor(1, "a");
    let advance = store.advance_cursor(&cursor_name("c"), to.clone(), CursorRule::Shared).await;
    refused!(advance, StoreError::CursorMissing(_));
    let reset = Write::ResetCursor { name: cursor_name("c"), expected: to.clone(), to };
    refused!(store.commit(Commit::of(vec![reset])).await, StoreError::CursorMissing(_));
    assert_eq!(position(&*store, "c").await, None);
}

pub async fn a_reset_goes_anywhere_for_who_knows_the_position(harness: &dyn Harness) {
    let store = harness.open().await;
    store.seed_cursor(&cursor_name("c"), cursor(10, "a")).await.well();
    let reset = |expected: Cursor, to: Cursor| Write::ResetCursor { name: cursor_name("c"), expected, to };
    for wrong in [cursor(9, "a"), cursor(10, "b")] {
        let refusal = store.commit(Commit::of(vec![reset(wrong.clone(), cursor(3, "x"))])).await;
        refused!(refusal, StoreError::CursorConflict { stored, proposed, .. }
            if stored == cursor(10, "a") && proposed == wrong);
    }
    let back = write(&*store, vec![reset(cursor(10, "a"), cursor(3, "x"))]).await;
    assert_eq!(back, [Written::Cursor(CursorMove::Advanced)]);
    assert_eq!(position(&*store, "c").await, Some(cursor(3, "x")));
}

pub async fn cursors_of_different_names_are_independent(harness: &dyn Harness) {
    let store = harness.open().await;
    store.seed_cursor(&cursor_name("c"), cursor(1, "a")).await.well();
    store.seed_cursor(&cursor_name("C"), cursor(2, "b")).await.well();
    advance(&*store, cursor(7, "z"), CursorRule::Identified).await;
    assert_eq!(position(&*store, "C").await, Some(cursor(2, "b")));
}

pub async fn positions_read_back_exactly(harness: &dyn Harness) {
    let store = harness.open().await;
    for (name, primary, secondary) in [
        ("low", i64::MIN, "x"),
        ("high", i64::MAX, "0xAbC"),
        ("wide", 0, &*"s".repeat(256)),
        ("text", -1, "é' %"),
    ] {
        store.seed_cursor(&cursor_name(name), cursor(primary, secondary)).await.well();
        assert_eq!(position(&*store, name).await, Some(cursor(primary, secondary)));
    }
}

pub async fn a_cursor_seeded_in_a_commit_moves_in_the_same_commit(harness: &dyn Harness) {
    let store = harness.open().await;
    let name = cursor_name("c");
    let written = write(
        &*store,
        vec![
            Write::SeedCursor { name: name.clone(), start: cursor(1, "a") },
            Write::AdvanceCursor { name: name.clone(), to: cursor(2, "b"), rule: CursorRule::Identified },
            Write::SeedCursor { name, start: cursor(9, "c") },
        ],
    )
    .await;
    let expected = [Written::Rows(1), Written::Cursor(CursorMove::Advanced), Written::Rows(0)];
    assert_eq!(written, expected);
    assert_eq!(position(&*store, "c").await, Some(cursor(2, "b")));
}

pub async fn cursors_are_listed_by_name(harness: &dyn Harness) {
    let store = harness.open().await;
    assert_eq!(store.list_cursors().await.well(), []);
    for name in ["b", "a"] {
        store.seed_cursor(&cursor_name(name), cursor(7, name)).await.well();
    }
    let listed = store.list_cursors().await.well();
    assert_eq!(listed, [(cursor_name("a"), cursor(7, "a")), (cursor_name("b"), cursor(7, "b"))]);
}
