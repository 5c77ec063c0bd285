//! `[pay.approval]`: how many have to say yes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::number::Number;

/// As many as anybody would ever ask for.
pub(crate) type Approvers = Number<1, 20>;

/// How many have to say yes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Approval {
    /// How many approvals a payout requires.
    pub(crate) approvers: Approvers,
    /// How many from an amount on, such as `{ "1000 USDC" = 2, "50000 USDC" = 3 }`.
    pub(crate) from: BTreeMap<String, Approvers>,
}

impl Default for Approval {
    fn default() -> Self {
        Self { approvers: Number::of(1), from: BTreeMap::new() }
    }
}
