//! The API: whether others than this machine can reach it.

use super::report::Finding;
use crate::config::api::Api;

/// Says that what was collected is open to the network, where it is.
pub(super) fn examine(api: &Api) -> Option<Finding> {
    api.is_remote().then(|| {
        let message = format!(
            "listens on {}: everybody who reaches it reads what was collected, without a key; \
             payouts take a key",
            api.listen.0
        );
        let hint = "put a firewall or a proxy in front, or listen on 127.0.0.1";
        Finding::warning("api", message, hint)
    })
}
