//! Examples, and the property that no block is forgotten or claimed twice.

use proptest::prelude::*;

use super::*;

fn source(name: &str) -> SourceId {
    SourceId { table: Identifier::new(name).expect("a name"), contract: Some(Address::repeat_byte(7)) }
}

fn wanted(sources: &[(&str, u64)]) -> BTreeMap<SourceId, u64> {
    sources.iter().map(|(name, start)| (source(name), *start)).collect()
}

fn blocks(ranges: &[(u64, u64)]) -> BlockSet {
    BlockSet::from(ranges.iter().map(|(from, to)| BlockRange { from: *from, to: *to }).collect::<Vec<_>>())
}

fn standing(head: u64, next_blocks: &[(u64, u64)]) -> Standing {
    Standing {
        head,
        settled: head,
        next_blocks: next_blocks.iter().copied().collect(),
        ..Standing::default()
    }
}

/// Number, first and last block, and tables of each campaign.
fn picture(plan: &Plan) -> Vec<(u64, u64, u64, String)> {
    let names = |campaign: &Campaign| {
        plan.sources_of(&campaign.sources).map(|id| id.table.to_string()).collect::<Vec<_>>().join("+")
    };
    plan.campaigns
        .iter()
        .map(|campaign| (campaign.id, campaign.blocks.from, campaign.blocks.to, names(campaign)))
        .collect()
}

#[test]
fn sources_that_need_the_same_blocks_share_a_campaign() {
    let plan = Plan::default().replan(&wanted(&[("a", 100), ("b", 500)]), &standing(999, &[]));
    assert_eq!(picture(&plan), [(0, 100, 499, "a".to_owned()), (1, 500, 999, "a+b".to_owned())]);
    assert!(plan.collected().all(|(_, source)| source.head_from == Some(1_000)));
}

#[test]
fn nothing_changes_while_the_same_is_wanted() {
    let plan = Plan::default().replan(&wanted(&[("a", 100)]), &standing(999, &[]));
    assert_eq!(plan.replan(&wanted(&[("a", 100)]), &standing(2_000, &[(0, 300)])), plan);
}

#[test]
fn a_source_that_is_added_backfills_only_itself() {
    let plan = Plan::default().replan(&wanted(&[("a", 0)]), &standing(99, &[]));
    let plan = plan.without(0);
    let plan = plan.replan(&wanted(&[("a", 0), ("b", 50)]), &standing(200, &[]));
    assert_eq!(picture(&plan), [(1, 50, 200, "b".to_owned())]);
}

#[test]
fn a_campaign_is_cut_where_its_cursor_stands() {
    let plan = Plan::default().replan(&wanted(&[("a", 0)]), &standing(99, &[]));
    let plan = plan.replan(&wanted(&[("a", 0), ("b", 0)]), &standing(99, &[(0, 40)]));
    let expected = [(0, 0, 39, "a".to_owned()), (1, 0, 39, "b".to_owned()), (2, 40, 99, "a+b".to_owned())];
    assert_eq!(picture(&plan), expected);
}

#[test]
fn a_source_that_left_comes_back_for_what_it_missed() {
    let plan = Plan::default().replan(&wanted(&[("a", 0)]), &standing(99, &[])).without(0);
    let left = plan.replan(&wanted(&[]), &Standing { head: 150, settled: 140, ..Standing::default() });
    assert_eq!(picture(&left), []);
    let back = left.replan(&wanted(&[("a", 0)]), &standing(300, &[]));
    assert_eq!(picture(&back), [(1, 141, 300, "a".to_owned())]);
}

#[test]
fn a_head_that_fell_behind_leaves_the_gap_to_a_campaign() {
    let plan = Plan::default().replan(&wanted(&[("a", 0)]), &standing(99, &[])).without(0);
    let jumped = plan.jump(&standing(150, &[]), 5_000);
    assert_eq!(picture(&jumped), [(1, 151, 5_000, "a".to_owned())]);
    assert_eq!(jumped.collected().next().map(|(_, source)| source.head_from), Some(Some(5_001)));
}

#[test]
fn a_rewound_plan_has_claimed_nothing_above_the_block() {
    let plan = Plan::default().replan(&wanted(&[("a", 0)]), &standing(99, &[]));
    let open = BTreeMap::from([(0, blocks(&[(10, 19), (30, 59)]))]);
    let rewound = plan.rewind(&Standing { open, ..standing(150, &[(0, 60)]) }, 40, 41);
    assert_eq!(picture(&rewound), [(1, 10, 19, "a".to_owned()), (2, 30, 40, "a".to_owned())]);
    let source = rewound.collected().next().map(|(_, source)| source.clone()).expect("it is collected");
    assert_eq!((source.head_from, source.claimed), (Some(41), blocks(&[(0, 9), (20, 29)])));
}

#[test]
fn a_campaign_below_the_block_goes_on_when_a_plan_is_rewound() {
    let plan = Plan::default().replan(&wanted(&[("a", 0)]), &standing(99, &[]));
    let rewound = plan.rewind(&standing(150, &[(0, 60)]), 59, 60);
    assert_eq!(picture(&rewound), [(0, 0, 59, "a".to_owned())]);
}

#[test]
fn a_source_that_leaves_in_the_middle_has_what_is_stored() {
    let plan = Plan::default().replan(&wanted(&[("a", 0), ("b", 0)]), &standing(99, &[]));
    let open = BTreeMap::from([(0, blocks(&[(50, 59)]))]);
    let standing_at_60 = Standing { open, ..standing(99, &[(0, 60)]) };
    let left = plan.replan(&wanted(&[("b", 0)]), &standing_at_60);
    assert_eq!(picture(&left), [(1, 50, 99, "b".to_owned())], "under another number: nobody is at it");
    assert_eq!(left.sources[&source("a")].claimed, blocks(&[(0, 49)]));
    let none_left = plan.replan(&wanted(&[]), &standing_at_60);
    assert_eq!(picture(&none_left), []);
    let back = none_left.replan(&wanted(&[("a", 0)]), &standing(99, &[]));
    assert_eq!(picture(&back), [(1, 50, 99, "a".to_owned())]);
}

#[test]
fn a_source_whose_contracts_were_not_all_known_claims_again_from_there() {
    let plan = Plan::default().replan(&wanted(&[("a", 0)]), &standing(99, &[])).without(0);
    let unknown_from = BTreeMap::from([(source("a"), 30)]);
    let left =
        plan.replan(&wanted(&[]), &Standing { head: 150, settled: 140, unknown_from, ..Standing::default() });
    let back = left.replan(&wanted(&[("a", 0)]), &standing(300, &[]));
    assert_eq!(picture(&back), [(1, 30, 300, "a".to_owned())]);
}

#[test]
fn an_earlier_start_adds_what_lies_before() {
    let plan = Plan::default().replan(&wanted(&[("a", 50)]), &standing(99, &[])).without(0);
    let earlier = plan.replan(&wanted(&[("a", 20)]), &standing(120, &[]));
    assert_eq!(picture(&earlier), [(1, 20, 49, "a".to_owned())]);
}

#[test]
fn a_plan_reads_back() {
    let plan = Plan::default().replan(&wanted(&[("a", 1), ("b", 5)]), &standing(9, &[]));
    let plan = plan.replan(&wanted(&[("b", 5), ("c", 0)]), &standing(12, &[(0, 3), (1, 7)]));
    let text = serde_json::to_string(&plan).expect("json");
    assert_eq!(serde_json::from_str::<Plan>(&text).expect("a plan"), plan);
}

/// What an earlier version has written of two sources, of which one begins later.
const FIRST_FORM: &str = r#"{"version":2,"sources":{
    "a@0x0707070707070707070707070707070707070707":
        {"start":50,"claimed":[{"from":50,"to":60}],"head_from":100},
    "b@created":{"start":10,"claimed":[],"head_from":null}},
    "campaigns":[{"id":3,"blocks":{"from":61,"to":99},"sources":["a@0x0707070707070707070707070707070707070707"]}],
    "next_campaign":4}"#;

#[test]
fn a_plan_of_the_first_form_is_read() {
    let plan: Plan = serde_json::from_str(FIRST_FORM).expect("a plan");
    let created = SourceId { table: Identifier::new("b").expect("a name"), contract: None };
    let expected =
        |number, start, ranges, head_from| Source { number, start, claimed: blocks(ranges), head_from };
    assert_eq!(plan.sources[&created], expected(0, 10, &[], None));
    assert_eq!(plan.sources[&source("a")], expected(1, 50, &[(50, 60)], Some(100)));
    assert_eq!(picture(&plan), [(3, 61, 99, "a".to_owned())]);
    assert_eq!((plan.version, plan.next_campaign, plan.next_source), (2, 4, 2));
    let text = serde_json::to_string(&plan).expect("json");
    assert_eq!(serde_json::from_str::<Plan>(&text).expect("a plan"), plan);
}

#[test]
fn a_plan_grows_with_its_sources_and_not_with_their_square() {
    let contract = |number: u32| Some(Address::left_padding_from(&number.to_be_bytes()));
    let table =
        Identifier::new("a_table_with_a_name_that_is_as_long_as_they_get_in_a_store").expect("a name");
    // Each begins somewhere else, in no order.
    let start = |number: u32| u64::from(number.wrapping_mul(7_919) % 20_000_000);
    let many = |count: u32| -> BTreeMap<SourceId, u64> {
        let id = |number| SourceId { table: table.clone(), contract: contract(number) };
        (0..count).map(|number| (id(number), start(number))).collect()
    };
    let plan = Plan::default().replan(&many(1_000), &standing(20_000_000, &[]));
    assert_eq!(plan.campaigns.len(), 1_000);
    let bytes = serde_json::to_string(&plan).expect("json").len();
    assert!(bytes / 1_000 * MAX_SOURCES < MAX_PLAN_BYTES / 4, "{bytes} bytes for a thousand sources");
}

/// What happens to a plan.
#[derive(Debug, Clone)]
enum Step {
    Want(Vec<(usize, u64)>),
    Claim(usize, u64),
    Finish(usize),
    Advance(u64),
    Jump(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        proptest::collection::vec((0_usize..4, 0_u64..60), 0..4).prop_map(Step::Want),
        (0_usize..4, 1_u64..30).prop_map(|(which, blocks)| Step::Claim(which, blocks)),
        (0_usize..4).prop_map(Step::Finish),
        (1_u64..20).prop_map(Step::Advance),
        (1_u64..40).prop_map(Step::Jump),
    ];
    proptest::collection::vec(step, 1..40)
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

proptest! {
    /// Every claim is of blocks that its sources had not claimed; and once all
    /// campaigns have run, every source has every block from its start to the head.
    #[test]
    fn every_block_is_claimed_exactly_once(steps in steps()) {
        let (mut plan, mut head) = (Plan::default(), 50_u64);
        let mut next_blocks: BTreeMap<u64, u64> = BTreeMap::new();
        let mut starts: BTreeMap<SourceId, u64> = BTreeMap::new();
        let mut claimed: BTreeMap<SourceId, BlockSet> = BTreeMap::new();
        let claim = |plan: &Plan, claimed: &mut BTreeMap<SourceId, BlockSet>, campaign: &Campaign, next: &mut BTreeMap<u64, u64>, count: u64| {
            let from = next.get(&campaign.id).copied().unwrap_or(campaign.blocks.from);
            let Some(range) = BlockRange::next(from, count, campaign.blocks.to) else { return };
            for id in plan.sources_of(&campaign.sources) {
                let mine = claimed.entry(id.clone()).or_default();
                assert!((range.from..=range.to).all(|block| !mine.contains(block)), "{id} {range:?}");
                mine.insert(range);
            }
            next.insert(campaign.id, range.to + 1);
        };
        for step in steps {
            let standing = Standing {
                head,
                settled: head,
                next_blocks: next_blocks.clone(),
                // What is claimed is stored at once.
                open: plan.campaigns.iter().map(|campaign| (campaign.id, BlockSet::EMPTY)).collect(),
                ..Standing::default()
            };
            match step {
                Step::Want(sources) => {
                    // A source never begins later than it once did.
                    for (which, start) in &sources {
                        let least = starts.entry(source(NAMES[*which])).or_insert(*start);
                        *least = (*least).min(*start);
                    }
                    let wanted = sources.iter().map(|(which, _)| source(NAMES[*which]));
                    let wanted = wanted.map(|id| { let start = starts[&id]; (id, start) }).collect();
                    plan = plan.replan(&wanted, &standing);
                    // Whoever has left may have to claim again what was not settled.
                    let left = plan.sources.iter().filter(|(_, source)| source.head_from.is_none());
                    claimed.extend(left.map(|(id, source)| (id.clone(), source.claimed.clone())));
                }
                Step::Claim(which, count) => {
                    if let Some(campaign) = plan.campaigns.get(which) {
                        claim(&plan, &mut claimed, campaign, &mut next_blocks, count);
                    }
                }
                Step::Finish(which) => {
                    let over = plan.campaigns.get(which).filter(|campaign| {
                        standing.next_block(campaign) > campaign.blocks.to
                    });
                    if let Some(id) = over.map(|campaign| campaign.id) {
                        plan = plan.without(id);
                    }
                }
                Step::Advance(blocks) => head += blocks,
                Step::Jump(blocks) => {
                    plan = plan.jump(&standing, head + blocks);
                    head += blocks;
                }
            }
        }
        for campaign in &plan.campaigns {
            claim(&plan, &mut claimed, campaign, &mut next_blocks, u64::MAX);
        }
        for (id, known) in plan.collected() {
            let mut has = known.claimed.clone();
            has.extend(claimed.get(id).unwrap_or(&BlockSet::EMPTY));
            has.insert(BlockRange { from: known.head_from.expect("collected"), to: head });
            prop_assert!((known.start..=head).all(|block| has.contains(block)), "{id} lacks blocks: {plan:?}");
        }
    }
}
