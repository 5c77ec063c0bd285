//! Forgetting messages: only the partitions that give some are locked or written.

use windlass_core::commit::{Commit, Write};
use windlass_core::outbox::{MessageClaim, SinkStart};
use windlass_core::store::{Door, Outbox};
use windlass_testkit::make;

use crate::database::Database;

#[tokio::test]
async fn pruning_touches_no_more_partitions_than_it_needs() {
    let database = Database::new();
    let store = database.open().await;
    let sink = make::sink("s");
    store.register_sink(&sink, SinkStart::Beginning).await.expect("a sink");
    let names = ["a", "b", "c"];
    let messages: Vec<_> = names
        .iter()
        .flat_map(|name| (0..4).map(move |key| make::message(name, &format!("{name}{key}"))))
        .collect();
    store.commit(Commit::of(vec![Write::Publish(messages)])).await.expect("published");
    let claim = MessageClaim {
        sink,
        owner: make::owner("o"),
        ttl: make::ms(1_000),
        max_messages: 100,
        max_per_partition: 100,
        max_attempts: 5,
    };
    for run in store.claim_messages(&claim).await.expect("messages") {
        store.mark_delivered(run.hold, 4).await.expect("delivered");
    }
    let client = database.client().await;
    let versions = async || -> Vec<String> {
        let rows =
            client.query("SELECT xmin::TEXT || '/' || xmax::TEXT FROM partition ORDER BY id", &[]).await;
        rows.expect("partitions").iter().map(|row| row.get(0)).collect()
    };
    let before = versions().await;
    assert_eq!(store.prune_outbox(6).await.expect("a count"), 6);
    let after = versions().await;
    assert_ne!(after[..2], before[..2]);
    assert_eq!(after[2], before[2], "a partition that gave nothing was locked or written");
    assert_eq!(store.prune_outbox(0).await.expect("a count"), 0);
    assert_eq!(store.prune_outbox(100).await.expect("a count"), 6);
    let floors = client.query("SELECT FROM partition WHERE floor_seq = 4", &[]).await.expect("partitions");
    assert_eq!(floors.len(), 3);
}
