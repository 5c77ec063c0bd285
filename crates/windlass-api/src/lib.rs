//! What was collected, over HTTP: JSON, GraphQL, server-sent events, metrics.
//!
//! The API reads the store and asks the desk where payouts are decided about: it never
//! waits for a loop, and knows no adapter. What only the running process can tell (progress, reasons not to be
//! ready) comes in through two small ports. Every page, body, queue and connection
//! has a named maximum in [`limits`].
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`options`], [`limits`] | what is asked for, and what never exceeds what |
//! | [`ports`] | what the process tells: readiness and progress |
//! | [`server`] | binding, accepting, stopping |
//! | `wire` | a connection's bytes: refusals have bodies, readers read |
//! | `host` | under which names it answers |
//! | `state`, `router`, `guard`, `error` | what handlers share, where they stand, what stands around them |
//! | `queue` | how many requests are answered at once, and how long the others wait |
//! | `health` | is it alive, is it ready, metrics |
//! | `fees/` | `/fees`, as the fee collector's users know it |
//! | `extract` | what handlers take out of a URL |
//! | `catalog` | which table an index and an event name |
//! | `column_type` | what a column holds, as the contract's source says it |
//! | `filter/` | from parameters to conditions |
//! | `cursor` | where a page ended, as opaque text |
//! | `page` | a page of rows: what JSON and GraphQL share |
//! | `events`, `sum`, `indexes` | the endpoints under `/api/v1` |
//! | `stream/` | events and retractions as they come |
//! | `graphql/` | the same in GraphQL |
//! | `access/` | who asks, and whether they may |
//! | `payouts/` | payouts: asked for, approved, looked at |
//! | [`payout_json`] | their JSON, which commands print as well |
//! | `openapi` | the description of it all |

mod access;
mod catalog;
mod column_type;
mod cursor;
mod error;
mod events;
mod extract;
mod fees;
mod filter;
mod graphql;
mod guard;
mod health;
mod host;
mod indexes;
pub mod limits;
mod openapi;
pub mod options;
mod page;
pub mod payout_json;
mod payouts;
pub mod ports;
mod queue;
mod router;
pub mod server;
mod state;
mod stream;
mod sum;
mod wire;

pub use host::is_host;
pub use openapi::openapi_json;
pub use options::{ApiOptions, RateLimit};
pub use payouts::PayoutParts;
pub use server::{Api, BindError};
pub use state::ApiParts;
