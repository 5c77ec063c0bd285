//! One chain to collect: everything that its loops share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::Instant;
use windlass_core::chain::{BlockHeader, BlockRef, ChainId};
use windlass_core::finality::Finality;
use windlass_core::name::{NameError, Owner};
use windlass_core::outbox::NewMessage;
use windlass_core::plan::{Plan, SourceId};
use windlass_core::reader::{ChainError, ChainReader, Header};
use windlass_core::retry::RetryPolicy;
use windlass_core::store::Store;
use windlass_core::table::Identifier;

use super::catalog::{Catalog, CatalogEntry, Emitter};
use super::children::{Children, ChildrenCache};
use super::counts::RangeCounts;
use super::error::CollectError;
use super::finality_wait::FinalityWait;
use super::health::Pulse;
use super::health::watched::Watched;
use super::ledger;
use super::misfit_log::MisfitLog;
use super::names::{ChainNames, paused_key};
use super::routing::Routing;
use super::same_chain::SameChain;
use super::sight::{self, KnownFinal, Sight};
use super::verify::VerifyOptions;

/// How a chain is collected.
#[derive(Debug, Clone)]
pub struct CollectOptions {
    /// The chain.
    pub chain: ChainId,
    /// Its name in the configuration, for the commands that messages name.
    pub name: Option<String>,
    /// From when on a block is final.
    pub finality: Finality,
    /// Who this process is.
    pub owner: Owner,
    /// How long leases on the head and on ranges last without an extension.
    pub lease_ttl: Duration,
    /// What counts as being near the head, in blocks: see [`windlass_core::mode::Mode`].
    pub batch_size: u64,
    /// How long to wait with nothing to do while there is a past to catch up with.
    pub historical_interval: Duration,
    /// The time from one look at the head to the next; learned from the distance between
    /// blocks where it is not set.
    pub realtime_interval: Option<Duration>,
    /// At most this many blocks of the head in one commit.
    pub max_blocks_per_step: u32,
    /// No range is larger, whatever an endpoint takes.
    pub max_range_blocks: u64,
    /// How often a range that fails is tried, and how late.
    pub retry: RetryPolicy,
    /// How what is stored is verified.
    pub verify: VerifyOptions,
}

impl CollectOptions {
    /// The usual settings.
    pub fn new(chain: ChainId, owner: Owner) -> Self {
        Self {
            chain,
            name: None,
            finality: Finality::default(),
            owner,
            lease_ttl: Duration::from_secs(120),
            batch_size: 100,
            historical_interval: Duration::from_secs(5),
            realtime_interval: None,
            max_blocks_per_step: 512,
            max_range_blocks: 1_000_000,
            retry: RetryPolicy::default(),
            verify: VerifyOptions::default(),
        }
    }
}

/// A chain, where it is read and where it is stored.
pub struct CollectedChain {
    pub(super) options: CollectOptions,
    pub(super) store: Arc<dyn Store>,
    pub(super) reader: Arc<dyn ChainReader>,
    pub(super) names: ChainNames,
    pub(super) catalog: Catalog,
    /// The highest block that was seen to be final: it does not become less.
    finalized: AtomicU64,
    children: ChildrenCache,
    /// How often this process has changed the plan: news for those who wait for ranges.
    pub(super) replanned: watch::Sender<u64>,
    /// What became of the ranges that this process took.
    pub(super) counts: RangeCounts,
    /// How many requests went to the chain's endpoints.
    pub(super) requests: Arc<AtomicU64>,
    /// Whether the chain was seen to have logs that its blooms have no room for.
    pub(super) has_logs_outside_blooms: AtomicBool,
    /// Whether receipts of the chain were seen that hash to the root in their header.
    pub(super) has_proven_receipts: AtomicBool,
    /// What the last final block waits for.
    finality_wait: Mutex<FinalityWait>,
    /// What was said of logs that do not fit.
    pub(super) misfit_log: MisfitLog,
    /// How it goes.
    pub(super) pulse: Arc<Pulse>,
    /// When the endpoints were last seen to have the last final block that is stored.
    pub(super) same_chain: SameChain,
}

/// Why collecting a chain has stopped, for whoever asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halt {
    /// The lowest stored block that is no longer on the chain.
    pub block: BlockRef,
    /// Where an operator can go back to: the newest stored block that the chain has, or a block below
    /// the first that is collected where it has none.
    #[serde(default)]
    pub rewind_to: Option<u64>,
    /// In words.
    pub reason: String,
}

/// What an operator does about a halt, as a message ends. `chain` is its name in the configuration.
pub fn way_back(chain: &str, to: u64) -> String {
    format!(
        "; if its endpoints serve another chain, correct `rpc`; if the chain has really changed, stop `windlass run` and go back: \
         `windlass index rewind --chain {chain} --to {to} --yes`"
    )
}

impl CollectedChain {
    /// A chain whose tables are in the store.
    pub fn new(
        options: CollectOptions,
        store: Arc<dyn Store>,
        reader: Arc<dyn ChainReader>,
        catalog: Catalog,
    ) -> Result<Self, NameError> {
        let names = ChainNames::new(options.chain)?;
        let (finalized, replanned) = (AtomicU64::new(0), watch::Sender::new(0));
        let children = ChildrenCache::default();
        let counts = RangeCounts::default();
        let pulse = Arc::new(Pulse::default());
        let requests = Arc::new(AtomicU64::new(0));
        let reader = Arc::new(Watched::new(reader, pulse.clone(), requests.clone()));
        Ok(Self {
            has_logs_outside_blooms: AtomicBool::new(options.chain.has_logs_outside_blooms()),
            has_proven_receipts: AtomicBool::new(false),
            finality_wait: Mutex::default(),
            misfit_log: MisfitLog::default(),
            requests,
            options,
            store,
            reader,
            names,
            catalog,
            finalized,
            children,
            replanned,
            counts,
            pulse,
            same_chain: SameChain::default(),
        })
    }

    /// What became of the ranges that this process took.
    pub const fn counts(&self) -> &RangeCounts {
        &self.counts
    }

    /// How it goes, as this process sees it.
    pub fn pulse(&self) -> &Pulse {
        &self.pulse
    }

    /// Looks at the chain; also gives the newest header whole.
    pub(super) async fn look(&self, known_final: KnownFinal) -> Result<(Sight, Header), ChainError> {
        let is_finality_asked = !matches!(known_final, KnownFinal::Enough(_));
        let (mut sight, newest, found) =
            Sight::look(&*self.reader, self.options.finality, known_final).await?;
        if is_finality_asked {
            self.note_dispute(found.dispute);
        }
        if let KnownFinal::Last(Some(last)) = known_final
            && self.waits_for_finality(found.is_unheard, found.is_held)
        {
            sight.finalized = last;
        }
        self.pulse.see(&sight, Instant::now());
        self.finalized.fetch_max(sight.finalized.number, Ordering::Relaxed);
        Ok((sight, newest))
    }

    /// The last final block of the chain with this newest one; the last known one where endpoints
    /// disagree about a newer one.
    pub(super) async fn look_at_finality(
        &self,
        newest: &Header,
        last: BlockHeader,
    ) -> Result<BlockHeader, ChainError> {
        let (finalized, found) =
            sight::last_final(&*self.reader, self.options.finality, newest, KnownFinal::Last(Some(last)))
                .await?;
        self.note_dispute(found.dispute);
        if self.waits_for_finality(found.is_unheard, found.is_held) {
            return Ok(last);
        }
        self.finalized.fetch_max(finalized.number, Ordering::Relaxed);
        Ok(finalized)
    }

    /// Whether nothing becomes final for now, because one endpoint alone was heard about it, or
    /// because another has no news of it.
    fn waits_for_finality(&self, is_unheard: bool, is_held: bool) -> bool {
        self.finality_wait().must_wait(is_unheard, is_held)
    }

    /// What the last final block waits for.
    pub(super) fn finality_wait(&self) -> MutexGuard<'_, FinalityWait> {
        self.finality_wait.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says once that endpoints disagree, and keeps it for whoever asks.
    fn note_dispute(&self, dispute: Option<String>) {
        let chain = self.options.chain;
        match (self.pulse.disputed(dispute.clone()), dispute) {
            (false, Some(dispute)) => {
                tracing::warn!(%chain, "{dispute}; the head goes on, and nothing becomes final")
            }
            (true, None) => tracing::info!(%chain, "endpoints agree again about what is final"),
            _ => {}
        }
    }

    /// The last block up to `wanted` that is final.
    pub(super) async fn final_up_to(&self, wanted: u64) -> Result<u64, ChainError> {
        let known = self.finalized.load(Ordering::Relaxed);
        if known >= wanted {
            return Ok(wanted);
        }
        Ok(self.look(KnownFinal::NOTHING).await?.0.finalized.number.max(known).min(wanted))
    }

    /// What sorts the logs of these sources, with every contract that is known to have
    /// been created; `None` when one of the sources is not known here.
    pub(super) async fn routing<'a, S>(&self, sources: S) -> Result<Option<Routing>, CollectError>
    where
        S: IntoIterator<Item = &'a SourceId> + Clone,
    {
        let children = self.children(sources.clone()).await?;
        Ok(self.catalog.routing(sources, &children))
    }

    /// The contracts that factories of these sources have created.
    pub(super) async fn children<'a>(
        &self,
        sources: impl IntoIterator<Item = &'a SourceId>,
    ) -> Result<Children, CollectError> {
        let creations = self.catalog.creations(sources);
        let mut children = Children::new();
        if creations.is_empty() {
            return Ok(children);
        }
        let version = (self.generation().await?, self.store.state(&self.names.mended).await?);
        for (name, creations) in creations {
            let known = self.children.of(&*self.store, &creations, &version).await?;
            children.insert(name, known);
        }
        Ok(children)
    }

    /// The sources that are wanted now, with their first blocks: all but those of paused
    /// indexes, and of contracts not all of whose creations are known yet.
    pub(super) async fn wanted(&self, plan: &Plan) -> Result<BTreeMap<SourceId, u64>, CollectError> {
        let mut paused = Vec::new();
        for index in self.catalog.indexes() {
            if self.store.state(&paused_key(index.as_str())?).await?.is_some() {
                paused.push(index);
            }
        }
        let is_known = |table: &Identifier| {
            let mut collected = plan.collected().filter(|(id, _)| id.table == *table).peekable();
            let is_open = |id: &SourceId| plan.campaigns_of(id).next().is_some();
            collected.peek().is_some() && !collected.any(|(id, _)| is_open(id))
        };
        let is_ready = |entry: &CatalogEntry| match &entry.emitter {
            Emitter::Contract(_) => true,
            Emitter::Created(creations) => is_known(&creations.table.name),
        };
        Ok(self
            .catalog
            .iter()
            .filter(|(_, entry)| !paused.contains(&entry.table.index) && is_ready(entry))
            .map(|(id, entry)| (id.clone(), entry.start))
            .collect())
    }

    /// For each source of contracts that were created, while creations are still being
    /// collected: the first block at which there may be one that nobody knows.
    pub(super) fn unknown_from(&self, plan: &Plan) -> BTreeMap<SourceId, u64> {
        let lowest = |table: &Identifier| {
            let of_table = plan.sources.keys().filter(|id| id.table == *table);
            of_table.flat_map(|id| plan.campaigns_of(id)).map(|campaign| campaign.blocks.from).min()
        };
        let unknown = self.catalog.iter().filter_map(|(id, entry)| match &entry.emitter {
            Emitter::Created(creations) => lowest(&creations.table.name).map(|from| (id.clone(), from)),
            Emitter::Contract(_) => None,
        });
        unknown.collect()
    }

    /// Why collecting has stopped, if it has.
    pub(super) async fn halt(&self) -> Result<Option<Halt>, CollectError> {
        ledger::read(&*self.store, &self.names.halt).await
    }

    /// How often stored blocks were taken back. It is a part of every message's
    /// key: a block that leaves the chain and comes back is another fact.
    pub(super) async fn generation(&self) -> Result<u64, CollectError> {
        Ok(ledger::read(&*self.store, &self.names.generation).await?.unwrap_or(0))
    }

    /// A message that stands for a whole run of blocks; delivery expands it. `tables`
    /// are those it speaks of; all, if there are none.
    pub(super) fn message(&self, topic: &str, fact: &Fact<'_>) -> NewMessage {
        let payload = serde_json::json!({
            "chain": self.options.chain,
            "generation": fact.generation,
            "from_block": fact.from_block,
            "to_block": fact.to_block,
            "head": fact.head,
            "events": fact.events,
            "tables": fact.tables,
        });
        let tables = fact.tables.join("+");
        NewMessage {
            partition: self.names.partition.clone(),
            idempotency_key: format!(
                "{topic}/{}/{}/{}/{tables}/{}",
                fact.generation, fact.from_block, fact.head, fact.by
            ),
            topic: topic.to_owned(),
            payload: payload.to_string(),
        }
    }
}

/// What a message says.
pub(super) struct Fact<'a> {
    /// What made it, where the blocks alone do not tell: a range's job, a mend.
    pub(super) by: String,
    pub(super) generation: u64,
    pub(super) from_block: u64,
    /// Of what was taken back, the last block; `None` for everything from the first one on.
    pub(super) to_block: Option<u64>,
    /// Of what was added, the last block; of what was taken back, the one that stays.
    pub(super) head: BlockRef,
    pub(super) events: usize,
    pub(super) tables: Vec<&'a str>,
}

/// Logs joined the tables.
pub(super) const ADDED: &str = "events.added";
/// Logs left the tables.
pub(super) const REMOVED: &str = "events.removed";
