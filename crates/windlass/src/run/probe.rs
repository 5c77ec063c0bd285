//! Whether the port is free and the store can be written: found out before any work begins, so
//! that a port that is taken, a disk that is full or a database that is read-only is reported as what
//! it is.

use tokio::net::TcpListener;
use windlass_api::BindError;
use windlass_core::commit::{Commit, Write};
use windlass_core::name::StateKey;
use windlass_core::store::Store;

use crate::collect::ledger::unnamed;
use crate::config::api::Api;
use crate::failure::Failure;

/// More than one page of any database, so that it takes room.
const BYTES: usize = 64 << 10;

/// Writes something and takes it away again. One who dies in between leaves it for the
/// next start to take away.
pub(super) async fn write(store: &dyn Store) -> Result<(), Failure> {
    let key = StateKey::new("run/probe").map_err(unnamed)?;
    for value in [Some("0".repeat(BYTES)), None] {
        store.commit(Commit::of(vec![Write::PutState { key: key.clone(), value }])).await?;
    }
    Ok(())
}

/// Takes the API's port and lets go of it: before anything is written or any endpoint is asked.
/// It is taken for good once everything else is ready.
pub(super) async fn port(api: &Api) -> Result<(), Failure> {
    let listen = api.listen.0;
    let taken = TcpListener::bind(listen).await;
    taken.map(drop).map_err(|source| unbound(BindError::Listen { listen, source }))
}

/// The API cannot listen.
pub(super) fn unbound(error: BindError) -> Failure {
    let source = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    Failure::coded(error.code(), format_args!("{error}{source}"))
        .hint("change `api.listen`, or leave the API to one process: --role collect")
}
