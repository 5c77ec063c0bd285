//! Whether the port is free and the store can be written: found out before any work begins, so
//! that a port that is taken, a disk that is full or a database that is read-only is reported as what
//! it is.

use tokio::net::TcpListener;
use windlass_api::BindError;
use windlass_core::commit::{Commit, Write};
use windlass_core::name::StateKey;
use windlass_core::store::Store;

use super::RunOptions;
use super::role::Role;
use crate::collect::ledger::unnamed;
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
pub(super) async fn port(options: &RunOptions) -> Result<(), Failure> {
    let listen = options.config.api.listen.0;
    let taken = TcpListener::bind(listen).await;
    taken.map(drop).map_err(|source| unbound(BindError::Listen { listen, source }, options))
}

/// The API cannot listen.
pub(super) fn unbound(error: BindError, options: &RunOptions) -> Failure {
    let source = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    Failure::coded(error.code(), format_args!("{error}{source}"))
        .hint(format_args!("change `api.listen`{}", without_api(options)))
}

/// How to run the same without the API, as a hint ends: the other roles that have something to do.
fn without_api(options: &RunOptions) -> String {
    let pays = options.config.pay.as_ref().is_some_and(|pay| !pay.signers.is_empty());
    let collects = !options.config.index.is_empty() || !pays;
    let is_left = |role: &&Role| match role {
        Role::Api => false,
        Role::Pay => pays,
        Role::Collect => collects,
        Role::Upkeep => true,
    };
    let roles: Vec<&str> = options.roles.iter().filter(is_left).map(|role| role.as_str()).collect();
    match roles.is_empty() {
        true => String::new(),
        false => format!(", or leave the API to one process: --role {}", roles.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_the_api_keeps_the_roles_that_its_configuration_has_work_for() {
        let options = |toml: &str, roles: &[Role]| RunOptions {
            roles: roles.to_vec(),
            is_explicit: true,
            config: toml::from_str(toml).expect("a configuration"),
        };
        let all = Role::chosen(Vec::new());
        let paying = "[pay]\nchain = 'local'\nvault = '0x00000000000000000000000000000000000000a1'\n\
             signers = ['ops']\naudit_key = 'env:AUDIT_KEY'\n";
        let hint = |toml, roles| without_api(&options(toml, roles));
        assert!(hint("", &all).ends_with("--role collect,upkeep"));
        assert!(hint(paying, &all).ends_with("--role pay,upkeep"), "no index");
        assert!(hint(paying, &[Role::Pay, Role::Api]).ends_with("--role pay"));
        assert_eq!(hint(paying, &[Role::Api]), "");
    }
}
