//! The end of the audit log leaves through the outbox, once a day.

use windlass_core::name::{Owner, Partition};
use windlass_core::payout::day::UtcDay;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::publish::HeadPublisher;

use super::tampering::Break;
use super::world::{AUDIT_KEY, World};
use crate::database::Kind;

const DAY_MS: i64 = 86_400_000;

fn publisher(world: &World, name: &str) -> HeadPublisher {
    HeadPublisher::new(Ledger::new(world.store.clone(), AUDIT_KEY), Owner::new(name).expect("a name"))
        .expect("a publisher")
}

async fn once_a_day(kind: Kind) {
    let world = World::new(kind, |_| {}).await;
    let (one, other) = (publisher(&world, "one"), publisher(&world, "other"));
    assert_eq!(one.step().await.expect("looked"), None, "there is no entry yet");
    world.approved("invoice-1", 5).await;
    let head = world.store.audit_head().await.expect("a head");
    assert_eq!(one.step().await.expect("published"), Some(head));
    world.approved("invoice-2", 5).await;
    for again in [&one, &other] {
        assert_eq!(again.step().await.expect("looked"), None, "once a day, whoever looks");
    }
    world.clock.advance_ms(DAY_MS);
    let later = world.store.audit_head().await.expect("a head");
    assert_eq!(other.step().await.expect("published"), Some(later));
    assert_ne!(later, head);
    let partition = Partition::new("pay/audit").expect("a name");
    let messages = world.store.messages(&partition, 0, 10).await.expect("read");
    let told: Vec<(String, i64)> = messages
        .iter()
        .map(|message| {
            let payload: serde_json::Value = serde_json::from_str(&message.payload).expect("json");
            (message.topic.clone(), payload["seq"].as_i64().expect("a number"))
        })
        .collect();
    assert_eq!(told, [("audit.head".to_owned(), head.seq), ("audit.head".to_owned(), later.seq)]);
}

#[tokio::test]
async fn the_logs_end_is_published_once_a_day() {
    once_a_day(Kind::Sqlite).await;
}

#[tokio::test]
async fn the_logs_end_is_published_once_a_day_postgres() {
    once_a_day(Kind::Postgres).await;
}

/// Whoever can write to the database cannot say that a day's end was published.
async fn nobody_else_keeps_a_day_from_being_published(kind: Kind) {
    let case = Break::new(kind, |_| {}).await;
    let publisher = publisher(&case.world, "one");
    case.world.approved("invoice-1", 5).await;
    let head = case.world.store.audit_head().await.expect("a head");
    assert_eq!(publisher.step().await.expect("published"), Some(head));
    let mark = "key = 'pay/audit/published'";
    case.sql(&[&format!("CREATE TABLE kept AS SELECT value FROM state WHERE {mark}")]).await;
    case.world.clock.advance_ms(DAY_MS);
    let today = UtcDay::of(case.world.store.now().await.expect("a time"));
    for value in [
        format!("'{today}'"),
        // That of the day before, as of today.
        format!("'{today}' || substr((SELECT value FROM kept), {})", today.to_string().len() + 1),
    ] {
        assert_eq!(case.sql(&[&format!("UPDATE state SET value = {value} WHERE {mark}")]).await, 1);
        assert_eq!(publisher.step().await.expect("published"), Some(head), "{value}");
        assert_eq!(publisher.step().await.expect("looked"), None);
    }
}

#[tokio::test]
async fn nobody_else_keeps_a_day_from_being_published_sqlite() {
    nobody_else_keeps_a_day_from_being_published(Kind::Sqlite).await;
}

#[tokio::test]
async fn nobody_else_keeps_a_day_from_being_published_postgres() {
    nobody_else_keeps_a_day_from_being_published(Kind::Postgres).await;
}
