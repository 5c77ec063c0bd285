//! Each row is announced once, whatever happens to the plan meanwhile; and a plan of an
//! earlier version is gone on with.

use alloy_primitives::Address;
use windlass_core::commit::{Commit, Write};
use windlass_core::job::MAX_PAYLOAD_BYTES;
use windlass_core::plan::Plan;
use windlass_core::store::{Door, Events};
use windlass_engine::collect::backfill::Backfilled;
use windlass_engine::collect::head::Followed;

use super::stage::{Orders, Stage, fee, from_block};
use crate::collect::chain::COLLECTORS;
use crate::database::Kind;

/// Blocks with a fee of each collector.
fn mine_both(stage: &Stage, blocks: std::ops::RangeInclusive<u64>) {
    for number in blocks {
        stage.chain.add(&[(COLLECTORS[0], fee(number)), (COLLECTORS[1], fee(number))]);
    }
}

/// How many events messages told of, and how many times rows were taken back.
async fn told(stage: &Stage) -> (u64, usize) {
    let messages = stage.messages().await;
    let facts = messages.iter().map(|message| {
        let fact: serde_json::Value = serde_json::from_str(&message.payload).expect("a fact");
        fact["events"].as_u64().expect("a count")
    });
    (facts.sum(), messages.iter().filter(|message| message.topic == "events.removed").count())
}

pub(super) async fn a_range_under_way_when_a_source_leaves_is_announced_once(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    mine_both(&stage, 1..=23);
    let mut both = stage.collector("a", &Orders::default());
    assert_eq!(both.follow().await, Followed::Planned);
    both.follower.release().await;
    let gate = stage.reader.hold_ranges();
    let worker = tokio::spawn(async move { both.backfiller.step().await.expect("a step") });
    while stage.reader.asked().is_empty() {
        tokio::task::yield_now().await;
    }
    let mut one = stage.collector("b", &from_block(0));
    assert_eq!(one.follow().await, Followed::Planned, "the other has left");
    gate.add_permits(1_000);
    let lost = worker.await.expect("no panic");
    assert!(matches!(lost, Backfilled::Lost { .. }), "{lost:?}");
    one.settle().await;
    one.follower.release().await;
    let mut again = stage.collector("c", &Orders::default());
    again.settle().await;
    stage.mine_empty(3);
    again.settle().await;
    stage.assert_complete(&Orders::default()).await;
    assert_eq!(told(&stage).await, (46, 0));
}

pub(super) async fn a_reorg_below_where_one_joined_announces_nothing_twice(kind: Kind) {
    let stage = Stage::new(kind, 10).await;
    stage.mine_up_to(50);
    mine_both(&stage, 51..=60);
    let mut before = stage.collector("a", &from_block(0));
    before.settle().await;
    before.follower.release().await;
    let mut after = stage.collector("b", &Orders::default());
    assert_eq!(after.follow().await, Followed::Planned, "it joins behind block 60");
    stage.chain.take_off(5);
    mine_both(&stage, 156..=165);
    after.settle().await;
    stage.mine_empty(10);
    after.settle().await;
    stage.assert_complete(&Orders::default()).await;
    let rows = stage.rows().await.len() as u64;
    // Five rows of the first were announced, taken back, and announced on the new branch.
    assert_eq!(told(&stage).await, (rows + 5, 1));
}

pub(super) async fn a_plan_of_the_first_form_is_gone_on_with(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    mine_both(&stage, 1..=43);
    stage.reader.learn(10);
    let orders = Orders { sources: vec![(COLLECTORS[0], 0), (COLLECTORS[1], 20)], ..Orders::default() };
    let mut before = stage.collector("a", &orders);
    assert_eq!(before.follow().await, Followed::Planned);
    assert!(matches!(before.backfill().await, Backfilled::Collected { .. }));
    before.follower.release().await;
    let text = stage.store.state(&stage.names.plan).await.expect("state").expect("a plan");
    let plan: Plan = serde_json::from_str(&text).expect("a plan");
    let value = Some(first_form(&plan).to_string());
    let put = Write::PutState { key: stage.names.plan.clone(), value };
    stage.store.commit(Commit::of(vec![put])).await.expect("written");
    let mut after = stage.collector("b", &orders);
    after.settle().await;
    stage.assert_complete(&orders).await;
    assert_eq!(told(&stage).await.0, stage.rows().await.len() as u64, "nothing is collected twice");
}

pub(super) async fn more_sources_than_the_first_form_had_room_for_are_planned(kind: Kind) {
    let stage = Stage::new(kind, 3).await;
    stage.mine_up_to(253);
    let contract = |number: u64| Address::left_padding_from(&number.to_be_bytes());
    let others = (1..=250).map(|number| (contract(number), number));
    let sources = others.chain([(COLLECTORS[0], 0)]).collect();
    let orders = Orders { sources, ..Orders::default() };
    let mut collector = stage.collector("a", &orders);
    assert_eq!(collector.follow().await, Followed::Planned, "each begins somewhere else");
    let text = stage.store.state(&stage.names.plan).await.expect("state").expect("a plan");
    let plan: Plan = serde_json::from_str(&text).expect("a plan");
    assert_eq!(plan.campaigns.len(), 251);
    assert!(first_form(&plan).to_string().len() > MAX_PAYLOAD_BYTES, "it would have been refused");
    assert!(text.len() < MAX_PAYLOAD_BYTES / 10, "{}", text.len());
}

/// A plan as the first version kept it.
fn first_form(plan: &Plan) -> serde_json::Value {
    let sources = plan.sources.iter().map(|(id, source)| {
        let kept = serde_json::json!({
            "start": source.start, "claimed": source.claimed, "head_from": source.head_from,
        });
        (id.to_string(), kept)
    });
    let campaigns = plan.campaigns.iter().map(|campaign| {
        let sources: Vec<_> = plan.sources_of(&campaign.sources).map(ToString::to_string).collect();
        serde_json::json!({ "id": campaign.id, "blocks": campaign.blocks, "sources": sources })
    });
    serde_json::json!({
        "version": plan.version,
        "sources": sources.collect::<serde_json::Map<_, _>>(),
        "campaigns": campaigns.collect::<Vec<_>>(),
        "next_campaign": plan.next_campaign,
    })
}
