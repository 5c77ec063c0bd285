//! What a person is told when a command cannot do what was asked.
//!
//! Every command ends with `Result<(), Failure>`; `main` prints the failure to
//! standard error and exits with its code. The message is lower-case, without a
//! full stop, and never holds a password or a whole URL.

use std::fmt;
use std::io;

use windlass_chain::evm::RpcError;
use windlass_core::code::Code;
use windlass_core::error::StoreError;
use windlass_engine::collect::error::CollectError;

use crate::output::exit::Exit;

/// Why a command failed, what to do about it, and how the process ends.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The page that explains it, if it has one.
    pub(crate) code: Option<Code>,
    /// What happened, in one line.
    pub(crate) message: String,
    /// More lines: one for each problem, or the chain of causes.
    pub(crate) details: Vec<String>,
    /// What to do next.
    pub(crate) hint: Option<String>,
    /// How the process ends.
    pub(crate) exit: Exit,
}

impl Failure {
    /// The answer is no, or the input is wrong, and a page explains it.
    pub(crate) fn coded(code: Code, message: impl fmt::Display) -> Self {
        Self { code: Some(code), ..Self::plain(Exit::No, message) }
    }

    /// The answer is no, and the message says all there is to say.
    pub(crate) fn refused(message: impl fmt::Display) -> Self {
        Self::plain(Exit::No, message)
    }

    /// What was typed makes no sense.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::plain(Exit::Usage, message)
    }

    /// Something that should not happen on a sound machine.
    pub(crate) fn unexpected(message: impl fmt::Display) -> Self {
        Self::plain(Exit::Usage, message)
    }

    /// A command has said everything on standard output; only its exit code is left.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self::plain(exit, "")
    }

    fn plain(exit: Exit, message: impl fmt::Display) -> Self {
        Self { code: None, message: message.to_string(), details: Vec::new(), hint: None, exit }
    }

    /// Says what to do next.
    pub(crate) fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// Adds lines below the message.
    pub(crate) fn details(mut self, details: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(details);
        self
    }
}

impl From<CollectError> for Failure {
    fn from(error: CollectError) -> Self {
        match error {
            CollectError::Store(error) | CollectError::Unwritten(error) => error.into(),
            CollectError::Chain(error) => error.into(),
            CollectError::FinalityViolated { .. } => Self::coded(Code::FinalityViolated, error),
            CollectError::Mending { .. } => Self::refused(error).hint("try again once it is done"),
            CollectError::PlanTooLarge { .. } => Self::coded(error.code(), error),
            CollectError::Name(_) | CollectError::Strange { .. } => Self::unexpected(error),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let code = error.code();
        Self::coded(code, error).hint(store_hint(code))
    }
}

/// The next step for a store's trouble.
pub(crate) fn store_hint(code: Code) -> &'static str {
    match code {
        Code::DatabaseUnreachable => {
            "check `database.url`, and that the server runs or the folder exists and may be entered"
        }
        Code::DatabaseAuth => "check the user and password in `database.url`",
        Code::DatabaseBusy => "another process holds the database; try again",
        Code::DiskFull => "free some space; nothing that was stored is lost",
        Code::DatabaseReadOnly => "give the user that runs windlass the right to write",
        Code::DatabaseCorrupt => {
            "check that the path is a windlass database; restore a backup if it is damaged"
        }
        Code::CommitUnsettled => "check the server, then look up what was to be written before repeating it",
        Code::DatabaseForeign => "choose another file; windlass uses only files that it has made",
        Code::DatabaseOlder => "`windlass run` brings it up to date",
        Code::RowForged => "`windlass audit-log verify` names every row that was tampered with",
        Code::AuditBroken => {
            "`windlass audit-log verify` tells where; after a restored backup `windlass audit-log accept` comes \
             first: before it no API key is good"
        }
        Code::DatabaseNewer => "install the version of windlass that last used this database, or a later one",
        _ => "the message has the database's own words; its log may have more",
    }
}

impl From<RpcError> for Failure {
    fn from(error: RpcError) -> Self {
        let hint = rpc_hint(&error);
        Self::coded(error.code(), error).hint(hint)
    }
}

/// The next step for an endpoint's trouble.
fn rpc_hint(error: &RpcError) -> &'static str {
    match error {
        RpcError::Url { .. } => "an endpoint begins with https:// or http:// and names a host",
        RpcError::Connection { .. } | RpcError::Timeout { .. } => {
            "check the URL, and that the node runs and can be reached from here"
        }
        RpcError::RateLimited { .. } | RpcError::RangeTooLarge { .. } => {
            "wait, or use an endpoint with a higher limit"
        }
        RpcError::Status { status: 401 | 403, .. } => "check the key in the URL",
        RpcError::Status { status: 500..=599, .. } => {
            "the provider is in trouble: try again, and name another endpoint in `rpc` as well"
        }
        RpcError::Status { .. } | RpcError::Malformed { .. } | RpcError::BodyTooLarge { .. } => {
            "check that the URL is an RPC endpoint, with its whole path"
        }
        RpcError::Refused { .. } => "the message has the provider's words; check the key and the plan",
    }
}

/// For standard output; whatever else is read or written says more. A reader that went
/// away (`windlass … | head`) is no failure.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::silent(Exit::Done),
            _ => Self::refused(format_args!("cannot write the output: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let gone = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!((gone.exit, gone.message.as_str()), (Exit::Done, ""));
        assert_eq!(Failure::from(io::Error::other("x")).exit, Exit::No);
    }

    #[test]
    fn a_store_error_keeps_its_code_and_gets_a_hint() {
        let failure = Failure::from(StoreError::AuthFailed { user: "wind".into() });
        assert_eq!(failure.code, Some(Code::DatabaseAuth));
        assert_eq!(failure.message, "the database refused user `wind`");
        assert!(failure.hint.is_some_and(|hint| hint.contains("password")));
    }
}
