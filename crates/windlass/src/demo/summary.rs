//! What the demo says at its end.

use std::time::Duration;

use serde::Serialize;
use windlass_core::code::Code;
use windlass_engine::supervise::Ending;

use super::tally::Tally;
use crate::failure::Failure;

/// The demo's outcome, as `--json` prints it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Summary {
    blocks: u64,
    events_on_chain: u64,
    events_stored: u64,
    reorgs: u64,
    deepest_reorg: u64,
    lost: u64,
    duplicated: u64,
    seconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
}

impl Summary {
    /// The outcome of a demo that ended like this.
    pub(super) fn new(tally: &Tally, ending: &Ending, elapsed: Duration) -> Self {
        Self {
            blocks: tally.blocks,
            events_on_chain: tally.on_chain,
            events_stored: tally.stored,
            reorgs: tally.reorgs,
            deepest_reorg: tally.deepest_reorg,
            lost: tally.lost,
            duplicated: tally.duplicated,
            seconds: elapsed.as_secs(),
            trouble: (*ending != Ending::Clean).then(|| format!("{ending:?}")),
        }
    }

    /// The outcome in one paragraph.
    pub(super) fn render(&self) -> String {
        format!(
            "\n{} blocks, {} reorgs (the deepest replaced {} blocks)\n\
             {} fee events on the chain, {} in the store: {} lost, {} duplicated",
            self.blocks,
            self.reorgs,
            self.deepest_reorg,
            self.events_on_chain,
            self.events_stored,
            self.lost,
            self.duplicated
        )
    }

    /// Failure if the store and the chain disagree, or a task failed.
    pub(super) fn verdict(&self) -> Result<(), Failure> {
        if let Some(trouble) = &self.trouble {
            return Err(Failure::coded(Code::TaskFailed, format!("a task of the demo failed: {trouble}")));
        }
        if self.lost > 0 || self.duplicated > 0 {
            let message = format!(
                "the store and the chain disagree: {} lost, {} duplicated",
                self.lost, self.duplicated
            );
            return Err(Failure::coded(Code::StoreDiffers, message));
        }
        Ok(())
    }
}
