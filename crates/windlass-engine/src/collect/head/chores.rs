//! What has time: campaigns that are over, blocks that have become final, proof of the
//! chain's blooms.

use windlass_core::commit::{Commit, Write};
use windlass_core::reader::{BlockTag, LogFilter, LogSpan};

use super::{Followed, Follower, Step};
use crate::collect::error::CollectError;

/// After so many failures the chain's first block is not asked for again under the same lease.
const MAX_ANCHOR_FAILURES: u32 = 5;

impl Follower {
    /// What has time: campaigns that are over, and blocks that have become final.
    pub(super) async fn do_chores(&mut self, step: &Step) -> Result<Followed, CollectError> {
        if !self.has_chores {
            return Ok(Followed::Idle);
        }
        let done = match self.do_chore(step).await {
            // The head goes on; this is tried again after the next look at what is final.
            Err(CollectError::Chain(error)) if self.is_looping => {
                let chain = self.chain.options.chain;
                tracing::debug!(%chain, %error, "what has time was put off");
                Followed::Idle
            }
            done => done?,
        };
        self.has_chores = done != Followed::Idle || self.running_look.is_some();
        Ok(done)
    }

    async fn do_chore(&mut self, step: &Step) -> Result<Followed, CollectError> {
        self.chain.bloom_trust().await?;
        self.prove_blooms(step).await?;
        if self.restore_lanes(step).await? {
            return Ok(Followed::Planned);
        }
        match self.retire(step).await? {
            Some(planned) => Ok(planned),
            None => self.recheck(step).await,
        }
    }

    /// Keeps the chain's first block, so that a chain that began anew and is still short is noticed.
    pub(super) async fn keep_anchor(&mut self, step: &Step) -> Result<(), CollectError> {
        let (key, epoch) = (&self.chain.names.anchor, step.lease.epoch);
        // A rewind forgets it, and takes the lease.
        if self.anchor_looked_for == Some(epoch) {
            return Ok(());
        }
        if self.chain.store.state(key).await?.is_some() {
            self.anchor_looked_for = Some(epoch);
            return Ok(());
        }
        let Ok(first) = self.chain.reader.header(BlockTag::Number(0)).await else {
            self.anchor_failures += 1;
            // Some endpoints fail at blocks that they do not keep: the head does not ask them with each step.
            if self.anchor_failures >= MAX_ANCHOR_FAILURES {
                (self.anchor_looked_for, self.anchor_failures) = (Some(epoch), 0);
            }
            return Ok(());
        };
        (self.anchor_looked_for, self.anchor_failures) = (Some(epoch), 0);
        // Not every endpoint has it.
        let Some(first) = first else { return Ok(()) };
        let first = serde_json::to_string(&first.block.block_ref());
        let value = Some(first.map_err(|error| CollectError::strange(key, error))?);
        let note = Commit::of(vec![Write::PutState { key: key.clone(), value }]);
        self.chain.store.commit(note.under_lease(&step.lease).relaxed()).await?;
        Ok(())
    }

    /// Compares a block's bloom with all its logs, until enough is known of the chain's blooms.
    async fn prove_blooms(&mut self, step: &Step) -> Result<(), CollectError> {
        if let Some(header) = self.bloom_candidate.take().filter(|_| self.blooms.wants_proof()) {
            let span = LogSpan::Block(header.block.block_ref());
            // What cannot be asked now shows with another block.
            if let Ok(logs) = self.chain.reader.logs(span, &LogFilter::default()).await {
                self.blooms_changed |= self.blooms.saw_all(&header, &logs);
            }
        }
        if self.blooms_changed {
            let note = vec![self.bloom_note()?];
            self.chain.store.commit(Commit::of(note).under_lease(&step.lease).relaxed()).await?;
            self.blooms_changed = false;
        }
        Ok(())
    }

    /// What is known of the chain's blooms, for the next process.
    pub(super) fn bloom_note(&self) -> Result<Write, CollectError> {
        let key = self.chain.names.blooms.clone();
        let text = serde_json::to_string(&self.blooms).map_err(|error| CollectError::strange(&key, error))?;
        Ok(Write::PutState { key, value: Some(text) })
    }
}
