//! Ctrl-C, SIGTERM and SIGHUP.
//!
//! The first asks for a clean end; the second ends the process at once with 130.
//! They are heard on a thread of their own, so that the second one works to the
//! very end, when the runtime is busy or gone.

use std::{process, thread};

use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::output;
use crate::output::exit::INTERRUPTED;

/// A token that the first signal cancels. Signals are caught from here on.
pub(crate) fn shutdown() -> Result<CancellationToken, Failure> {
    let fail = |error| Failure::unexpected(format_args!("cannot catch signals: {error}"));
    let ears = runtime::Builder::new_current_thread().enable_io().build().map_err(fail)?;
    let signals = {
        let _caught_there = ears.enter();
        let catch = |kind| signal(kind).map_err(fail);
        Signals {
            interrupt: catch(SignalKind::interrupt())?,
            terminate: catch(SignalKind::terminate())?,
            hangup: catch(SignalKind::hangup())?,
        }
    };
    let token = CancellationToken::new();
    let first = token.clone();
    let hear = move || ears.block_on(obey(signals, first));
    thread::Builder::new().name("signals".to_owned()).spawn(hear).map_err(fail)?;
    Ok(token)
}

async fn obey(mut signals: Signals, first: CancellationToken) {
    signals.any().await;
    output::note("stopping; press Ctrl-C again to force");
    first.cancel();
    signals.any().await;
    process::exit(INTERRUPTED);
}

/// The signals that ask for an end. A terminal that was closed asks by SIGHUP.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
