//! A proxy that breaks a connection at the n-th message of its client, so that
//! every point at which an operation can lose its connection is met for certain.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// How a connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The message never arrives.
    Before,
    /// The message arrives, its answer does not.
    After,
}

/// A proxy in front of the server.
pub(crate) struct Proxy {
    pub(crate) address: String,
    fuse: Arc<Fuse>,
}

/// How many messages are left until the cut; negative when none is wanted.
struct Fuse {
    left: AtomicI64,
    after: AtomicI64,
    spoil: AtomicBool,
    shut: AtomicBool,
}

impl Proxy {
    pub(crate) async fn start(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let fuse = Arc::new(Fuse {
            left: AtomicI64::new(-1),
            after: AtomicI64::new(0),
            spoil: AtomicBool::new(false),
            shut: AtomicBool::new(false),
        });
        let shared = fuse.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if shared.shut.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(&server).await else { continue };
                // Small messages are to arrive now, not when more have gathered.
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                tokio::spawn(relay(client, server, shared.clone()));
            }
        });
        Self { address, fuse }
    }

    /// Breaks the connection that sends the n-th message from now, counted from one.
    pub(crate) fn arm(&self, message: i64, cut: Cut) {
        self.fuse.after.store(i64::from(cut == Cut::After), Ordering::SeqCst);
        self.fuse.left.store(message, Ordering::SeqCst);
    }

    /// Makes nonsense of the next BEGIN, so that the server refuses it and nothing else.
    pub(crate) fn spoil_begin(&self) {
        self.fuse.spoil.store(true, Ordering::SeqCst);
    }

    /// Whether a BEGIN was made nonsense of.
    pub(crate) fn has_spoilt(&self) -> bool {
        !self.fuse.spoil.swap(false, Ordering::SeqCst)
    }

    /// Lets new connections pass, or does not; those that there are stay.
    pub(crate) fn let_in(&self, is_open: bool) {
        self.fuse.shut.store(!is_open, Ordering::SeqCst);
    }

    /// Takes a wish back; whether it had come true.
    pub(crate) fn disarm(&self) -> bool {
        self.fuse.left.swap(-1, Ordering::SeqCst) <= 0
    }
}

impl Fuse {
    fn burn(&self) -> Option<Cut> {
        let before =
            self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| (left > 0).then(|| left - 1));
        match (before, self.after.load(Ordering::SeqCst)) {
            (Ok(1), 0) => Some(Cut::Before),
            (Ok(1), _) => Some(Cut::After),
            _ => None,
        }
    }
}

async fn relay(client: TcpStream, server: TcpStream, fuse: Arc<Fuse>) {
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = server.into_split();
    let answers = tokio::spawn(pass_answers(server_read, client_write));
    let _ = pass_messages(client_read, server_write, &fuse).await;
    // Ends the client's side at once; the server finds out when it next reads.
    answers.abort();
}

async fn pass_answers(mut server: OwnedReadHalf, mut client: OwnedWriteHalf) {
    let _ = tokio::io::copy(&mut server, &mut client).await;
}

/// Passes messages on, whole ones: the first has a length only, the others a kind as well.
async fn pass_messages(
    mut client: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    fuse: &Fuse,
) -> std::io::Result<()> {
    let mut header = vec![0; 4];
    loop {
        client.read_exact(&mut header).await?;
        let length = u32::from_be_bytes(header[header.len() - 4..].try_into().expect("four bytes"));
        let mut body = vec![0; length as usize - 4];
        client.read_exact(&mut body).await?;
        if header[0] == b'Q' && body.starts_with(b"BEGIN") && fuse.spoil.swap(false, Ordering::SeqCst) {
            body[..5].copy_from_slice(b"bogus");
        }
        // Passwords are no statements: a client that is refused them would not come again.
        let counts = header.len() == 5 && header[0] != b'p';
        let cut = if counts { fuse.burn() } else { None };
        if cut == Some(Cut::Before) {
            return Ok(());
        }
        server.write_all(&header).await?;
        server.write_all(&body).await?;
        if cut == Some(Cut::After) {
            return Ok(());
        }
        header.resize(5, 0);
    }
}
