//! Under which names a chain's collecting keeps its things.

use windlass_core::chain::ChainId;
use windlass_core::name::{CursorName, LeaseName, NameError, Partition, Queue, StateKey};
use windlass_core::plan;

/// The names of one chain.
#[derive(Debug, Clone)]
pub struct ChainNames {
    subject: String,
    /// Who holds it follows the head and changes the plan.
    pub lease: LeaseName,
    /// Who holds it puts right what is stored of final blocks, or takes it back.
    pub mend: LeaseName,
    /// Who holds it verifies what is stored.
    pub verify: LeaseName,
    /// The last block that the head has behind it.
    pub head: CursorName,
    /// The last block whose logs were looked at again once it was final.
    pub recheck: CursorName,
    /// The messages about its events.
    pub partition: Partition,
    /// The plan.
    pub plan: StateKey,
    /// How often stored blocks were taken back, by reorgs and rewinds.
    pub generation: StateKey,
    /// What mended stored blocks last, other than a reorg.
    pub mended: StateKey,
    /// How often the chain was reorganised.
    pub reorgs: StateKey,
    /// Why collecting has stopped.
    pub halt: StateKey,
    /// The chain's first block, by which a chain that began anew is told from one that lags.
    pub anchor: StateKey,
    /// Where the chain was seen last.
    pub sight: StateKey,
    /// How collecting it goes.
    pub health: StateKey,
    /// Blocks that the second look is in doubt about.
    pub doubts: StateKey,
    /// Blocks that the second look has held against more than one endpoint.
    pub compared: StateKey,
    /// Which blocks were verified, and how.
    pub verified: StateKey,
    /// What was learned of its endpoints.
    pub learned: StateKey,
    /// Whether its headers' blooms can be relied on.
    pub blooms: StateKey,
}

impl ChainNames {
    /// The names of a chain.
    pub fn new(chain: ChainId) -> Result<Self, NameError> {
        let subject = format!("collect/{chain}");
        let state = |what: &str| StateKey::new(format!("{subject}/{what}"));
        let cursor = |what: &str| CursorName::new(format!("{subject}/{what}"));
        Ok(Self {
            lease: LeaseName::new(subject.clone())?,
            mend: LeaseName::new(format!("{subject}/mend"))?,
            verify: LeaseName::new(format!("{subject}/verify"))?,
            head: cursor("head")?,
            recheck: cursor("recheck")?,
            partition: Partition::new(subject.clone())?,
            plan: plan::key(chain)?,
            generation: state("generation")?,
            mended: state("mended")?,
            reorgs: state("reorgs")?,
            halt: state("halt")?,
            anchor: state("anchor")?,
            sight: state("sight")?,
            health: state("health")?,
            doubts: state("doubts")?,
            compared: state("compared")?,
            verified: state("verified")?,
            learned: state("learned")?,
            blooms: state("blooms")?,
            subject,
        })
    }

    /// The next block of a campaign that nobody has claimed.
    pub fn campaign_cursor(&self, campaign: u64) -> Result<CursorName, NameError> {
        CursorName::new(format!("{}/campaign/{campaign}", self.subject))
    }

    /// The ranges of a campaign.
    pub fn campaign_queue(&self, campaign: u64) -> Result<Queue, NameError> {
        Queue::new(format!("{}/{campaign}", self.subject))
    }
}

/// Whether an index is paused.
pub fn paused_key(index: &str) -> Result<StateKey, NameError> {
    StateKey::new(format!("index/{index}/paused"))
}
