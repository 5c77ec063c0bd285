//! `[shutdown]`: how a running process ends.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::duration::HumanDuration;

/// How a running process ends.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Shutdown {
    /// How long work under way may take to finish after a signal.
    pub(crate) limit: HumanDuration,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self { limit: HumanDuration(Duration::from_secs(30)) }
    }
}
