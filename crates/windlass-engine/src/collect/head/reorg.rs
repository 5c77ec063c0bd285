//! Takes back what stands above the common ancestor, or stops where nothing may be taken back.

use windlass_core::chain::BlockRef;
use windlass_core::commit::{Commit, Write, Written};
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind};

use super::ancestor::common_ancestor;
use super::{Followed, Follower, Step};
use crate::collect::chain::{Fact, Halt, REMOVED};
use crate::collect::error::CollectError;
use crate::collect::ledger;

impl Follower {
    /// Goes back to the newest block at or below `top` that the chain still has.
    pub(super) async fn go_back(&self, step: &Step, top: u64) -> Result<Followed, CollectError> {
        let (chain, names, position) = (self.chain.options.chain, &self.chain.names, step.position);
        let ancestor = match common_ancestor(&self.chain, top).await {
            Err(violation @ CollectError::FinalityViolated { .. }) => {
                return Err(self.stand_still(step, violation).await?);
            }
            found => found?,
        };
        let from_block = ancestor.number + 1;
        let generation = self.chain.generation().await? + 1;
        let reorgs = ledger::read(&*self.chain.store, &names.reorgs).await?.unwrap_or(0_u64) + 1;
        let fact = Fact {
            by: String::new(),
            generation,
            from_block,
            to_block: None,
            head: ancestor,
            events: 0,
            tables: Vec::new(),
        };
        let writes = vec![
            Write::ResetCursor {
                name: names.head.clone(),
                expected: ledger::at(position),
                to: ledger::at(ancestor),
            },
            Write::Retract { chain, from_block },
            Write::PutState { key: names.generation.clone(), value: Some(generation.to_string()) },
            Write::PutState { key: names.reorgs.clone(), value: Some(reorgs.to_string()) },
            Write::Publish(vec![self.chain.message(REMOVED, &fact)]),
        ];
        let written = self.chain.store.commit(Commit::of(writes).under_lease(&step.lease).relaxed()).await?;
        let depth = position.number - ancestor.number;
        tracing::info!(%chain, depth, ancestor = ancestor.number, "the chain was reorganised");
        Ok(Followed::Reorganised { depth, retracted: retracted(&written) })
    }

    /// Notes that collecting has stopped, so that everybody knows; deletes nothing.
    async fn stand_still(&self, step: &Step, violation: CollectError) -> Result<CollectError, CollectError> {
        let CollectError::FinalityViolated { chain, block, .. } = violation else { return Ok(violation) };
        if let Some(disagreement) = self.disagreement(block).await? {
            return Err(disagreement.into());
        }
        let rewind_to = self.chain.rewind_target(block).await?;
        let has_stored = match rewind_to {
            Some(to) => !self.chain.is_below_start(to).await?,
            None => false,
        };
        let violation = CollectError::FinalityViolated { chain, block, rewind_to, has_stored };
        let halt = Halt { block, rewind_to, reason: violation.to_string() };
        if self.chain.halt().await?.as_ref() != Some(&halt) {
            let key = self.chain.names.halt.clone();
            let text = serde_json::to_string(&halt).map_err(|error| CollectError::strange(&key, error))?;
            let note = Commit::of(vec![Write::PutState { key, value: Some(text) }]).under_lease(&step.lease);
            self.chain.store.commit(note).await?;
        }
        Ok(violation)
    }

    /// What is to be said where an endpoint still has a stored block that others have replaced:
    /// those serve another chain, and are not asked for a while.
    async fn disagreement(&self, block: BlockRef) -> Result<Option<ChainError>, CollectError> {
        let stored = self.chain.store.blocks(self.chain.options.chain, block.number, 1).await?;
        if stored.first().is_none_or(|stored| stored.block_ref() != block) {
            return Ok(None);
        }
        let reader = &self.chain.reader;
        let (mut having, mut others) = (Vec::new(), Vec::new());
        for one in reader.header_from_each(BlockTag::Number(block.number)).await {
            match one.answer {
                Ok(Some(header)) if header.block.hash == block.hash => having.push(one.endpoint),
                Ok(Some(header)) => others.push((one.endpoint, header.block.hash)),
                _ => {}
            }
        }
        if having.is_empty() || others.is_empty() {
            return Ok(None);
        }
        for (endpoint, hash) in &others {
            let why =
                format!("it has block {hash} where block {block} is final, which {} has", having.join(", "));
            reader.report_other_chain(endpoint, &why);
        }
        let named: Vec<&str> = others.iter().map(|(endpoint, _)| endpoint.as_str()).collect();
        let message = format!(
            "{} has another block than block {block}, which is final and which {} has; take the one that is wrong out of `rpc`",
            named.join(", "),
            having.join(", ")
        );
        Ok(Some(ChainError::new(ChainErrorKind::Malformed, message)))
    }

    /// Forgets that collecting had stopped: the chain has what is stored again.
    pub(super) async fn go_on(&self, step: &Step) -> Result<(), CollectError> {
        if self.chain.halt().await?.is_some() {
            let key = self.chain.names.halt.clone();
            let note = Commit::of(vec![Write::PutState { key, value: None }]).under_lease(&step.lease);
            self.chain.store.commit(note).await?;
            self.halt_log.is_over();
            tracing::info!(chain = %self.chain.options.chain, "the chain has what is stored again; collecting goes on");
        }
        Ok(())
    }
}

/// How many logs a retraction took back.
fn retracted(written: &[Written]) -> u64 {
    let rows = |written: &Written| if let Written::Rows(rows) = written { Some(*rows) } else { None };
    written.iter().find_map(rows).unwrap_or_default()
}
