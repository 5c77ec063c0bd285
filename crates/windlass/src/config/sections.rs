//! The whole configuration, by section.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::api::Api;
use super::chain::{Chain, ChainName};
use super::database::Database;
use super::index::{Index, IndexName};
use super::log::Log;
use super::shutdown::Shutdown;

/// Windlass's configuration.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// Where everything is kept.
    pub(crate) database: Database,
    /// The chains, each under a name of your choice.
    pub(crate) chain: BTreeMap<ChainName, Chain>,
    /// What is collected, each under a name of your choice.
    pub(crate) index: BTreeMap<IndexName, Index>,
    /// The HTTP interface.
    pub(crate) api: Api,
    /// What is logged, and how.
    pub(crate) log: Log,
    /// How a running process ends.
    pub(crate) shutdown: Shutdown,
}
