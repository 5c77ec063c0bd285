//! Fees turn into payouts: what was collected for an integrator, and cannot be taken back
//! any more, is asked for and approved.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::chain::U256;
use windlass_core::payout::desk::DeskError;
use windlass_core::payout::request::{IdempotencyKey, PayoutRequest};
use windlass_core::row_query::{RowOrder, RowQuery};
use windlass_core::store::Store;
use windlass_core::table::{EventRow, RowKey, Value};
use windlass_devnet::chain::Chain;
use windlass_engine::pay::desk::Desk;

use super::collector;
use super::treasury::{SETTLED_DEPTH, Treasury};
use super::world::World;
use crate::failure::Failure;

/// How often new fees are looked for.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// The most fees of one look.
const MAX_FEES: u32 = 100;
/// So much wei of fees is one base unit of the token.
const WEI_PER_UNIT: u64 = 1_000_000_000;
/// Who asks, and who approves: never the same.
const ASKER: &str = "demo/payroll";
const APPROVER: &str = "demo/approver";

/// Turns fees into payouts.
pub(super) struct Payroll {
    chain: Chain,
    store: Arc<dyn Store>,
    desk: Desk,
    treasury: Arc<Treasury>,
    query: RowQuery,
}

/// Why it ended by itself.
#[derive(Debug, thiserror::Error)]
pub(super) enum PayrollError {
    /// The store.
    #[error(transparent)]
    Store(#[from] windlass_core::error::StoreError),
    /// The desk.
    #[error(transparent)]
    Desk(#[from] DeskError),
    /// A row that is no fee.
    #[error("a collected fee makes no sense: {0}")]
    Fee(String),
}

impl Payroll {
    /// A payroll that has paid nothing.
    pub(super) fn new(world: &World, store: Arc<dyn Store>) -> Result<Self, Failure> {
        let query = RowQuery {
            table: collector::table(world)?.name,
            conditions: Vec::new(),
            order: RowOrder::OldestFirst,
            after: None,
            limit: MAX_FEES,
        };
        let desk = world.treasury.desk(store.clone())?;
        Ok(Self { chain: world.chain.clone(), store, desk, treasury: world.treasury.clone(), query })
    }

    /// Asks and approves until told to stop.
    pub(super) async fn run(mut self, shutdown: CancellationToken) -> Result<(), PayrollError> {
        while !shutdown.is_cancelled() {
            if !self.step().await? {
                tokio::select! {
                    () = tokio::time::sleep(LOOK_INTERVAL) => {}
                    () = shutdown.cancelled() => {}
                }
            }
        }
        Ok(())
    }

    /// Whether there was anything to do.
    async fn step(&mut self) -> Result<bool, PayrollError> {
        let settled = self.chain.head().number().saturating_sub(SETTLED_DEPTH);
        let rows = self.store.rows(&self.query).await?;
        let rows: Vec<EventRow> =
            rows.into_iter().take_while(|row| row.head.block.number <= settled).collect();
        let Some(last) = rows.last() else { return Ok(false) };
        let last: RowKey = last.head.key();
        let asked: Vec<PayoutRequest> = rows.iter().map(|row| self.request(row)).collect::<Result<_, _>>()?;
        for created in self.desk.create(&asked, ASKER).await? {
            self.desk.approve(created.payout.id, APPROVER).await?;
        }
        self.query.after = Some(last);
        Ok(true)
    }

    /// A fee's payout. Its key is the fee's place on the chain, so that whoever looks twice
    /// asks once.
    fn request(&self, row: &EventRow) -> Result<PayoutRequest, PayrollError> {
        let (Some(Value::Address(to)), Some(Value::Uint(fee))) = (row.values.get(1), row.values.get(2))
        else {
            return Err(PayrollError::Fee(format!("{:?}", row.values)));
        };
        let key = format!("fee-{}-{}", row.head.transaction_hash, row.head.log_index);
        Ok(PayoutRequest {
            vault: self.treasury.vault,
            token: self.treasury.token.contract.unwrap_or_default(),
            to: *to,
            amount: fee / U256::from(WEI_PER_UNIT) + U256::ONE,
            key: IdempotencyKey::new(key).map_err(|error| PayrollError::Fee(error.to_string()))?,
        })
    }
}
