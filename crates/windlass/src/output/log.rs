//! Logs, to standard error.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::log::{Format, Log};

/// Starts logging; once per process. A second call changes nothing.
pub(crate) fn start(log: &Log) {
    let filter = EnvFilter::new(log.level.as_str());
    let builder = tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter);
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
    if started.is_err() {
        tracing::debug!("logging had been started already");
    }
}
