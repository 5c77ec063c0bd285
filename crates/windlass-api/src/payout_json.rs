//! Payouts as JSON: one shape for each answer, whether HTTP sends it or a command prints it.

pub use crate::payouts::act::ApprovedBody;
pub use crate::payouts::advice::{AdviceBody, RiskBody, RuleBody};
pub use crate::payouts::body::{CreatedBody, PayoutBody, Tokens, time};
pub use crate::payouts::create::CreatedListBody;
pub use crate::payouts::detail::{PayoutDetail, is_undecided};
pub use crate::payouts::list::PayoutsBody;
