//! `[pay.risk]`: what may be paid.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::amount::Amounts;
use crate::config::address::WrittenAddress;
use crate::config::interval::Interval;

/// What may be paid.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Risk {
    /// A `risk.json` with `maxPerRequest`, `maxDailyTotal`, `denylist` and `confirmations`; what is said here comes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) file: Option<PathBuf>,
    /// The most of one payout.
    pub(crate) max_per_request: Amounts,
    /// The limit for all payouts of a UTC day.
    pub(crate) max_daily_total: Amounts,
    /// The most of all payouts of a UTC day to one recipient.
    pub(crate) max_daily_per_recipient: Amounts,
    /// The same for single recipients, by address.
    pub(crate) recipients: BTreeMap<WrittenAddress, Amounts>,
    /// Who is never paid.
    pub(crate) denylist: Vec<WrittenAddress>,
    /// Who alone is paid, if there is such a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<WrittenAddress>")]
    pub(crate) allowlist: Option<Vec<WrittenAddress>>,
    /// How long the first payment to somebody waits after it was asked for.
    pub(crate) new_recipient_hold: HoldTime,
}

/// How long a first payment waits: up to thirty days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub(crate) struct HoldTime(pub(crate) Interval<0, 2_592_000_000>);

impl Default for HoldTime {
    fn default() -> Self {
        Self(Interval::of_ms(0))
    }
}
