//! Ctrl-C and SIGTERM.
//!
//! The first asks for a clean end; the second ends the process at once with 130.

use std::process;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::output;
use crate::output::exit::INTERRUPTED;

/// A token that the first signal cancels. Signals are caught from here on.
pub(crate) fn shutdown() -> Result<CancellationToken, Failure> {
    let catch = |kind| {
        signal(kind).map_err(|error| Failure::unexpected(format_args!("cannot catch signals: {error}")))
    };
    let (mut interrupt, mut terminate) = (catch(SignalKind::interrupt())?, catch(SignalKind::terminate())?);
    let token = CancellationToken::new();
    let first = token.clone();
    tokio::spawn(async move {
        either(&mut interrupt, &mut terminate).await;
        output::note("stopping; once more to end at once");
        first.cancel();
        either(&mut interrupt, &mut terminate).await;
        process::exit(INTERRUPTED);
    });
    Ok(token)
}

async fn either(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
