//! Payouts over HTTP: asked for, approved, looked at.
//!
//! Whoever asks passes the gate first, then what was sent is read, then the desk decides. The
//! API itself keeps nothing and decides nothing; GraphQL goes the same way.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `pay` | what handlers stand on: desk, store, limits |
//! | `command` | what is done at the desk, counted |
//! | `refusal` | why the desk refuses, as a client is told |
//! | `asked` | from what was sent to what is asked for |
//! | `sent`, `json` | bodies, headers and parameters, field by field |
//! | `read` | pages of payouts and of the log, and all there is to one payout |
//! | `body`, `detail`, `advice` | a payout as JSON, as commands print it too |
//! | `list`, `create`, `act`, `totals`, `audit` | the endpoints |

pub(crate) mod act;
pub(crate) mod advice;
pub(crate) mod asked;
pub(crate) mod audit;
pub(crate) mod body;
pub(crate) mod command;
pub(crate) mod create;
pub(crate) mod detail;
mod json;
pub(crate) mod list;
mod pay;
pub(crate) mod read;
mod refusal;
mod sent;
pub(crate) mod totals;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use self::pay::PayoutParts;
pub(crate) use self::pay::{Pay, not_configured};
pub(crate) use self::sent::{header_key, one_key};
use crate::state::ApiState;

/// Every path about payouts but the one that takes many of them at once.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list::payouts))
        .routes(routes!(list::payout))
        .routes(routes!(totals::totals))
        .routes(routes!(act::approve))
        .routes(routes!(act::reject))
        .routes(routes!(act::cancel))
        .routes(routes!(act::retry))
        .routes(routes!(audit::of_payout))
        .routes(routes!(audit::log))
        .routes(routes!(audit::head))
}

/// The path that takes many payouts at once: its bodies may be longer.
pub(crate) fn asking_routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(create::create))
}
