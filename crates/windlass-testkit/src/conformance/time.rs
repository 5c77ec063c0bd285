//! The clock goes backwards.

use windlass_core::commit::Commit;
use windlass_core::error::StoreError;

use super::support::{Well, claim, enqueue, list, payloads, put, refused, retry, tickets};
use crate::harness::Harness;
use crate::make::{TTL_MS, lease_name, ms, owner};

pub async fn a_clock_set_back_takes_no_lease_from_its_holder(harness: &dyn Harness) {
    let (store, clock) = (harness.open().await, harness.clock());
    let lease = store.acquire_lease(&lease_name("l"), &owner("a"), ms(TTL_MS)).await.well();
    let lease = lease.expect("the lease is free");
    clock.advance_ms(-3_600_000);
    assert_eq!(store.acquire_lease(&lease_name("l"), &owner("b"), ms(TTL_MS)).await.well(), None);
    store.commit(Commit::of(vec![put("k", "1")]).under_lease(&lease)).await.well();
    let extended = store.extend_lease(&lease, ms(TTL_MS)).await.well();
    assert_eq!(extended.expires_at.as_ms(), clock.now_ms() + TTL_MS as i64);
    clock.set_ms(extended.expires_at.as_ms());
    let next = store.acquire_lease(&lease_name("l"), &owner("b"), ms(TTL_MS)).await.well();
    assert_eq!(next.expect("it ran out").epoch, lease.epoch.next());
    refused!(store.extend_lease(&lease, ms(TTL_MS)).await, StoreError::Fenced { .. });
}

pub async fn a_clock_set_back_hands_no_lane_to_two_holders(harness: &dyn Harness) {
    let (store, clock) = (harness.open().await, harness.clock());
    enqueue(&*store, "q", &[("a", "1"), ("a", "2")]).await;
    let first = claim(&*store, "q", "a").await;
    clock.advance_ms(-3_600_000);
    assert!(claim(&*store, "q", "b").await.is_empty());
    assert_eq!(store.complete_jobs(&tickets(&first)).await.well(), []);
    let second = claim(&*store, "q", "b").await;
    assert_eq!(payloads(&second), ["2"], "a lane freed now is free now, whatever the time was before");
    assert_eq!(second[0].ticket.epoch, first[0].ticket.epoch.next());
}

pub async fn work_of_the_future_waits_until_the_clock_is_there_again(harness: &dyn Harness) {
    let (store, clock) = (harness.open().await, harness.clock());
    let start = clock.now_ms();
    enqueue(&*store, "q", &[("a", "1"), ("b", "2")]).await;
    let jobs = claim(&*store, "q", "w").await;
    store.fail_job(&retry(jobs[0].ticket, "x", 100)).await.well();
    store.release_jobs(&[jobs[1].ticket]).await.well();
    clock.set_ms(start - 1);
    assert!(claim(&*store, "q", "w").await.is_empty());
    assert_eq!(list(&*store, "q", false).await.len(), 2, "nothing is lost");
    enqueue(&*store, "q", &[("c", "3")]).await;
    assert_eq!(payloads(&claim(&*store, "q", "w").await), ["3"]);
    clock.set_ms(start);
    assert_eq!(payloads(&claim(&*store, "q", "w").await), ["2"]);
    clock.set_ms(start + 100);
    assert_eq!(payloads(&claim(&*store, "q", "w").await), ["1"]);
}

pub async fn the_store_goes_by_the_clock_it_was_given(harness: &dyn Harness) {
    let (store, clock) = (harness.open().await, harness.clock());
    for _ in 0..3 {
        assert_eq!(store.now().await.well().as_ms(), clock.now_ms());
        clock.advance_ms(-86_400_000);
    }
}
