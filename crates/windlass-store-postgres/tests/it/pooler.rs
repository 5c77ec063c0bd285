//! A pooler that shares a session between transactions, as far as it takes to be found out:
//! the session in which a lock was taken is given to the next connection that asks which
//! session it has. Connections that prepare statements keep their session.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

/// What a client sends to ask which session it has.
const WHICH: &[u8] = b"SELECT pg_backend_pid()\0";
/// What a client sends to lock for as long as its session lasts.
const LOCK: &[u8] = b"SELECT pg_advisory_lock(";

type Session = Arc<Mutex<TcpStream>>;

/// A pooler in front of the server.
pub(crate) struct Pooler {
    pub(crate) address: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// The session in which a lock was taken.
    locked: Mutex<Option<Session>>,
    has_shared: AtomicBool,
}

impl Pooler {
    pub(crate) async fn start(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let state = Arc::new(State::default());
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(&server).await else { continue };
                let _ = (client.set_nodelay(true), server.set_nodelay(true));
                tokio::spawn(serve(client, server, shared.clone()));
            }
        });
        Self { address, state }
    }

    /// Whether the session with the lock was given to another connection.
    pub(crate) fn has_shared(&self) -> bool {
        self.state.has_shared.load(Ordering::SeqCst)
    }
}

async fn serve(mut client: TcpStream, mut server: TcpStream, state: Arc<State>) -> io::Result<()> {
    let mut message = read_message(&mut client, false).await?;
    while !exchange(&mut client, &mut server, &message).await? {
        message = read_message(&mut client, true).await?;
    }
    let own: Session = Arc::new(Mutex::new(server));
    loop {
        let message = read_message(&mut client, true).await?;
        if message[0] != b'Q' {
            let mut server = own.lock().await;
            server.write_all(&message).await?;
            return copy_bidirectional(&mut client, &mut *server).await.map(drop);
        }
        let session = state.session_for(&message[5..], &own).await;
        exchange(&mut client, &mut *session.lock().await, &message).await?;
    }
}

impl State {
    /// The session that a statement is run in.
    async fn session_for(&self, statement: &[u8], own: &Session) -> Session {
        let mut locked = self.locked.lock().await;
        if statement.starts_with(LOCK) {
            *locked = Some(own.clone());
        }
        match &*locked {
            Some(session) if statement == WHICH => {
                self.has_shared.store(true, Ordering::SeqCst);
                session.clone()
            }
            _ => own.clone(),
        }
    }
}

/// A whole message: the first has a length only, the others a kind as well.
async fn read_message(from: &mut TcpStream, has_kind: bool) -> io::Result<Vec<u8>> {
    let mut message = vec![0; if has_kind { 5 } else { 4 }];
    from.read_exact(&mut message).await?;
    let start = message.len();
    let length = u32::from_be_bytes(message[start - 4..].try_into().expect("four bytes"));
    message.resize(start + length as usize - 4, 0);
    from.read_exact(&mut message[start..]).await?;
    Ok(message)
}

/// Passes a message on, and its answer back; whether the server is ready for the next
/// statement, and does not want to know who asks.
async fn exchange(client: &mut TcpStream, server: &mut TcpStream, message: &[u8]) -> io::Result<bool> {
    server.write_all(message).await?;
    loop {
        let answer = read_message(server, true).await?;
        client.write_all(&answer).await?;
        match answer[0] {
            b'Z' => return Ok(true),
            // Everything but "you are in" and the end of an exchange wants another message.
            b'R' if !matches!(answer[8], 0 | 12) => return Ok(false),
            _ => {}
        }
    }
}
