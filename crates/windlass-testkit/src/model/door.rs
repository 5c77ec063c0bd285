//! The transaction door: on a copy, which replaces the original when all went well.

use windlass_core::commit::{Commit, Fence, MAX_COMMIT_ROWS, Write, Written};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::MAX_PAYLOAD_BYTES;
use windlass_core::time::Timestamp;

use super::Model;

impl Model {
    pub(crate) fn commit(&mut self, commit: &Commit, now: Timestamp) -> StoreResult<Vec<Written>> {
        check_size(commit)?;
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
            Write::Blocks { chain, headers } => self.add_blocks(*chain, headers),
            Write::Retract { chain, from_block } => Ok(self.retract(*chain, *from_block)),
            Write::SeedCursor { name, start } => Ok(self.seed(name, start)),
            Write::AdvanceCursor { name, to, rule } => self.advance(name, to, *rule),
            Write::ResetCursor { name, expected, to } => self.reset(name, expected, to),
            Write::Enqueue(jobs) => self.enqueue(jobs, now),
            Write::CompleteJob(ticket) => self.complete_job(*ticket, now),
            Write::Publish(messages) => Ok(self.publish(messages, now)),
            Write::PutState { key, value } => Ok(self.put_state(key, value.as_deref())),
        }
    }
}

fn check_size(commit: &Commit) -> StoreResult<()> {
    let largest = commit.largest_write();
    if largest > MAX_COMMIT_ROWS {
        return Err(StoreError::Invalid(format!("{largest} rows of a kind are too many")));
    }
    let fits = |payload: &String| payload.len() <= MAX_PAYLOAD_BYTES;
    let fit = commit.writes.iter().all(|write| match write {
        Write::Enqueue(jobs) => jobs.iter().map(|job| &job.payload).all(fits),
        Write::Publish(messages) => messages.iter().map(|message| &message.payload).all(fits),
        _ => true,
    });
    if fit { Ok(()) } else { Err(StoreError::Invalid("a payload is too large".to_owned())) }
}
