//! The transaction door: on a copy, which replaces the original when all went well.

use windlass_core::commit::{Commit, Fence, Write, Written};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::time::Timestamp;

use super::Model;

impl Model {
    pub(crate) fn commit(&mut self, commit: &Commit, now: Timestamp) -> StoreResult<Vec<Written>> {
        commit.validate()?;
        let mut next = self.clone();
        match next.apply_all(commit, now) {
            Ok(written) => {
                *self = next;
                Ok(written)
            }
            Err((passed, error)) => {
                self.tally = next.tally;
                if passed > 0 {
                    self.tally.hit("writes rolled back by a later one");
                }
                Err(error)
            }
        }
    }

    /// On failure, says how many writes had gone well before.
    fn apply_all(&mut self, commit: &Commit, now: Timestamp) -> Result<Vec<Written>, (usize, StoreError)> {
        for fence in &commit.fences {
            self.check_fence(fence, now).map_err(|error| (0, error))?;
        }
        let mut written = Vec::new();
        for write in &commit.writes {
            let did = self.apply(write, now).map_err(|error| (written.len(), error))?;
            written.push(did);
        }
        Ok(written)
    }

    fn check_fence(&mut self, fence: &Fence, now: Timestamp) -> StoreResult<()> {
        match fence {
            Fence::Lease { name, epoch } => self.check_lease(name, *epoch, now),
            Fence::Job(ticket) => match self.fenced_lane(*ticket) {
                Ok(_) => Ok(()),
                Err(error) => {
                    self.tally.hit("commit refused by a job");
                    Err(error)
                }
            },
        }
    }

    fn apply(&mut self, write: &Write, now: Timestamp) -> StoreResult<Written> {
        match write {
            Write::Events(events) => self.add_events(events),
            Write::EraseEvents { chain, blocks, contracts } => {
                Ok(self.erase_events(*chain, *blocks, contracts))
            }
            Write::Blocks { chain, headers } => self.add_blocks(*chain, headers),
            Write::Rows(rows) => self.add_rows(rows),
            Write::EraseRows { table, blocks, contracts } => self.erase_rows(table, *blocks, contracts),
            Write::ForgetBlocks { chain, below } => Ok(self.forget_blocks(*chain, *below)),
            Write::Retract { chain, from_block } => Ok(self.retract(*chain, *from_block)),
            Write::SeedCursor { name, start } => Ok(self.seed(name, start)),
            Write::AdvanceCursor { name, to, rule } => self.advance(name, to, *rule),
            Write::ResetCursor { name, expected, to } => self.reset(name, expected, to),
            Write::Enqueue(jobs) => self.enqueue(jobs, now),
            Write::CompleteJob(ticket) => self.complete_job(*ticket, now),
            Write::DropQueue(queue) => Ok(self.drop_queue(queue)),
            Write::Publish(messages) => Ok(self.publish(messages, now)),
            Write::PutState { key, value } => Ok(self.put_state(key, value.as_deref())),
            Write::Pay(write) => self.pay(write, now),
        }
    }
}
