//! The whole configuration, by section.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::api::Api;
use super::chain::{Chain, ChainName};
use super::database::Database;
use super::index::{Index, IndexName};
use super::log::Log;
use super::pay::Pay;
use super::shutdown::Shutdown;
use super::signer::{Signer, SignerName};

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
    /// What is paid out, from which vault and by whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Pay")]
    pub(crate) pay: Option<Pay>,
    /// Keys that sign, each under a name of your choice.
    pub(crate) signer: BTreeMap<SignerName, Signer>,
    /// The HTTP interface.
    pub(crate) api: Api,
    /// What is logged, and how.
    pub(crate) log: Log,
    /// How a running process ends.
    pub(crate) shutdown: Shutdown,
}
