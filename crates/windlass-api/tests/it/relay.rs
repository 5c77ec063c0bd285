//! A relay in front of a server, to take the server away and to give it back.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Passes bytes on between its clients and a server.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    server: String,
    /// Ends the listener and every connection.
    open: CancellationToken,
    /// Whether bytes are passed on.
    flows: watch::Sender<bool>,
}

impl Relay {
    pub(crate) async fn start(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let relay = Self { address, server, open: CancellationToken::new(), flows: watch::Sender::new(true) };
        relay.serve(listener);
        relay
    }

    /// Closes the port and every connection: the next client is refused.
    pub(crate) fn close(&self) {
        self.open.cancel();
    }

    /// Listens again on the same port.
    pub(crate) async fn reopen(&mut self) {
        // The listener of before may take a moment to be dropped.
        let listener = loop {
            match TcpListener::bind(self.address).await {
                Ok(listener) => break listener,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        self.open = CancellationToken::new();
        self.serve(listener);
    }

    /// Passes nothing on, and keeps every connection open: the server is silent.
    pub(crate) fn hold(&self) {
        self.flows.send_replace(false);
    }

    /// Passes bytes on again.
    pub(crate) fn release(&self) {
        self.flows.send_replace(true);
    }

    fn serve(&self, listener: TcpListener) {
        let (open, flows, server) = (self.open.clone(), self.flows.subscribe(), self.server.clone());
        tokio::spawn(self.open.clone().run_until_cancelled_owned(async move {
            while let Ok((client, _)) = listener.accept().await {
                let passing = pass(client, server.clone(), flows.clone());
                tokio::spawn(open.clone().run_until_cancelled_owned(passing));
            }
        }));
    }
}

/// Passes the bytes of one connection on. One that was open when the server fell silent is
/// lost with it.
async fn pass(mut client: TcpStream, server: String, mut flows: watch::Receiver<bool>) {
    if flows.wait_for(|flows| *flows).await.is_err() {
        return;
    }
    let Ok(mut server) = TcpStream::connect(&server).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    tokio::select! {
        _ = copy_bidirectional(&mut client, &mut server) => return,
        _ = flows.wait_for(|flows| !*flows) => {}
    }
    let _ = flows.wait_for(|flows| *flows).await;
}
