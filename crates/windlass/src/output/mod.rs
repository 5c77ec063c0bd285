//! What a person or a program reads.
//!
//! Data goes to standard output, everything else to standard error. Colour is
//! decoration only: nothing is said by it alone, and it is left out where
//! `NO_COLOR`, `--color never` or a pipe ask for that.

pub(crate) mod exit;
pub(crate) mod failure;
pub(crate) mod file;
pub(crate) mod human;
pub(crate) mod log;
pub(crate) mod markdown;
pub(crate) mod prompt;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod time;

use std::io::{self, Write};

use serde::Serialize;

/// Writes text to standard output.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes a line for people to standard error; where logs are JSON, as one of them. That it
/// cannot be written is no reason to fail: there is nowhere else to say so.
pub(crate) fn note(line: &str) {
    if log::is_json() {
        tracing::info!("{line}");
        return;
    }
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}

/// How many columns standard output has, if it is a terminal.
pub(crate) fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Writes one JSON object to standard output, readable and with a line break.
pub(crate) fn json<T: Serialize>(value: &T) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    print(&text)
}
