//! A suspicious range, collected again from each endpoint: wherever one of them differs from
//! what is stored, the block is settled by evidence.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::range::BlockRange;
use windlass_core::reader::ChainReader;

use super::{FULL_BLOCKS, LONGEST_WAIT, SHORTEST_WAIT, Step, Verifier, VerifyMode, VerifyStep};
use crate::collect::compare;
use crate::collect::error::CollectError;
use crate::collect::reread::{MAX_UNHEARD_TIME, Reread};
use crate::collect::resolve::{BlockResolver, Unanswered};
use crate::collect::routing::Routing;

/// At most this many blocks in one step.
const MAX_BLOCKS: u64 = 1_000;
/// At most this many blocks are settled in one step; the next one goes on.
const MAX_RESOLVED_BLOCKS: usize = 50;
/// Blocks are settled for so long in one step; the next one goes on.
const SETTLE_TIME: Duration = Duration::from_secs(20);

impl Verifier {
    pub(super) async fn recollect(
        &mut self,
        mut step: Step,
        range: BlockRange,
    ) -> Result<VerifyStep, CollectError> {
        let Some(routing) = self.routing_at(&step.plan, range.from).await? else {
            return Ok(VerifyStep::Idle);
        };
        let began = Instant::now();
        let most = if self.was_alone { FULL_BLOCKS } else { MAX_BLOCKS };
        let size = self.reader.range_size(&routing.filter).min(self.piece_blocks).clamp(1, most);
        let piece = BlockRange { from: range.from, to: range.to.min(range.from.saturating_add(size - 1)) };
        let read = Reread::ask(&self.reader, piece, &routing.filter).await.inspect_err(|_| {
            // Whatever endpoints fail at, it may be less than that that they can do.
            self.piece_blocks = (piece.count() / 2).max(1);
        })?;
        if self.unheard.must_wait(read.unheard.is_some(), MAX_UNHEARD_TIME) {
            self.piece_blocks = (piece.count() / 2).max(1);
            return Ok(self.wait(self.unheard.elapsed()));
        }
        self.was_alone = read.answers.len() < 2;
        let most = if self.was_alone { FULL_BLOCKS } else { MAX_BLOCKS };
        let piece = BlockRange { to: piece.to.min(piece.from.saturating_add(most - 1)), ..piece };
        let mut differing = self.differing(&routing, piece, &read).await?;
        if self.was_alone {
            // One that has told it once tells it again: every block is looked at whole.
            let numbers: Vec<u64> = (piece.from..=piece.to).collect();
            match self.suspicious(&routing, &numbers, VerifyMode::Full).await {
                // The other was waited for long enough.
                Err(CollectError::Chain(_)) if read.unheard.is_some() => {}
                // One block that nobody answers about holds up no other.
                Err(CollectError::Chain(_)) if piece.count() == 1 => differing.extend([piece.from]),
                Err(CollectError::Chain(error)) => {
                    tracing::debug!(%error, blocks = %piece, "a suspicious range is looked at in smaller pieces");
                    self.piece_blocks = (piece.count() / 2).max(1);
                    return Ok(self.wait(SHORTEST_WAIT));
                }
                suspicious => differing.extend(suspicious?),
            }
        }
        // What is too much for one step is left to the next one.
        let room = step.record.doubts.room();
        if room == 0 && !differing.is_empty() {
            return Ok(self.wait(LONGEST_WAIT));
        }
        let next = differing.iter().nth(MAX_RESOLVED_BLOCKS.min(room)).copied();
        let piece = BlockRange { from: piece.from, to: next.map_or(piece.to, |next| next - 1) };
        differing.retain(|block| *block <= piece.to);
        let chain = self.chain.clone();
        let mut resolver = BlockResolver::new(&chain, &self.reader, &routing, "verify").await?;
        let numbers: Vec<u64> = differing.iter().copied().collect();
        let (writes, left) =
            resolver.resolve_all(&numbers, &mut step.record.doubts, Unanswered::Doubt, SETTLE_TIME).await?;
        let piece = BlockRange { to: left.map_or(piece.to, |left| left - 1), ..piece };
        // A step that takes long would lose its lease to another process, which would take as long.
        let is_slow = began.elapsed() >= self.chain.options.lease_ttl / 4;
        self.piece_blocks = if is_slow { (piece.count() / 2).max(1) } else { piece.count() * 2 };
        resolver.name_false_ranges(piece, &mut step.record.doubts).await;
        let mended = resolver.finish();
        step.record.suspect.remove(piece);
        if step.record.has_doubt_in(piece) {
            step.record.unsettled.insert(piece);
        }
        self.commit(step, writes, mended).await?;
        Ok(VerifyStep::Recollected { blocks: piece, mended })
    }

    /// The blocks in which any endpoint differs from what is stored.
    async fn differing(
        &self,
        routing: &Routing,
        piece: BlockRange,
        read: &Reread,
    ) -> Result<BTreeSet<u64>, CollectError> {
        let (store, chain) = (&*self.chain.store, self.chain.options.chain);
        let mut differing = BTreeSet::new();
        for logs in &read.answers {
            let found = routing.sorted(logs);
            differing.extend(compare::differing_blocks(store, chain, routing, piece, &found).await?);
        }
        // What was read may be more than the piece.
        differing.retain(|block| piece.contains(*block));
        Ok(differing)
    }
}
