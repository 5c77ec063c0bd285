//! Stores the blocks that stand on the last stored one.

use std::sync::Arc;

use windlass_core::chain::{Address, BlockHeader};
use windlass_core::commit::{Commit, Write};
use windlass_core::cursor::CursorRule;
use windlass_core::event::LogEvent;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, ChainReader, Header, LogFilter, LogSpan};
use windlass_core::route::Sorted;

use super::{Followed, Follower, Step, Whom};
use crate::collect::block_logs;
use crate::collect::chain::{ADDED, Fact};
use crate::collect::children::Children;
use crate::collect::error::CollectError;
use crate::collect::ledger;
use crate::collect::routing::{self, Routing};

/// A step ends early at this many logs, so that its commit stays within bounds.
const MAX_LOGS_PER_STEP: usize = 20_000;
/// A step ends early when this share of the lease has passed, so that it commits in time.
const LEASE_SHARE_PER_STEP: u32 = 3;

/// Blocks in a row, and what their logs became.
struct Run {
    headers: Vec<BlockHeader>,
    sorted: Sorted,
    events: usize,
    /// The contracts that were created, up to the last of these blocks.
    children: Children,
}

impl Follower {
    pub(super) async fn advance(&mut self, step: &Step) -> Result<Followed, CollectError> {
        let run = self.read_run(step).await?;
        let Some(newest) = run.headers.last().map(BlockHeader::block_ref) else {
            return Ok(Followed::Idle);
        };
        let advanced = Followed::Advanced { blocks: run.headers.len() as u64, events: run.events as u64 };
        let mut writes = vec![Write::AdvanceCursor {
            name: self.chain.names.head.clone(),
            to: ledger::at(newest),
            rule: CursorRule::Identified,
        }];
        if run.events > 0 {
            let generation = self.chain.generation().await?;
            let (from_block, events) = (step.position.number + 1, run.events);
            let fact = Fact {
                by: String::new(),
                generation,
                from_block,
                to_block: None,
                head: newest,
                events,
                tables: Vec::new(),
            };
            writes.push(Write::Publish(vec![self.chain.message(ADDED, &fact)]));
        }
        writes.extend(routing::writes(run.sorted));
        writes.push(Write::Blocks { chain: self.chain.options.chain, headers: run.headers });
        writes.push(self.seen(step)?);
        // What was read from a chain can be read again.
        self.chain.store.commit(Commit::of(writes).under_lease(&step.lease).relaxed()).await?;
        Ok(advanced)
    }

    /// Where the chain was seen, for whoever asks.
    pub(super) fn seen(&self, step: &Step) -> Result<Write, CollectError> {
        let key = self.chain.names.sight.clone();
        let text = serde_json::to_string(&step.sight).map_err(|error| CollectError::strange(&key, error))?;
        Ok(Write::PutState { key, value: Some(text) })
    }

    async fn read_run(&mut self, step: &Step) -> Result<Run, CollectError> {
        let begun = tokio::time::Instant::now();
        let chain = self.chain.clone();
        let options = &chain.options;
        let children = chain.children(step.plan.collected().map(|(id, _)| id)).await?;
        let mut run = Run { headers: Vec::new(), sorted: Sorted::default(), events: 0, children };
        let mut last = step.position;
        while run.headers.len() < options.max_blocks_per_step as usize
            && run.events < MAX_LOGS_PER_STEP
            && begun.elapsed() < options.lease_ttl / LEASE_SHARE_PER_STEP
        {
            let next = chain.reader.header(BlockTag::Number(last.number + 1)).await?;
            let Some(header) = next.filter(|header| header.block.follows(&last)) else { break };
            match self.read_block(step, &header, &mut run.children).await {
                Ok((routing, logs)) => run.take(&routing, &logs),
                // The block was reorganised away between the two questions, or the node lags.
                Err(CollectError::Chain(error))
                    if error.kind == ChainErrorKind::UnknownBlock && !run.headers.is_empty() =>
                {
                    break;
                }
                Err(error) => return Err(error),
            }
            last = header.block.block_ref();
            run.headers.push(header.block);
        }
        Ok(run)
    }

    /// A block's logs, those of contracts that were created in it included.
    async fn read_block(
        &mut self,
        step: &Step,
        header: &Header,
        children: &mut Children,
    ) -> Result<(Arc<Routing>, Vec<LogEvent>), CollectError> {
        let chain = self.chain.clone();
        let creations = chain.catalog.creations(step.plan.collected().map(|(id, _)| id));
        loop {
            let routing =
                self.routing_with(&step.plan, Whom::Followed, header.block.number, children.clone());
            if routing.tables.is_empty() {
                return Ok((routing, Vec::new()));
            }
            let logs = logs_of(&*chain.reader, header, &routing.filter).await?;
            if creations.is_empty() {
                return Ok((routing, logs));
            }
            let sorted = routing.sorted(&logs);
            let mut grew = false;
            for (name, creations) in &creations {
                let known = children.entry(name.clone()).or_insert_with(|| Arc::new([]));
                let told = sorted.tables.iter().flat_map(|rows| creations.children_in(rows));
                let new: Vec<Address> = told.filter(|child| !known.contains(child)).collect();
                if !new.is_empty() {
                    *known = known.iter().copied().chain(new).collect();
                    grew = true;
                }
            }
            if !grew {
                return Ok((routing, logs));
            }
        }
    }
}

impl Run {
    fn take(&mut self, routing: &Routing, logs: &[LogEvent]) {
        routing.sort(logs, &mut self.sorted);
        self.events = self.sorted.row_count() + self.sorted.raw.len();
    }
}

/// A block's logs. A node that lags may answer with none for a block that it
/// does not have; where the header's bloom speaks against that, all logs of the
/// block are asked for: they cannot be none.
pub(in crate::collect) async fn logs_of(
    reader: &dyn ChainReader,
    header: &Header,
    filter: &LogFilter,
) -> Result<Vec<LogEvent>, ChainError> {
    let span = LogSpan::Block(header.block.block_ref());
    let logs = block_logs::checked(&header.block, filter, reader.logs(span, filter).await?)?;
    if !logs.is_empty() || !filter.may_match(&header.logs_bloom) {
        return Ok(logs);
    }
    let all = reader.logs(span, &LogFilter::default()).await?;
    let mut all = block_logs::checked(&header.block, &LogFilter::default(), all)?;
    if all.is_empty() {
        all = block_logs::compared(reader, header).await;
    }
    if all.is_empty() {
        let told =
            format!("the endpoint has no logs for block {}, whose bloom has some", header.block.number);
        return Err(ChainError::new(ChainErrorKind::UnknownBlock, told));
    }
    all.retain(|log| filter.matches(log));
    Ok(all)
}
