//! Retractions: whoever follows the stream ends with what the table has.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use windlass_core::row_query::{RowOrder, RowQuery};
use windlass_core::table::{RowKey, TableSpec};

use super::reader::{Frame, Reader, plain};
use super::stream::{STREAM, app, collect, mend, take_back};
use crate::app::App;
use crate::database::Kind;
use crate::rows::{FEES, table};

pub(super) async fn a_reorg_is_told_as_it_happens(kind: Kind) {
    let (app, fees) = app(kind).await;
    let mut reader = Reader::open(&app, STREAM).await;
    collect(&app, &[&fees], 0, (1, 3), &[(1, 0), (2, 0), (3, 0)]).await;
    for block in 1..=3 {
        assert_eq!(reader.event().await.place(), (block, 0));
    }
    take_back(&app, &fees, 1, 2).await;
    let removed = reader.event().await;
    assert_eq!((removed.kind.as_str(), plain(&removed.id).as_str()), ("removed", "137:2:end"));
    let expected = json!({"chain": 137, "from_block": 2, "to_block": null, "tables": [], "generation": 1});
    assert_eq!(removed.data, expected);
    collect(&app, &[&fees], 1, (2, 2), &[(2, 5)]).await;
    assert_eq!(reader.event().await.place(), (2, 5));
}

/// A block that is collected anew: its rows go and come, and no others.
pub(super) async fn a_mended_block_is_told_anew(kind: Kind) {
    let (app, fees) = app(kind).await;
    let mut reader = Reader::open(&app, STREAM).await;
    collect(&app, &[&fees], 0, (1, 3), &[(1, 0), (2, 0), (3, 0)]).await;
    for block in 1..=3 {
        assert_eq!(reader.event().await.place(), (block, 0));
    }
    mend(&app, &fees, 1, 2, &[(2, 0), (2, 1)]).await;
    let mut late = Reader::open(&app, &format!("{STREAM}?start=oldest")).await;
    for place in [(1, 0), (3, 0)] {
        assert_eq!(late.event().await.place(), place, "what came anew is told by its own message");
    }
    for reader in [&mut reader, &mut late] {
        let removed = reader.event().await;
        let expected = json!({
            "chain": 137, "from_block": 2, "to_block": 2, "tables": [fees.name.as_str()], "generation": 1,
        });
        assert_eq!((removed.kind.as_str(), removed.data.clone()), ("removed", expected));
        assert_eq!(reader.event().await.place(), (2, 0));
        assert_eq!(reader.event().await.place(), (2, 1));
    }
}

/// What is taken back of one table alone is none of another's readers' business.
pub(super) async fn a_mended_block_of_another_index_is_not_told(kind: Kind) {
    let (app, fees) = app(kind).await;
    let more = table(&*app.store, "more", 137, FEES).await;
    let mut reader = Reader::open(&app, &format!("{STREAM}?index=more")).await;
    collect(&app, &[&fees, &more], 0, (1, 1), &[(1, 0)]).await;
    assert_eq!(reader.event().await.place(), (1, 0));
    mend(&app, &fees, 1, 1, &[]).await;
    collect(&app, &[&more], 2, (2, 2), &[(2, 0)]).await;
    let event = reader.event().await;
    assert_eq!((event.kind.as_str(), event.place()), ("added", (2, 0)));
}

/// The table has the rows of the new branch where the old message speaks of the old one.
pub(super) async fn a_late_reader_gets_the_rows_of_the_new_branch_once(kind: Kind) {
    let (app, fees) = app(kind).await;
    collect(&app, &[&fees], 0, (1, 5), &[(1, 0), (2, 0), (4, 0), (5, 0)]).await;
    collect(&app, &[&fees], 0, (6, 6), &[(6, 0)]).await;
    take_back(&app, &fees, 1, 5).await;
    collect(&app, &[&fees], 1, (5, 6), &[(5, 0), (6, 1)]).await;
    take_back(&app, &fees, 2, 4).await;
    collect(&app, &[&fees], 2, (4, 6), &[(4, 2), (5, 2)]).await;
    let mut reader = Reader::open(&app, &format!("{STREAM}?start=oldest")).await;
    let mut told = Vec::new();
    for _ in 0..6 {
        let event = reader.event().await;
        told.push(if event.kind == "added" { format!("{:?}", event.place()) } else { event.kind.clone() });
    }
    assert_eq!(told, ["(1, 0)", "(2, 0)", "removed", "removed", "(4, 2)", "(5, 2)"]);
}

/// What somebody who follows the stream has: rows by key, with the hash of their block.
#[derive(Debug, Default, PartialEq)]
struct Follower {
    rows: BTreeMap<RowKey, String>,
}

impl Follower {
    fn hear(&mut self, frame: &Frame) {
        match frame.kind.as_str() {
            "added" => {
                let (block, log_index) = frame.place();
                let hash = frame.data["row"]["block_hash"].as_str().unwrap().to_owned();
                let known = self.rows.insert(RowKey { block, log_index }, hash);
                assert_eq!(known, None, "a row was told twice: {frame:?}");
            }
            "removed" => {
                let from = frame.data["from_block"].as_u64().unwrap();
                let to = frame.data["to_block"].as_u64().unwrap_or(u64::MAX);
                self.rows.retain(|key, _| !(from..=to).contains(&key.block));
            }
            other => panic!("{other}: {frame:?}"),
        }
    }
}

/// The table as it is.
async fn truth(app: &App, table: &TableSpec) -> Follower {
    let query = RowQuery {
        table: table.name.clone(),
        conditions: Vec::new(),
        order: RowOrder::OldestFirst,
        after: None,
        limit: 10_000,
    };
    let rows = app.store.rows(&query).await.unwrap();
    Follower { rows: rows.iter().map(|row| (row.head.key(), row.head.block.hash.to_string())).collect() }
}

/// A step of a script.
#[derive(Debug, Clone)]
enum Step {
    /// So many blocks are collected, with a log in each or in every other one.
    Collect(u64, bool),
    /// So many blocks are taken back.
    Reorg(u64),
    /// The so-manieth block from the end is collected anew, and has so many logs.
    Mend(u64, u32),
    /// The reader takes so many events.
    Read(usize),
    /// The reader goes and comes back.
    Resume,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1u64..8, any::<bool>()).prop_map(|(blocks, all)| Step::Collect(blocks, all)),
        2 => (1u64..12).prop_map(Step::Reorg),
        2 => (1u64..10, 0u32..3).prop_map(|(back, logs)| Step::Mend(back, logs)),
        3 => (1usize..10).prop_map(Step::Read),
        2 => Just(Step::Resume),
    ]
}

/// A chain that grows and is reorganised, and somebody who follows it.
struct World {
    app: App,
    table: Arc<TableSpec>,
    generation: u64,
    next_block: u64,
    reader: Reader,
    follower: Follower,
}

impl World {
    async fn new(kind: Kind) -> Self {
        let (app, table) = app(kind).await;
        let reader = Reader::open(&app, STREAM).await;
        Self { app, table, generation: 0, next_block: 1, reader, follower: Follower::default() }
    }

    async fn step(&mut self, step: &Step) {
        match step {
            Step::Collect(blocks, all) => self.collect(*blocks, *all).await,
            Step::Reorg(blocks) => {
                let from = self.next_block.saturating_sub(*blocks).max(1);
                (self.generation, self.next_block) = (self.generation + 1, from);
                take_back(&self.app, &self.table, self.generation, from).await;
            }
            Step::Mend(back, logs) => {
                if let Some(block) = self.next_block.checked_sub(*back).filter(|block| *block > 0) {
                    self.generation += 1;
                    let places: Vec<_> = (0..*logs).map(|log| (block, log)).collect();
                    mend(&self.app, &self.table, self.generation, block, &places).await;
                }
            }
            // How much there is to read is not known: what was told is enough, however little.
            Step::Read(events) => {
                for _ in 0..*events {
                    if self.follower == truth(&self.app, &self.table).await {
                        break;
                    }
                    self.follower.hear(&self.reader.event().await);
                }
            }
            Step::Resume => {
                self.reader = Reader::resume(&self.app, STREAM, &self.reader.last_id.clone()).await;
            }
        }
    }

    async fn collect(&mut self, blocks: u64, all: bool) {
        let to = self.next_block + blocks - 1;
        let places: Vec<_> =
            (self.next_block..=to).filter(|block| all || block % 2 == 0).map(|block| (block, 0)).collect();
        collect(&self.app, &[&self.table], self.generation, (self.next_block, to), &places).await;
        self.next_block = to + 1;
    }

    /// Reads to the last message.
    async fn finish(&mut self) {
        self.collect(2, true).await;
        let last = self.next_block - 1;
        let key = RowKey { block: last, log_index: 0 };
        let hash = truth(&self.app, &self.table).await.rows[&key].clone();
        while self.follower.rows.get(&key) != Some(&hash) {
            self.follower.hear(&self.reader.event().await);
        }
    }
}

/// Plays a script; whoever follows the stream ends with what the table has.
fn play(kind: Kind, script: &[Step]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut world = World::new(kind).await;
        for step in script {
            world.step(step).await;
        }
        world.finish().await;
        assert_eq!(world.follower, truth(&world.app, &world.table).await);
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn whoever_follows_ends_with_what_the_table_has(script in prop::collection::vec(step(), 1..25)) {
        play(Kind::Sqlite, &script);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn postgres_whoever_follows_ends_with_what_the_table_has(script in prop::collection::vec(step(), 1..25)) {
        play(Kind::Postgres, &script);
    }
}
