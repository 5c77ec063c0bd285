//! How the process ends.

use std::process::ExitCode;

/// The exit codes, documented in `windlass --help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done: 0.
    Done,
    /// The answer is no, the input is wrong, or it could not start: 1.
    No,
    /// Wrong usage, or something unexpected: 2.
    Usage,
}

/// The code after a second signal, as a shell would give it.
pub(crate) const INTERRUPTED: i32 = 130;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Usage => 2,
        })
    }
}
