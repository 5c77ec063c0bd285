//! How long an idle loop waits, and that it does not wait while there is work. Time
//! is virtual here, which a real server would not keep to: these play on SQLite alone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use windlass_engine::collect::head::Follower;

use super::stage::{Orders, Stage, from_block};
use crate::database::Kind;

/// Seconds between instants.
fn gaps(instants: &[Instant]) -> Vec<u64> {
    instants.windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect()
}

/// When the head was looked at, while a block is mined every so often.
async fn looks_with_blocks_every(ms: u64, looks: usize) -> Vec<Instant> {
    looks_at(&Stage::new(Kind::Sqlite, 100).await, ms, looks).await
}

async fn looks_at(stage: &Stage, ms: u64, looks: usize) -> Vec<Instant> {
    let (seen, shutdown) = (Arc::new(Mutex::new(Vec::new())), CancellationToken::new());
    let collector = stage.collector("a", &Orders::default());
    let (chain, times, done, start) = (stage.chain.clone(), seen.clone(), shutdown.clone(), Instant::now());
    stage.reader.on_look(move |look| {
        let now = Instant::now();
        times.lock().expect("no panic").push(now);
        let due = u64::try_from((now - start).as_millis()).expect("a short test") / ms;
        chain.mine(due.saturating_sub(chain.head()), 0);
        if look == looks {
            done.cancel();
        }
    });
    collector.follower.run(shutdown).await.expect("a clean end");
    let seen = seen.lock().expect("no panic");
    seen.clone()
}

#[tokio::test(start_paused = true)]
async fn an_idle_head_is_looked_at_twice_in_the_time_between_blocks() {
    for (block_ms, interval_ms) in [(250, 112), (2_000, 900), (12_000, 5_000)] {
        let looks = looks_with_blocks_every(block_ms, 200).await;
        let last = &looks[150..];
        let average = (last[last.len() - 1] - last[0]).as_millis() / (last.len() as u128 - 1);
        let distance = average.abs_diff(interval_ms);
        assert!(distance * 10 < interval_ms, "{average} ms with a block every {block_ms} ms");
    }
}

/// The next block is not there, although the head is further: that is asked again soon, and
/// no more often than a chain that is well.
#[tokio::test(start_paused = true)]
async fn a_head_whose_next_block_is_missing_is_asked_again_soon() {
    let stage = Stage::new(Kind::Sqlite, 100).await;
    let (seen, shutdown) = (Arc::new(Mutex::new(Vec::new())), CancellationToken::new());
    let collector = stage.collector("a", &Orders::default());
    stage.reader.forget(&[1]);
    stage.chain.mine(3, 0);
    let (times, done) = (seen.clone(), shutdown.clone());
    stage.reader.on_look(move |look| {
        times.lock().expect("no panic").push(Instant::now());
        if look == 20 {
            done.cancel();
        }
    });
    collector.follower.run(shutdown).await.expect("a clean end");
    let gaps = gaps(&seen.lock().expect("no panic"));
    assert!(gaps.iter().all(|gap| *gap <= 5), "{gaps:?}");
    assert_eq!(gaps.last(), Some(&5), "longer each time, up to that");
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

/// An endpoint may take its time to say what is final: the newest block does not wait for it, and
/// what it says counts when it comes.
#[tokio::test(start_paused = true)]
async fn finality_is_followed_however_long_endpoints_take_to_tell() {
    let stage = Stage::new(Kind::Sqlite, 3).await;
    stage.reader.delay_finality(Duration::from_secs(3));
    looks_at(&stage, 2_000, 200).await;
    let finalized = stage.sight().await.expect("a sight").finalized.number;
    assert!(finalized > 0, "{finalized} of {}", stage.chain.finalized());
}

/// One endpoint hangs, so that a question to each of them takes very long.
#[tokio::test]
async fn a_restart_collects_before_finality_is_answered() {
    let stage = Stage::new(Kind::Sqlite, 3).await;
    stage.mine_up_to(30);
    let mut before = stage.collector("a", &Orders::default());
    before.settle().await;
    before.follower.release().await;
    stage.mine_up_to(40);
    stage.reader.delay_finality(Duration::from_secs(3_600));
    let shutdown = CancellationToken::new();
    let restarted = stage.collector("b", &Orders::default());
    let run = tokio::spawn(restarted.follower.run(shutdown.clone()));
    let collected = async {
        while stage.position().await != Some(40) {
            assert!(!run.is_finished());
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(60), collected).await.expect("the head does not wait for finality");
    shutdown.cancel();
    run.await.expect("no panic").expect("a clean end");
}

/// News of blocks come more often than polls, and each takes the place of one.
#[tokio::test]
async fn finality_is_followed_while_news_of_blocks_come() {
    let stage = Stage::new(Kind::Sqlite, 3).await;
    let orders = Orders { poll_interval: Some(Duration::from_millis(100)), ..Orders::default() };
    let collector = stage.collector("a", &orders);
    let ((news, heads), shutdown) = (watch::channel(None), CancellationToken::new());
    let run = tokio::spawn(Follower::new(collector.chain.clone(), Some(heads)).run(shutdown.clone()));
    while stage.sight().await.is_none_or(|sight| sight.finalized.number < 10) {
        assert!(!run.is_finished());
        stage.chain.mine(1, 0);
        news.send_replace(Some(stage.chain.head()));
        while stage.position().await != i64::try_from(stage.chain.head()).ok() {
            tokio::task::yield_now().await;
        }
    }
    shutdown.cancel();
    run.await.expect("no panic").expect("a clean end");
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
    assert!(gaps(&looks.lock().expect("no panic")).iter().all(|gap| *gap <= 5));
}
