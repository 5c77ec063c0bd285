//! Whether a chain's contracts emit what is collected of them: looked at once, beside the
//! loops, for every index that has no row yet.

use std::sync::Arc;

use windlass_core::code::Code;
use windlass_core::index::Start;
use windlass_core::store::Store;
use windlass_engine::collect::deployment::deployment_key;

use crate::collect::draft::Draft;
use crate::collect::endpoints::Endpoints;
use crate::collect::sample::{self, Sample};

/// What is looked at.
pub(super) struct Signatures {
    pub(super) store: Arc<dyn Store>,
    pub(super) endpoints: Arc<Endpoints>,
    pub(super) drafts: Arc<[Draft]>,
}

impl Signatures {
    /// Warns of every event that none of its contract's first logs is of. Endpoints or a
    /// store in trouble are told by the loops; here they end the look.
    pub(super) async fn check(self) {
        let Ok(tables) = self.store.list_tables().await else { return };
        for draft in self.drafts.iter().filter(|draft| draft.chain() == self.endpoints.id) {
            let name = draft.name.identifier();
            if tables.iter().any(|table| table.spec.index == *name && table.rows > 0) {
                continue;
            }
            let Some(start) = self.start(draft).await else { continue };
            let Ok(sample) = Sample::read(&*self.endpoints.pool, draft, start).await else { continue };
            for message in sample.unseen(draft) {
                tracing::warn!(index = %draft.name, code = %Code::EventUnseen, hint = sample::HINT, "{message}");
            }
        }
    }

    /// The index's first block: the lowest deployment, where that was searched for.
    async fn start(&self, draft: &Draft) -> Option<u64> {
        if let Start::Block(block) = draft.start() {
            return Some(block);
        }
        let mut lowest = None;
        for contract in draft.contracts() {
            let key = deployment_key(draft.name.identifier().as_str(), self.endpoints.id, *contract).ok()?;
            let block: u64 = self.store.state(&key).await.ok()??.parse().ok()?;
            lowest = Some(lowest.map_or(block, |lowest: u64| lowest.min(block)));
        }
        lowest
    }
}
