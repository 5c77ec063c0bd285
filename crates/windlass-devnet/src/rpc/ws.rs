//! JSON-RPC over WebSocket: calls, batches and subscriptions on one connection.
//!
//! One task serves one connection, call by call; what arrives during a call waits
//! its turn, and a client that leaves during one ends it. A client that does not
//! read what it subscribed to is cut off, as soon as it is a whole channel behind
//! or a write takes too long.

use std::{collections::VecDeque, pin::pin, sync::Arc, time::Duration};

use axum::{
    Error,
    extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code},
};
use bytes::Bytes;
use tokio::sync::broadcast::error::RecvError;

use super::{
    connection::{Link, MAX_FLUSH_MS},
    dispatch::Dispatcher,
    envelope::Payload,
    subscriptions::Subscriptions,
};
use crate::{faults::WireFault, node::RpcError};

/// How long a client may take to accept a message.
const MAX_WRITE_MS: u64 = 10_000;
/// How many messages are read ahead during a call; the rest waits in the socket.
const MAX_WAITING_MESSAGES: usize = 4;

/// Why a connection ends.
enum End {
    /// The client left, or cannot be written to.
    Gone,
    /// A fault wants the connection reset.
    Reset,
    /// The client is told why.
    Close(CloseFrame),
}

/// What a fault does to a message that came in.
enum Suffered {
    /// Each call is answered with this error.
    Refused(RpcError),
    /// Nothing is answered.
    Silenced,
    /// The connection is reset.
    CutOff,
}

struct Connection {
    socket: WebSocket,
    dispatcher: Arc<Dispatcher>,
    subscriptions: Subscriptions,
    /// Messages that arrived during a call, oldest first.
    waiting: VecDeque<Bytes>,
}

/// Serves one connection until it ends.
pub(super) async fn serve(socket: WebSocket, dispatcher: Arc<Dispatcher>, link: Link) {
    let (subscriptions, waiting) = (Subscriptions::default(), VecDeque::new());
    let mut connection = Connection { socket, dispatcher, subscriptions, waiting };
    loop {
        match connection.step().await {
            Ok(()) => {}
            Err(End::Gone) => return,
            Err(End::Reset) => return link.reset.trip(),
            Err(End::Close(frame)) => {
                // A client that is gone needs no farewell.
                let _ = connection.send(Message::Close(Some(frame))).await;
                return;
            }
        }
    }
}

impl Connection {
    /// Takes one message in, or one announcement out.
    async fn step(&mut self) -> Result<(), End> {
        let stop = self.dispatcher.stop.clone();
        if let Some(text) = self.waiting.pop_front().filter(|_| !stop.is_cancelled()) {
            return self.call(text).await;
        }
        tokio::select! {
            () = stop.cancelled() => Err(End::Close(farewell(close_code::AWAY, "the server stops"))),
            message = self.socket.recv() => self.receive(message).await,
            announcement = self.subscriptions.next() => match announcement {
                Ok(announcement) => {
                    for message in self.subscriptions.messages(&announcement) {
                        self.send(Message::Text(message.into())).await?;
                    }
                    Ok(())
                }
                Err(RecvError::Lagged(_)) => {
                    Err(End::Close(farewell(close_code::POLICY, "the subscriber fell behind")))
                }
                Err(RecvError::Closed) => {
                    self.subscriptions.close();
                    Ok(())
                }
            },
        }
    }

    async fn receive(&mut self, message: Option<Result<Message, Error>>) -> Result<(), End> {
        match text_of(message)? {
            Some(text) => self.call(text).await,
            None => Ok(()),
        }
    }

    async fn call(&mut self, text: Bytes) -> Result<(), End> {
        let answered = {
            let mut answer = pin!(answer(&self.dispatcher, &mut self.subscriptions, &text));
            loop {
                tokio::select! {
                    biased;
                    answered = answer.as_mut() => break answered?,
                    message = self.socket.recv(), if self.waiting.len() < MAX_WAITING_MESSAGES => {
                        self.waiting.extend(text_of(message)?);
                    }
                }
            }
        };
        match answered {
            Some(text) => self.send(Message::Text(text)).await,
            None => Ok(()),
        }
    }

    async fn send(&mut self, message: Message) -> Result<(), End> {
        let Self { socket, dispatcher, .. } = self;
        let stopped = async {
            dispatcher.stop.cancelled().await;
            tokio::time::sleep(Duration::from_millis(MAX_FLUSH_MS)).await;
        };
        tokio::select! {
            biased;
            sent = socket.send(message) => sent.map_err(|_| End::Gone),
            () = tokio::time::sleep(Duration::from_millis(MAX_WRITE_MS)) => Err(End::Reset),
            () = stopped => Err(End::Reset),
        }
    }
}

/// The calls in a message, if there are any in it.
fn text_of(message: Option<Result<Message, Error>>) -> Result<Option<Bytes>, End> {
    match message {
        Some(Ok(Message::Text(text))) => Ok(Some(Bytes::from(text))),
        Some(Ok(Message::Binary(bytes))) => Ok(Some(bytes)),
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(None),
        Some(Ok(Message::Close(_)) | Err(_)) | None => Err(End::Gone),
    }
}

/// What is sent back for a message, if anything is.
async fn answer(
    dispatcher: &Dispatcher,
    subscriptions: &mut Subscriptions,
    text: &[u8],
) -> Result<Option<Utf8Bytes>, End> {
    let admitted = dispatcher.admit(Payload::read(text));
    dispatcher.wait(admitted.delay()).await;
    let reply = match admitted.wire().map(|fault| suffer(dispatcher, fault)) {
        None => dispatcher.reply(&admitted, Some(subscriptions)).await.0,
        Some(Suffered::Refused(error)) => dispatcher.refuse(&admitted, &error),
        Some(Suffered::Silenced) => return Ok(None),
        Some(Suffered::CutOff) => return Err(End::Reset),
    };
    if reply.is_empty() {
        return Ok(None);
    }
    Utf8Bytes::try_from(reply.into_bytes()).map(Some).map_err(|_| End::Gone)
}

/// What stands for a fault of HTTP where there is no HTTP.
fn suffer(dispatcher: &Dispatcher, fault: WireFault) -> Suffered {
    dispatcher.happened(fault.kind());
    match fault {
        WireFault::TooManyRequests { .. } | WireFault::RateLimited { .. } => {
            Suffered::Refused(RpcError::new(429, "Too Many Requests"))
        }
        WireFault::ServerError { .. } => Suffered::Refused(RpcError::new(-32603, "internal error")),
        WireFault::TimeOut { .. } => Suffered::Silenced,
        WireFault::Reset | WireFault::Truncate => Suffered::CutOff,
    }
}

fn farewell(code: u16, reason: &'static str) -> CloseFrame {
    CloseFrame { code, reason: Utf8Bytes::from_static(reason) }
}
