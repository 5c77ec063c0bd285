//! What is kept of payouts: rows, each with a version.
//!
//! A row is changed by writing it one version on; a store refuses it unless it holds
//! the version before. So whoever decided on what it had read finds out when somebody
//! else was quicker, and nothing is ever changed halfway.

mod access;
mod approval;
mod budget;
mod identity;
mod index;
mod intent;
mod payout;
mod receipt;
mod row;
mod row_key;
mod signer;
mod tail;
mod unreadable;
mod write;

pub use access::{ApiKey, ApiKeyName, DEVELOPMENT, Role};
pub use approval::Approval;
pub use budget::{Budget, BudgetKey};
pub use identity::{BlockAnswers, ChainIdentity, MAX_IDENTITY_BLOCKS};
pub use index::{CHECKPOINT_KEY, Forgery, ForgeryKind, LedgerIndex, MAX_CHECKPOINT_BYTES, RowStanding};
pub use intent::{Attempt, Inclusion, Intent, IntentId, IntentState, fees_of};
pub use payout::{Hold, IllegalMove, MAX_REASON_BYTES, Payout};
pub use receipt::ReceiptSummary;
pub use row::{Fields, LedgerRow, RowId, RowVersion};
pub use row_key::RowKeyError;
pub use signer::SignerRow;
pub use tail::{MAX_TAIL, check_tail};
pub use unreadable::is_unreadable;
pub use write::{OpenTotalLimit, PayWrite, ReplacedRow};
