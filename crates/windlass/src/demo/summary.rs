//! What the demo says at its end.

use std::io;
use std::time::Duration;

use serde::Serialize;
use windlass_core::code::Code;
use windlass_engine::supervise::Ending;

use super::ledger::Ledger;
use super::tally::Tally;
use crate::failure::Failure;
use crate::output;

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
    payouts_requested: u64,
    payouts_paid: u64,
    double_paid: u64,
    seconds: u64,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
}

impl Summary {
    /// The outcome of a demo that ended like this.
    pub(super) fn new(
        tally: &Tally,
        paid: &Ledger,
        ended: &Result<Ending, Failure>,
        seed: u64,
        elapsed: Duration,
    ) -> Self {
        Self {
            blocks: tally.blocks,
            events_on_chain: tally.on_chain,
            events_stored: tally.stored,
            reorgs: tally.reorgs,
            deepest_reorg: tally.deepest_reorg,
            lost: tally.lost,
            duplicated: tally.duplicated,
            payouts_requested: paid.requested,
            payouts_paid: paid.paid,
            double_paid: paid.double_paid,
            seconds: elapsed.as_secs(),
            seed,
            trouble: match ended {
                Ok(Ending::Clean) => None,
                Ok(ending) => Some(ending.to_string()),
                Err(failure) => Some(failure.message.clone()),
            },
        }
    }

    /// Says it on standard output, for a program or for a person.
    pub(super) fn print(&self, json: bool) -> io::Result<()> {
        if json { output::json(self) } else { output::print(&self.render()) }
    }

    fn render(&self) -> String {
        format!(
            "{}, {} (the deepest replaced {})\n{} on the chain, {} in the store: {} lost, {} duplicated\n{} requested, {} paid, {} double-paid\n",
            count(self.blocks, "block"),
            count(self.reorgs, "reorg"),
            count(self.deepest_reorg, "block"),
            count(self.events_on_chain, "fee event"),
            self.events_stored,
            self.lost,
            self.duplicated,
            count(self.payouts_requested, "payout"),
            self.payouts_paid,
            self.double_paid
        )
    }

    /// Failure if the demo was cut short, or the store and the chain disagree.
    pub(super) fn verdict(&self, ended: Result<Ending, Failure>) -> Result<(), Failure> {
        let again = format!("the same run again: windlass demo --seed {}", self.seed);
        let ending = ended?;
        if ending != Ending::Clean {
            return Err(Failure::coded(Code::TaskFailed, ending).hint(again));
        }
        if self.lost > 0 || self.duplicated > 0 {
            let message = format!(
                "the store and the chain disagree: {} lost, {} duplicated or stale",
                self.lost, self.duplicated
            );
            return Err(Failure::coded(Code::StoreDiffers, message).hint(again));
        }
        if self.double_paid > 0 || self.payouts_paid != self.payouts_requested {
            let message = format!(
                "the vault and the store disagree: {} requested, {} paid, {} double-paid",
                self.payouts_requested, self.payouts_paid, self.double_paid
            );
            return Err(Failure::coded(Code::VaultDiffers, message).hint(again));
        }
        Ok(())
    }
}

/// `1 block`, `2 blocks`.
fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
