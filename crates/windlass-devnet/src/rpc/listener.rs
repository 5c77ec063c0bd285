//! Accepts connections, no more at a time than there are slots for.

use std::{io, sync::Arc, time::Duration};

use axum::Router;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError},
};
use tokio_util::sync::CancellationToken;

use super::connection::{self, Link};

/// The most connections that are open at once; the next one waits to be served.
/// Half of the usual limit of open files.
pub const MAX_CONNECTIONS: u32 = 512;

/// How long to wait when the system gives no more connections.
const ACCEPT_PAUSE_MS: u64 = 500;

/// The accept loop, and what it has complained about already.
pub(super) struct Acceptor {
    pub(super) listener: TcpListener,
    pub(super) router: Router,
    pub(super) slots: Arc<Semaphore>,
    pub(super) stop: CancellationToken,
    pub(super) complained: bool,
}

impl Acceptor {
    /// Serves whoever connects, until the server stops.
    pub(super) async fn run(mut self) {
        let stop = self.stop.clone();
        // None only once the slots are closed, which nobody does.
        while let Some(Some((stream, slot))) = stop.run_until_cancelled(self.next()).await {
            let (router, stop) = (self.router.clone(), stop.clone());
            tokio::spawn(connection::serve(stream, router, Link::new(slot), stop));
        }
    }

    /// The next connection and its slot.
    async fn next(&mut self) -> Option<(TcpStream, OwnedSemaphorePermit)> {
        let stream = self.accept().await;
        match Arc::clone(&self.slots).try_acquire_owned() {
            Ok(slot) => return Some((stream, slot)),
            Err(TryAcquireError::Closed) => return None,
            Err(TryAcquireError::NoPermits) => self.complain("all connections are taken; others wait", None),
        }
        Some((stream, Arc::clone(&self.slots).acquire_owned().await.ok()?))
    }

    async fn accept(&mut self) -> TcpStream {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => return stream,
                Err(error) if is_the_clients(&error) => {}
                Err(error) => {
                    self.complain("cannot accept connections", Some(&error));
                    tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
                }
            }
        }
    }

    /// Once is enough: whoever floods the port must not flood the log too.
    fn complain(&mut self, what: &str, error: Option<&io::Error>) {
        if !std::mem::replace(&mut self.complained, true) {
            tracing::warn!(error = error.map(tracing::field::display), "{what}");
        }
    }
}

/// The client left before it was let in.
fn is_the_clients(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}
