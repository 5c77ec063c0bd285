//! Logs, to standard error. Where a terminal shows bars as well, a line goes above them.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::MultiProgress;
use tracing_subscriber::EnvFilter;

use crate::config::log::{Format, Log};

/// What else is drawn on the terminal.
static SHARED: OnceLock<MultiProgress> = OnceLock::new();

/// Whether every line on standard error is JSON.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Whether every line on standard error is JSON: from the start of such a log on.
pub(crate) fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// Lets lines and bars share the terminal from now on; once per process.
pub(crate) fn share_terminal(bars: &MultiProgress) {
    // A second one changes nothing.
    let _ = SHARED.set(bars.clone());
}

/// Standard error, with bars out of the way while a line is written.
struct Lines;

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match SHARED.get() {
            Some(bars) => bars.suspend(|| io::stderr().write(bytes)),
            None => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// The connection pool logs two lines for each connection that ends, without a reason. What the
/// end of a connection means is logged by the loop that used it.
const QUIET_TARGETS: &str = "deadpool=off";

/// Starts logging; once per process. A second call changes nothing.
pub(crate) fn start(log: &Log) {
    let filter = EnvFilter::new(format!("{},{QUIET_TARGETS}", log.level.as_str()));
    let builder = tracing_subscriber::fmt().with_writer(|| Lines).with_env_filter(filter);
    let started = match log.format {
        Format::Pretty => {
            let choice = anstream::AutoStream::choice(&std::io::stderr());
            let colour = match choice {
                anstream::ColorChoice::Never => false,
                anstream::ColorChoice::Auto => std::io::stderr().is_terminal(),
                anstream::ColorChoice::AlwaysAnsi | anstream::ColorChoice::Always => true,
            };
            builder.with_ansi(colour).with_target(false).try_init()
        }
        Format::Json => builder.json().flatten_event(true).with_current_span(false).try_init(),
    };
    IS_JSON.store(started.is_ok() && log.format == Format::Json, Ordering::Relaxed);
    if started.is_err() {
        tracing::debug!("logging had been started already");
    }
}
