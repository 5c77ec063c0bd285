//! How far everything is, in numbers for Prometheus. Every name is here.

use std::sync::Arc;
use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use windlass_chain::evm::EvmPool;
use windlass_engine::collect::chain::CollectedChain;

use super::progress::{ChainView, IndexView, Overview};

/// The chain's newest block.
const HEAD_BLOCK: &str = "windlass_collect_head_block";
/// The chain's newest final block.
const FINALIZED_BLOCK: &str = "windlass_collect_finalized_block";
/// The last block that the head has behind it.
const FOLLOWED_BLOCK: &str = "windlass_collect_followed_block";
/// Blocks of an index that are missing to the head.
const LAG_BLOCKS: &str = "windlass_collect_lag_blocks";
/// Rows that an index has now: a reorg or a rewind takes some away.
const EVENTS: &str = "windlass_collect_events";
/// Ranges that are open, and those that were given up.
const RANGES: &str = "windlass_collect_ranges";
/// What became of the ranges that this process took.
const RANGES_TOTAL: &str = "windlass_collect_ranges_total";
/// How often stored blocks were taken back.
const REORGS_TOTAL: &str = "windlass_collect_reorgs_total";
/// Whether collecting a chain has stopped.
const HALTED: &str = "windlass_collect_halted";
/// Whether nothing speaks against the way a chain is collected.
const READY: &str = "windlass_collect_ready";
/// The time of a chain's newest block.
const HEAD_TIME: &str = "windlass_collect_head_timestamp_seconds";
/// Logs that do not fit their event.
const MISFITS: &str = "windlass_collect_misfits";
/// Questions to an endpoint.
const RPC_REQUESTS_TOTAL: &str = "windlass_collect_rpc_requests_total";
/// Questions that an endpoint failed to answer.
const RPC_ERRORS_TOTAL: &str = "windlass_collect_rpc_errors_total";
/// How often an endpoint wanted fewer questions.
const RPC_LIMITED_TOTAL: &str = "windlass_collect_rpc_limited_total";
/// How long an endpoint's answers take, on average.
const RPC_LATENCY: &str = "windlass_collect_rpc_latency_seconds";
/// Whether nothing speaks against an endpoint.
const RPC_HEALTHY: &str = "windlass_collect_rpc_healthy";
/// Blocks that were proven, by how.
const PROVEN_BLOCKS: &str = "windlass_collect_proven_blocks";
/// Blocks that are in doubt.
const DOUBTFUL_BLOCKS: &str = "windlass_collect_doubtful_blocks";
/// Answers about logs that were proven false.
pub(super) const FALSE_ANSWERS_TOTAL: &str = "windlass_collect_false_answers_total";
/// How long answers take, by method, hedges and second tries included.
pub(super) const RPC_SECONDS: &str = "windlass_collect_rpc_seconds";

/// The bounds of histograms, in seconds.
const BUCKETS: [f64; 10] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Keeps numbers from now on; once a process.
pub(crate) fn install() -> Result<PrometheusHandle, BuildError> {
    let handle = PrometheusBuilder::new().set_buckets(&BUCKETS)?.install_recorder()?;
    describe_gauge!(HEAD_BLOCK, "the chain's newest block");
    describe_gauge!(FINALIZED_BLOCK, "the chain's newest final block");
    describe_gauge!(FOLLOWED_BLOCK, "the last block that the head has behind it");
    describe_gauge!(LAG_BLOCKS, "blocks of an index that are missing to the head");
    describe_gauge!(EVENTS, "rows that an index has now");
    describe_gauge!(RANGES, "block ranges by state: open or dead");
    describe_counter!(RANGES_TOTAL, "block ranges that this process took, by what became of them");
    describe_counter!(REORGS_TOTAL, "how often stored blocks were taken back");
    describe_gauge!(HALTED, "1 while collecting the chain has stopped");
    describe_gauge!(READY, "1 while nothing about the chain is a reason not to be ready");
    describe_gauge!(HEAD_TIME, "the time of the chain's newest block, in seconds since 1970");
    describe_gauge!(MISFITS, "logs that do not fit their event, kept as they came");
    describe_counter!(RPC_REQUESTS_TOTAL, "questions to an endpoint");
    describe_counter!(RPC_ERRORS_TOTAL, "questions that an endpoint failed to answer");
    describe_counter!(RPC_LIMITED_TOTAL, "how often an endpoint wanted fewer questions");
    describe_gauge!(RPC_LATENCY, "how long an endpoint's answers take on average, in seconds");
    describe_gauge!(RPC_HEALTHY, "1 while nothing speaks against the endpoint");
    describe_gauge!(PROVEN_BLOCKS, "blocks that were proven, by how: head, sample or full");
    describe_gauge!(DOUBTFUL_BLOCKS, "blocks of which nobody can tell whether what is stored is right");
    describe_counter!(FALSE_ANSWERS_TOTAL, "answers of an endpoint about logs that were proven false");
    describe_histogram!(RPC_SECONDS, "how long answers take, by method, in seconds");
    Ok(handle)
}

/// A chain that this process collects.
#[derive(Clone)]
pub(crate) struct Collected {
    /// Its name.
    pub(crate) name: String,
    /// Its endpoints.
    pub(crate) pool: Arc<EvmPool>,
    /// What its loops share, once it is collected.
    pub(crate) chain: watch::Receiver<Option<Arc<CollectedChain>>>,
}

/// How often numbers are set when nothing is seen.
const INTERVAL: Duration = Duration::from_secs(5);

/// Sets the numbers whenever something was seen.
pub(crate) async fn run(
    mut seen: watch::Receiver<Overview>,
    collected: Vec<Collected>,
    shutdown: CancellationToken,
) {
    loop {
        record(&seen.borrow_and_update(), &collected);
        tokio::select! {
            () = shutdown.cancelled() => return,
            changed = tokio::time::timeout(INTERVAL, seen.changed()) => {
                if matches!(changed, Ok(Err(_))) {
                    return;
                }
            }
        }
    }
}

fn record(overview: &Overview, collected: &[Collected]) {
    overview.chains.iter().for_each(record_chain);
    overview.indexes.iter().for_each(record_index);
    for Collected { name, pool, chain } in collected {
        record_pool(name, pool);
        let Some(chain) = chain.borrow().clone() else { continue };
        for (outcome, count) in chain.counts().read() {
            counter!(RANGES_TOTAL, "chain" => name.clone(), "outcome" => outcome).absolute(count);
        }
    }
}

fn record_chain(view: &ChainView) {
    let chain = view.name.clone().unwrap_or_else(|| view.id.to_string());
    let blocks =
        [(HEAD_BLOCK, view.head), (FINALIZED_BLOCK, view.finalized), (FOLLOWED_BLOCK, view.followed)];
    for (name, block) in blocks {
        if let Some(block) = block {
            gauge!(name, "chain" => chain.clone()).set(block as f64);
        }
    }
    for (state, count) in [("open", view.open_ranges), ("dead", view.dead_ranges)] {
        gauge!(RANGES, "chain" => chain.clone(), "state" => state).set(count as f64);
    }
    counter!(REORGS_TOTAL, "chain" => chain.clone()).absolute(view.reorgs);
    gauge!(HALTED, "chain" => chain.clone()).set(u8::from(view.halt.is_some()));
    let is_ready = !view.concerns().any(|concern| concern.is_urgent);
    gauge!(READY, "chain" => chain.clone()).set(u8::from(is_ready));
    if let Some(timestamp_s) = view.health.head_timestamp_s {
        gauge!(HEAD_TIME, "chain" => chain.clone()).set(timestamp_s as f64);
    }
    if let Some(proven) = view.proven {
        let ways =
            [("head", proven.head_blocks), ("sample", proven.sampled_blocks), ("full", proven.full_blocks)];
        for (by, blocks) in ways {
            gauge!(PROVEN_BLOCKS, "chain" => chain.clone(), "by" => by).set(blocks as f64);
        }
        gauge!(DOUBTFUL_BLOCKS, "chain" => chain.clone()).set(proven.doubtful_blocks as f64);
    }
    gauge!(MISFITS, "chain" => chain).set(view.misfits as f64);
}

fn record_index(view: &IndexView) {
    let name = view.name.to_string();
    gauge!(EVENTS, "index" => name.clone()).set(view.events as f64);
    if let Some(lag) = view.lag_blocks {
        gauge!(LAG_BLOCKS, "index" => name).set(lag as f64);
    }
}

fn record_pool(chain: &str, pool: &EvmPool) {
    for endpoint in pool.status() {
        let labels = [("chain", chain.to_owned()), ("place", endpoint.place)];
        counter!(RPC_REQUESTS_TOTAL, &labels).absolute(endpoint.requests);
        counter!(RPC_ERRORS_TOTAL, &labels).absolute(endpoint.errors);
        counter!(RPC_LIMITED_TOTAL, &labels).absolute(endpoint.limited);
        gauge!(RPC_HEALTHY, &labels).set(u8::from(endpoint.healthy));
        if let Some(latency_ms) = endpoint.latency_ms {
            gauge!(RPC_LATENCY, &labels).set(latency_ms / 1_000.0);
        }
    }
}

#[cfg(test)]
mod tests {
    /// Guards `docs/collect.md`: a number without a row there.
    #[test]
    fn every_number_is_in_the_manual() {
        let (manual, source) = (include_str!("../../../../docs/collect.md"), include_str!("metrics.rs"));
        let names: Vec<&str> = source
            .lines()
            .filter_map(|line| line.split_once(": &str = \"")?.1.split('"').next())
            .filter(|name| name.starts_with("windlass_"))
            .collect();
        assert!(names.len() > 10, "{names:?}");
        for name in names {
            assert!(manual.contains(&format!("`{name}`")), "{name}");
        }
    }
}
