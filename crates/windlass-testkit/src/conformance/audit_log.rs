//! The audit log, and keys of the API.

use windlass_core::chain::B256;
use windlass_core::error::StoreError;
use windlass_core::payout::audit::{AuditFault, AuditHead};
use windlass_core::payout::ledger::{ApiKey, PayWrite, Role};
use windlass_core::payout::store::AuditQuery;

use super::payouts::{approved, at, pay};
use super::support::{Well, refused};
use crate::harness::Harness;
use crate::make::{AUDIT_KEY, audit_entry};

pub async fn the_audit_log_is_one_chain(harness: &dyn Harness) {
    let store = harness.open().await;
    assert_eq!(store.audit_head().await.well(), AuditHead::default());
    let entries = vec![audit_entry("a", "p1"), audit_entry("b", "p2")];
    pay(&*store, vec![PayWrite::audit(AUDIT_KEY, entries)]).await.well();
    let entries = vec![audit_entry("c", "p1")];
    let failing = vec![PayWrite::audit(AUDIT_KEY, entries.clone()), PayWrite::Payouts(vec![approved(1)])];
    refused!(pay(&*store, failing).await, StoreError::Stale(_));
    let store = harness.restart(store).await;
    pay(&*store, vec![PayWrite::audit(AUDIT_KEY, entries)]).await.well();
    let query = |subject: Option<&str>, after, limit| AuditQuery {
        subject: subject.map(str::to_owned),
        after,
        limit,
    };
    let rows = store.audit_rows(&query(None, 0, 10)).await.well();
    let end = rows.iter().try_fold(AuditHead::default(), |head, row| AUDIT_KEY.follow(head, row));
    assert_eq!(end, Ok::<_, AuditFault>(store.audit_head().await.well()));
    let actions: Vec<&str> = rows.iter().map(|row| row.entry.action.as_str()).collect();
    assert_eq!(actions, ["a", "b", "c"]);
    assert_eq!(rows[0].entry, audit_entry("a", "p1"));
    assert_eq!(store.audit_rows(&query(Some("p1"), 1, 10)).await.well(), rows[2..]);
    assert_eq!(store.audit_rows(&query(None, 1, 1)).await.well(), rows[1..2]);
}

pub async fn entries_written_at_once_are_one_chain(harness: &dyn Harness) {
    let store = harness.open().await;
    let workers = (0..8).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            for _ in 0..5 {
                let entries = vec![audit_entry("a", "p"), audit_entry("b", "p")];
                pay(&*store, vec![PayWrite::audit(AUDIT_KEY, entries)]).await.well();
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.expect("no panic");
    }
    let rows = store.audit_rows(&AuditQuery { limit: 100, ..AuditQuery::default() }).await.well();
    let end = rows.iter().try_fold(AuditHead::default(), |head, row| AUDIT_KEY.follow(head, row));
    assert_eq!(end, Ok(store.audit_head().await.well()));
    assert_eq!(rows.len(), 80);
}

pub async fn keys_are_found_by_their_hash_and_revoked_once(harness: &dyn Harness) {
    let store = harness.open().await;
    let key = |name: &str, byte: u8| ApiKey {
        name: name.to_owned(),
        version: 1,
        role: Role::Approver,
        hash: B256::repeat_byte(byte),
        created_at: at(1),
        revoked_at: None,
        mac: B256::repeat_byte(byte),
    };
    pay(&*store, vec![PayWrite::ApiKey(key("zoe", 1)), PayWrite::ApiKey(key("ann", 2))]).await.well();
    refused!(pay(&*store, vec![PayWrite::ApiKey(key("ann", 3))]).await, StoreError::Stale(_));
    refused!(pay(&*store, vec![PayWrite::ApiKey(key("bob", 2))]).await, StoreError::Stale(_));
    let revoked = ApiKey { mac: B256::repeat_byte(0x99), ..key("zoe", 1).revoked(at(9)) };
    pay(&*store, vec![PayWrite::ApiKey(revoked.clone())]).await.well();
    let again = ApiKey { version: 3, revoked_at: None, ..revoked.clone() };
    refused!(pay(&*store, vec![PayWrite::ApiKey(again)]).await, StoreError::Forbidden(_));
    assert_eq!(store.api_key(B256::repeat_byte(1)).await.well(), Some(revoked.clone()));
    assert_eq!(store.api_key(B256::repeat_byte(7)).await.well(), None);
    assert_eq!(store.list_api_keys().await.well(), [key("ann", 2), revoked]);
}
