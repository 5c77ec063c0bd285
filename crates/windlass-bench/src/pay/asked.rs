//! The payouts of the case: asked for and approved before anything is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use alloy_primitives::{Address, U256};
use windlass_core::payout::audit::AuditKey;
use windlass_core::payout::desk::MAX_ASKED;
use windlass_core::payout::request::{IdempotencyKey, PayoutRequest};
use windlass_core::store::Store;
use windlass_engine::pay::desk::Desk;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::options::PayOptions;

use super::Broken;
use super::served::ChainDescription;

/// Asks for payouts and approves them.
pub(super) async fn ask(
    chain: &ChainDescription,
    store: Arc<dyn Store>,
    options: Arc<PayOptions>,
    n: u64,
) -> Result<(), Broken> {
    let counter = AtomicU64::new(0);
    let random = Arc::new(move || u128::from(counter.fetch_add(1, Ordering::Relaxed)));
    let desk = Desk::new(Ledger::new(store, AuditKey::new([1; 32])), options, random)?;
    let requests: Vec<PayoutRequest> =
        (0..n).map(|number| request(chain, number)).collect::<Result<_, _>>()?;
    for part in requests.chunks(MAX_ASKED) {
        for created in desk.create(part, "asker").await? {
            desk.approve(created.payout.id, "approver").await?;
        }
    }
    Ok(())
}

fn request(chain: &ChainDescription, number: u64) -> Result<PayoutRequest, Broken> {
    let mut to = [0x70; 20];
    to[12..].copy_from_slice(&number.to_be_bytes());
    Ok(PayoutRequest {
        vault: chain.vault,
        token: chain.token,
        to: Address::from(to),
        amount: U256::from(1_000 + number),
        key: IdempotencyKey::new(format!("bench-{number}"))?,
    })
}
