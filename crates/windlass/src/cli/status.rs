//! `windlass status`

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use serde::Serialize;
use windlass_core::chain::ChainId;
use windlass_core::code::Code;
use windlass_core::cursor::Cursor;
use windlass_core::error::StoreResult;
use windlass_core::job::QueueCounts;
use windlass_core::lease::Lease;
use windlass_core::name::CursorName;
use windlass_core::outbox::SinkDepth;
use windlass_core::payout::ledger::SignerRow;
use windlass_core::payout::request::VaultRef;
use windlass_core::payout::state::PayoutState;
use windlass_core::store::{MAX_COUNTED_EVENTS, Store, StoreInfo};
use windlass_engine::collect::names::ChainNames;
use windlass_engine::pay::unattended::UnattendedVault;

use super::global::Global;
use super::index;
use crate::collect::progress::{ChainView, IndexView, Overview};
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::failure::Failure;
use crate::output::style::{self, paint};
use crate::output::table::{self, Side};
use crate::output::{self, human, time};
use crate::pay::{options, unattended};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How everything stands.
#[derive(Debug, Serialize)]
struct Status {
    store: StoreInfo,
    chains: Vec<ChainView>,
    indexes: Vec<IndexView>,
    queues: Vec<QueueCounts>,
    outbox: Vec<SinkDepth>,
    payouts: Vec<StateCount>,
    /// Vaults whose payouts wait while no process pays from them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unattended: Vec<UnattendedVault>,
    /// The vault that `[pay]` names.
    #[serde(skip)]
    vault: Option<VaultRef>,
    signers: Vec<SignerRow>,
    cursors: Vec<Position>,
    leases: Vec<Lease>,
}

/// How many payouts stand there.
#[derive(Debug, Serialize)]
struct StateCount {
    state: PayoutState,
    count: u64,
}

/// Where a loop has got to.
#[derive(Debug, Serialize)]
struct Position {
    name: CursorName,
    cursor: Cursor,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let store = store::open(&loaded.config.database, Access::Look).await?;
    let status = read(&store, &loaded.config).await;
    store.close().await;
    let status = status?;
    if args.json {
        return Ok(output::json(&status)?);
    }
    Ok(output::print(&render(&status))?)
}

async fn read(store: &Arc<dyn Store>, config: &Config) -> Result<Status, Failure> {
    let Overview { chains, indexes } = index::look(&**store, config).await?;
    let vault = options::vault(config);
    let followed: Vec<ChainId> = chains.iter().map(|chain| chain.id).collect();
    Ok(Status {
        store: store.describe().await?,
        chains,
        indexes,
        queues: store.count_jobs().await?,
        outbox: store.outbox_depth().await?,
        payouts: store
            .count_payouts()
            .await?
            .into_iter()
            .map(|(state, count)| StateCount { state, count })
            .collect(),
        unattended: match vault {
            Some(vault) => unattended::find(&**store, vault).await?,
            None => Vec::new(),
        },
        vault,
        signers: store.list_signers().await?,
        cursors: cursors(&**store, &followed).await?,
        leases: store.list_leases().await?,
    })
}

/// Where loops have got to: as many as are listed, and the heads of these chains in any case.
async fn cursors(store: &dyn Store, chains: &[ChainId]) -> StoreResult<Vec<Position>> {
    let mut cursors: BTreeMap<CursorName, Cursor> = store.list_cursors().await?.into_iter().collect();
    for chain in chains {
        let Ok(names) = ChainNames::new(*chain) else { continue };
        for name in [names.head, names.recheck] {
            if let Some(cursor) = store.cursor(&name).await? {
                cursors.insert(name, cursor);
            }
        }
    }
    Ok(cursors.into_iter().map(|(name, cursor)| Position { name, cursor }).collect())
}

fn render(status: &Status) -> String {
    let StoreInfo { kind, version, place, schema } = &status.store;
    let mut text = format!("store: {kind} {version} at {place}, schema {schema}\n");
    section(&mut text, "chains", chains(&status.chains));
    text.push_str(&endpoints(&status.chains));
    section(&mut text, "indexes", index::list::render(&status.indexes));
    text.push_str(&index::list::concerns(&status.chains));
    section(&mut text, "jobs", queues(&status.queues));
    section(&mut text, "outbox", outbox(&status.outbox));
    // Who does not pay is not told that nothing was paid.
    if !status.payouts.is_empty() {
        section(&mut text, "payouts", payouts(&status.payouts));
        text.push_str(&unattended(status));
        section(&mut text, "signers", signers(&status.signers));
    }
    section(&mut text, "cursors", positions(&status.cursors));
    section(&mut text, "leases", leases(&status.leases));
    text
}

fn section(text: &mut String, title: &str, table: Option<String>) {
    // Writing to a `String` cannot fail.
    let _ = match table {
        Some(table) => write!(text, "\n{title}\n{table}"),
        None => write!(text, "\n{title}: none\n"),
    };
}

fn payouts(counts: &[StateCount]) -> Option<String> {
    let rows = counts.iter().map(|count| vec![count.state.to_string(), human::count(count.count)]);
    Some(table::render(&[("state", Side::Left), ("payouts", Side::Right)], rows))
}

/// Payouts that wait while no process pays from their vault.
fn unattended(status: &Status) -> String {
    let Some(vault) = status.vault else { return String::new() };
    let warning = |found: &UnattendedVault| {
        let label = paint(style::WARNING, format_args!("warning[{}]:", Code::VaultUnattended));
        let hint = paint(style::GOOD, "hint:");
        format!(
            "\n{label} {}\n{hint} {}\n",
            unattended::message(found, vault),
            unattended::hint(found, vault)
        )
    };
    status.unattended.iter().map(warning).collect()
}

fn signers(signers: &[SignerRow]) -> Option<String> {
    let header = [
        ("account", Side::Left),
        ("chain", Side::Right),
        ("next nonce", Side::Right),
        ("halted", Side::Left),
    ];
    let rows = signers.iter().map(|signer| {
        vec![
            signer.address.to_string(),
            signer.chain.to_string(),
            signer.next_nonce.to_string(),
            signer.halted.clone().unwrap_or_else(|| "-".to_owned()),
        ]
    });
    (!signers.is_empty()).then(|| table::render(&header, rows))
}

fn chains(chains: &[ChainView]) -> Option<String> {
    let header = [
        ("chain", Side::Left),
        ("id", Side::Right),
        ("state", Side::Left),
        ("head", Side::Right),
        ("seen", Side::Right),
        ("final", Side::Right),
        ("followed", Side::Right),
        ("lag", Side::Right),
        ("reorgs", Side::Right),
        ("open ranges", Side::Right),
        ("dead ranges", Side::Right),
        ("misfits", Side::Right),
        ("proven", Side::Right),
    ];
    let block = |block: Option<u64>| block.map_or("-".to_owned(), |block| block.to_string());
    let rows = chains.iter().map(|chain| {
        vec![
            chain.name.clone().unwrap_or_else(|| "-".to_owned()),
            chain.id.to_string(),
            chain.health.state.as_str().to_owned(),
            block(chain.head),
            chain.head_age_ms.map_or("-".to_owned(), |age| format!("{} ago", human::seconds(age / 1_000))),
            block(chain.finalized),
            block(chain.followed),
            block(chain.lag_blocks),
            chain.reorgs.to_string(),
            chain.open_ranges.to_string(),
            chain.dead_ranges.to_string(),
            misfits(chain.misfits),
            proven(chain),
        ]
    });
    (!chains.is_empty()).then(|| table::render(&header, rows))
}

/// A line for each endpoint that is not well.
fn endpoints(chains: &[ChainView]) -> String {
    let notes =
        chains.iter().flat_map(|chain| chain.health.endpoints.iter().map(|note| (chain.label(), note)));
    notes.map(|(chain, note)| format!("{chain}: {note}\n")).collect()
}

/// How much of what is stored was proven. Less than everything is never shown as 100 %.
fn proven(chain: &ChainView) -> String {
    let percent = chain.proven.and_then(|proven| proven.percent());
    percent.map_or("-".to_owned(), |percent| format!("{:.1} %", (percent * 10.0).floor() / 10.0))
}

/// Nobody counts further than that.
fn misfits(count: u64) -> String {
    if count < MAX_COUNTED_EVENTS { count.to_string() } else { format!("{MAX_COUNTED_EVENTS}+") }
}

fn queues(queues: &[QueueCounts]) -> Option<String> {
    let header = [
        ("queue", Side::Left),
        ("open", Side::Right),
        ("running lanes", Side::Right),
        ("retrying lanes", Side::Right),
        ("dead", Side::Right),
    ];
    let rows = queues.iter().map(|counts| {
        let numbers = [counts.open, counts.running_lanes, counts.retrying_lanes, counts.dead];
        [counts.queue.to_string()].into_iter().chain(numbers.map(|n| n.to_string())).collect()
    });
    (!queues.is_empty()).then(|| table::render(&header, rows))
}

fn outbox(sinks: &[SinkDepth]) -> Option<String> {
    let header = [("sink", Side::Left), ("waiting", Side::Right), ("dead", Side::Right)];
    let rows = sinks
        .iter()
        .map(|depth| vec![depth.sink.to_string(), depth.waiting.to_string(), depth.dead.to_string()]);
    (!sinks.is_empty()).then(|| table::render(&header, rows))
}

fn positions(positions: &[Position]) -> Option<String> {
    let header = [("cursor", Side::Left), ("at", Side::Right), ("which is", Side::Left)];
    let rows = positions.iter().map(|position| {
        let cursor = &position.cursor;
        vec![position.name.to_string(), cursor.primary().to_string(), cursor.secondary().to_owned()]
    });
    (!positions.is_empty()).then(|| table::render(&header, rows))
}

fn leases(leases: &[Lease]) -> Option<String> {
    let header =
        [("lease", Side::Left), ("owner", Side::Left), ("epoch", Side::Right), ("until", Side::Left)];
    let rows = leases.iter().map(|lease| {
        vec![
            lease.name.to_string(),
            lease.owner.to_string(),
            lease.epoch.0.to_string(),
            time::instant(lease.expires_at),
        ]
    });
    (!leases.is_empty()).then(|| table::render(&header, rows))
}

#[cfg(test)]
mod tests {
    use windlass_core::commit::{Commit, Write};
    use windlass_core::store::{Door, Health, MAX_LISTED_CURSORS};
    use windlass_store_sqlite::{SqliteOptions, SqliteStore};

    use super::*;

    #[test]
    fn more_misfits_than_are_counted_are_shown_as_more() {
        assert_eq!(misfits(MAX_COUNTED_EVENTS - 1), "9999");
        assert_eq!(misfits(MAX_COUNTED_EVENTS), "10000+");
    }

    /// Campaigns leave their cursors behind, and are listed before the head.
    #[tokio::test]
    async fn the_head_is_told_however_many_campaigns_there_were() {
        let store = SqliteStore::open(SqliteOptions::memory()).await.expect("a store");
        let chain = ChainId::new(137).expect("an id");
        let names = ChainNames::new(chain).expect("names");
        let campaigns =
            (0..u64::from(MAX_LISTED_CURSORS)).map(|id| names.campaign_cursor(id).expect("a name"));
        let all = campaigns.chain([names.head.clone(), names.recheck.clone()]);
        let start = Cursor::new(1, "next").expect("a cursor");
        let writes = all.map(|name| Write::SeedCursor { name, start: start.clone() }).collect();
        store.commit(Commit::of(writes)).await.expect("written");
        let told: Vec<CursorName> =
            cursors(&store, &[chain]).await.expect("cursors").into_iter().map(|at| at.name).collect();
        assert!(told.contains(&names.head) && told.contains(&names.recheck));
        assert_eq!(told.len(), MAX_LISTED_CURSORS as usize + 2, "each once");
        store.close().await;
    }
}
