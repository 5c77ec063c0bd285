//! The list of indexes.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use windlass_api::ports::{
    Gap, HealthState, IndexHealth, IndexProgress, IndexProven, IndexState, ProgressSource,
};
use windlass_testkit::make::chain;

use crate::app::App;
use crate::database::Kind;
use crate::rows::{POLYGON, fees_table, name, store_fees};

struct Halfway;

#[async_trait]
impl ProgressSource for Halfway {
    async fn progress(&self) -> Vec<IndexProgress> {
        let progress = |index: &str, gaps| IndexProgress {
            index: name(index),
            chain: chain(POLYGON),
            state: IndexState::Historical,
            start: 100,
            collected_through: Some(150),
            head: Some(200),
            finalized: Some(190),
            lag_blocks: Some(50),
            events_per_s: Some(12.5),
            gaps,
            eta_s: Some(4),
            proven: Some(IndexProven { total_blocks: 101, sampled_blocks: 51, ..IndexProven::default() }),
            health: IndexHealth { state: HealthState::RpcDown, ..IndexHealth::default() },
        };
        let gaps = (0..150).map(|i| Gap { from: 10 * i, to: 10 * i + 5 }).collect();
        vec![progress("fees", gaps), progress("soon", Vec::new())]
    }
}

pub(super) async fn indexes_are_listed_with_tables_and_progress(kind: Kind) {
    let app = App::with(kind, |_, parts| parts.progress = Some(Arc::new(Halfway))).await;
    let table = fees_table(&*app.store).await;
    store_fees(&*app.store, &table, &[(1, 0), (2, 0)]).await;
    let body = app.ok("/api/v1/indexes").await;
    let fees = &body["data"][0];
    assert_eq!((&fees["index"], &fees["chain"]), (&json!("fees"), &json!(137)));
    assert_eq!(fees["tables"][0]["rows"], 2);
    assert_eq!(fees["progress"]["proven"]["sampled_blocks"], 51);
    assert_eq!(fees["tables"][0]["name"], "fees_fees_collected");
    let column = json!({"name": "integrator_fee", "field": "integratorFee", "kind": "uint"});
    assert_eq!(fees["tables"][0]["columns"][2], column);
    assert_eq!(fees["progress"]["state"], "historical");
    assert_eq!(fees["progress"]["health"]["state"], "rpc_down");
    assert_eq!(fees["progress"]["gap_count"], 150);
    assert_eq!(fees["progress"]["gaps"].as_array().unwrap().len(), 100);
    assert_eq!(fees["progress"]["gaps"][1], json!({"from": 10, "to": 15}));
    assert_eq!(body["data"][1]["index"], "soon");
    assert_eq!(body["data"][1]["tables"], json!([]));
}

pub(super) async fn the_list_takes_no_parameters(kind: Kind) {
    let app = App::spawn(kind).await;
    let (status, body) = app.get("/api/v1/indexes?limit=1").await;
    assert_eq!((status, &body["error"]["code"]), (400, &json!("unknown_parameter")));
    assert!(body["error"]["message"].as_str().unwrap().contains("`limit`"), "{body}");
}

pub(super) async fn without_a_source_there_is_no_progress(kind: Kind) {
    let app = App::spawn(kind).await;
    assert_eq!(app.ok("/api/v1/indexes").await, json!({"data": []}));
    fees_table(&*app.store).await;
    assert_eq!(app.ok("/api/v1/indexes").await["data"][0]["progress"], json!(null));
}
