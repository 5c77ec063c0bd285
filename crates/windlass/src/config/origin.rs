//! Where a value came from.

use std::fmt;
use std::path::PathBuf;

/// Where a value came from; sorts by file and line first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// A line of a file, counted from 1.
    File {
        /// Which file, as it was named.
        path: PathBuf,
        /// Which line.
        line: usize,
    },
    /// An environment variable.
    Env(String),
    /// A command-line flag.
    Flag(&'static str),
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Env(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
            Self::Default => f.write_str("default"),
        }
    }
}
