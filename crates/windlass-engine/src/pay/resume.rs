//! Letting an account sign again after it was halted: a person has looked, and decides.

use std::sync::Arc;

use serde_json::json;
use windlass_core::chain::Address;
use windlass_core::commit::Write;
use windlass_core::error::StoreError;
use windlass_core::finality::Finality;
use windlass_core::name::{NameError, Partition};
use windlass_core::payout::ledger::{PayWrite, SignerRow};
use windlass_core::payout::store::Payouts;
use windlass_core::payout::submit::{NonceTag, TransactionChain};
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind};

use super::agreement::{counts, disputed_count, last_final};
use super::counted;
use super::ledger::Ledger;
use super::options::PayOptions;
use super::page::{Clerk, Page};

/// Why an account does not sign again.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The chain.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// A name that cannot be one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// It never signed here.
    #[error("account {0} has never signed here")]
    Unknown(Address),
    /// It was not halted.
    #[error("account {0} is not halted")]
    NotHalted(Address),
    /// Transactions of somebody else's are still on their way.
    #[error("{0} transactions of this account that were not sent from here are not final yet; wait for them")]
    Waiting(u64),
}

/// Lets an account sign again, from the first nonce on that the chain has not seen. Only
/// once nothing that was sent elsewhere is on its way, or in a block that may go: ours would
/// share nonces with it, or wait for ever behind one that nobody uses again.
pub async fn resume(
    ledger: &Arc<Ledger>,
    chain: &dyn TransactionChain,
    options: &PayOptions,
    account: Address,
    by: &str,
) -> Result<SignerRow, ResumeError> {
    let row = ledger.signer(options.vault.chain, account).await?.ok_or(ResumeError::Unknown(account))?;
    if row.halted.is_none() {
        return Err(ResumeError::NotHalted(account));
    }
    let used = used_for_good(chain, options.finality, account).await?;
    let pending = counts(chain, account, NonceTag::Pending).await?.most().unwrap_or(0);
    // What is open of ours counts among those that wait, and is not somebody else's.
    let ours = row.next_nonce.max(used);
    if pending > ours {
        return Err(ResumeError::Waiting(pending - ours));
    }
    let now = ledger.store().now().await?;
    let resumed = SignerRow { next_nonce: ours, ..row.halted(None, now) };
    let clerk =
        Clerk { actor: by.into(), partition: Partition::new("pay/signers")?, key: ledger.key().clone() };
    let mut page = Page::new(&clerk);
    page.write(Write::Pay(PayWrite::Signer(resumed.clone())));
    let detail = json!({"was": row.halted, "next_nonce": resumed.next_nonce, "skipped": resumed.next_nonce - row.next_nonce});
    page.note("signer.resumed", account, detail);
    counted::commit(ledger, page.into_commit()).await?;
    Ok(resumed)
}

/// How many transactions an account has in blocks that nothing can undo: two endpoints have to agree, or
/// the only one tells it.
async fn used_for_good(
    chain: &dyn TransactionChain,
    finality: Finality,
    account: Address,
) -> Result<u64, ChainError> {
    let disputed = |why| ChainError::new(ChainErrorKind::Malformed, why);
    let last_final = last_final(chain, finality).await?.map_err(disputed)?.number;
    let told = counts(chain, account, NonceTag::Block(BlockTag::Number(last_final))).await?;
    told.agreed().ok_or_else(|| disputed(disputed_count(account, &told)))
}
