//! An address that outlives the server behind it: a port that was let go may be another's by then.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::served::Served;

/// A listener of its own, which passes every connection on to whoever is served there now.
pub(crate) struct Front {
    addr: SocketAddr,
    behind: watch::Sender<Option<SocketAddr>>,
}

impl Front {
    /// Passes on to this server.
    pub(crate) async fn of(served: &Served) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let addr = listener.local_addr().expect("an address");
        let (behind, look) = watch::channel(Some(served.server.addr()));
        tokio::spawn(async move {
            while let Ok((mut caller, _)) = listener.accept().await {
                // Nobody is there: the caller is hung up on.
                let Some(addr) = *look.borrow() else { continue };
                tokio::spawn(async move {
                    if let Ok(mut server) = TcpStream::connect(addr).await {
                        // Whichever side ends it, the other hears of it.
                        let _ = copy_bidirectional(&mut caller, &mut server).await;
                    }
                });
            }
        });
        Self { addr, behind }
    }

    pub(crate) fn ws_url(&self) -> String {
        format!("ws://{}", self.addr)
    }

    /// Nobody is there now.
    pub(crate) async fn stop(&self, served: Served) {
        self.behind.send_replace(None);
        served.server.stop().await;
    }

    /// Passes on to another from now on.
    pub(crate) fn pass_to(&self, served: &Served) {
        self.behind.send_replace(Some(served.server.addr()));
    }
}
