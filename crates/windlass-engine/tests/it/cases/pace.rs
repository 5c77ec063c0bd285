//! How long an idle loop waits, and that it does not wait while there is work. Time
//! is virtual here, which a real server would not keep to: these play on SQLite alone.

use std::sync::{Arc, Mutex};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::stage::{Orders, Stage, from_block};
use crate::database::Kind;

/// Seconds between instants.
fn gaps(instants: &[Instant]) -> Vec<u64> {
    instants.windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect()
}

/// A batch is four blocks: up to four behind is the head, twenty behind is the past,
/// and in between nothing changes.
#[tokio::test(start_paused = true)]
async fn an_idle_head_waits_as_its_mode_says() {
    let stage = Stage::new(Kind::Sqlite, 100).await;
    let (looks, shutdown) = (Arc::new(Mutex::new(Vec::new())), CancellationToken::new());
    let collector = stage.collector("a", &Orders::default());
    // The next block is not there yet, however far the head is: nothing to do.
    stage.reader.forget(&[1]);
    let (chain, seen, done) = (stage.chain.clone(), looks.clone(), shutdown.clone());
    stage.reader.on_look(move |look| {
        seen.lock().expect("no panic").push(Instant::now());
        let lag = match look {
            1 | 2 => 0,
            3 => 5,
            4 | 5 => 20,
            6 => 10,
            _ => 4,
        };
        chain.take_off(chain.head());
        chain.mine(lag, 0);
        if look == 8 {
            done.cancel();
        }
    });
    collector.follower.run(shutdown).await.expect("a clean end");
    // The first look makes the plan, and the second follows at once.
    assert_eq!(gaps(&looks.lock().expect("no panic")), [0, 60, 60, 5, 5, 5, 60]);
}

#[tokio::test(start_paused = true)]
async fn there_is_no_pause_between_two_ranges() {
    let stage = Stage::new(Kind::Sqlite, 3).await;
    stage.mine_up_to(103);
    stage.reader.learn(10);
    let mut collector = stage.collector("a", &from_block(1));
    collector.follow().await;
    let (asked, shutdown) = (Arc::new(Mutex::new(Vec::new())), CancellationToken::new());
    let (seen, done) = (asked.clone(), shutdown.clone());
    stage.reader.judge(move |range| {
        seen.lock().expect("no panic").push(Instant::now());
        if range.to == 100 {
            done.cancel();
        }
        None
    });
    collector.backfiller.run(shutdown).await.expect("a clean end");
    assert_eq!(gaps(&asked.lock().expect("no panic")), [0; 9]);
    assert_eq!(stage.fees().await.len(), 100);
}

/// Others claim from the same campaign just now, and there are ranges left.
#[tokio::test(start_paused = true)]
async fn a_claim_that_found_the_store_busy_is_made_again_soon() {
    let stage = Stage::new(Kind::Sqlite, 3).await;
    stage.mine_up_to(103);
    stage.reader.learn(10);
    let mut collector = stage.collector("a", &from_block(1));
    collector.follow().await;
    let (asked, shutdown) = (Arc::new(Mutex::new(Vec::new())), CancellationToken::new());
    let (seen, done, store) = (asked.clone(), shutdown.clone(), stage.store.clone());
    stage.reader.judge(move |range| {
        seen.lock().expect("no panic").push(Instant::now());
        store.be_busy("claim_range", 3);
        if range.to == 100 {
            done.cancel();
        }
        None
    });
    collector.backfiller.run(shutdown).await.expect("a clean end");
    assert_eq!(gaps(&asked.lock().expect("no panic")), [0; 9]);
}

/// The lease is its own; a neighbour's commit was in the way.
#[tokio::test(start_paused = true)]
async fn a_head_whose_lease_was_busy_looks_again_soon() {
    let stage = Stage::new(Kind::Sqlite, 100).await;
    let (looks, shutdown) = (Arc::new(Mutex::new(Vec::new())), CancellationToken::new());
    let collector = stage.collector("a", &Orders::default());
    let (seen, done, store) = (looks.clone(), shutdown.clone(), stage.store.clone());
    stage.reader.on_look(move |look| {
        seen.lock().expect("no panic").push(Instant::now());
        store.be_busy("acquire_lease", 2);
        if look == 4 {
            done.cancel();
        }
    });
    collector.follower.run(shutdown).await.expect("a clean end");
    assert_eq!(gaps(&looks.lock().expect("no panic")), [0, 60, 60]);
}
