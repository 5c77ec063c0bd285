//! What cannot be audited yet: blocks of campaigns that are not stored.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass_core::block_set::BlockSet;
use windlass_core::range::BlockRange;
use windlass_core::store::Store;

use crate::collect::error::CollectError;
use crate::collect::ledger;
use crate::collect::names::ChainNames;

/// Why blocks were not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// They are still being collected.
    Collecting,
    /// Their ranges were given up after too many attempts.
    SetAside,
}

/// The next blocks to audit, and what was passed over on the way to them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Next {
    /// The blocks; `None` when none is left.
    pub page: Option<BlockRange>,
    /// How many blocks before them were left out, and why.
    pub left_out: BTreeMap<LeftOut, u64>,
}

/// The blocks that are not stored, whoever needs them.
pub(in crate::collect) struct Unstored {
    all: BlockSet,
    set_aside: BlockSet,
}

impl Unstored {
    /// Of every campaign what nobody has claimed, and what was claimed and is not stored.
    /// Cursors are read first: a range that is claimed later is seen as not claimed.
    pub(in crate::collect) async fn of(store: &dyn Store, names: &ChainNames) -> Result<Self, CollectError> {
        let plan = ledger::plan(store, names).await?;
        let next_blocks = ledger::next_blocks(store, names, &plan).await?;
        let mut all = BlockSet::EMPTY;
        for campaign in &plan.campaigns {
            let next = next_blocks.get(&campaign.id).copied().unwrap_or(campaign.blocks.from);
            if next <= campaign.blocks.to {
                all.insert(BlockRange { from: next.max(campaign.blocks.from), to: campaign.blocks.to });
            }
        }
        for open in ledger::open_blocks(store, names, &plan).await?.values() {
            all.extend(open);
        }
        let set_aside = ledger::dead_blocks(store, names, &plan).await?;
        Ok(Self { all, set_aside })
    }

    /// What is left of some blocks.
    pub(in crate::collect) fn stored_of(&self, blocks: BlockRange) -> BlockSet {
        BlockSet::from(blocks).minus(&self.all)
    }

    /// Why blocks that are not stored are not.
    pub(super) fn reasons(&self, blocks: BlockRange) -> BTreeMap<LeftOut, u64> {
        let asked = BlockSet::from(blocks);
        let left = asked.minus(&self.stored_of(blocks));
        let collecting = left.minus(&self.set_aside).count();
        let reasons = [(LeftOut::Collecting, collecting), (LeftOut::SetAside, left.count() - collecting)];
        reasons.into_iter().filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(from: u64, to: u64) -> BlockRange {
        BlockRange { from, to }
    }

    #[test]
    fn what_is_left_out_has_its_reason() {
        let unstored = Unstored {
            all: BlockSet::from(vec![blocks(5, 9), blocks(20, 29)]),
            set_aside: BlockSet::from(blocks(8, 9)),
        };
        assert_eq!(unstored.stored_of(blocks(0, 24)).ranges(), [blocks(0, 4), blocks(10, 19)]);
        let reasons = unstored.reasons(blocks(0, 24));
        assert_eq!(reasons, BTreeMap::from([(LeftOut::Collecting, 8), (LeftOut::SetAside, 2)]));
        assert_eq!(unstored.reasons(blocks(10, 19)), BTreeMap::new());
    }
}
