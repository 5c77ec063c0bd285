//! JSON-RPC over WebSocket: calls, batches and subscriptions on one connection.
//!
//! One task serves one connection, call by call. A client that does not read what
//! it subscribed to is cut off, as soon as it is a whole channel behind or a write
//! takes too long.

use std::{sync::Arc, time::Duration};

use axum::{
    Error,
    extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code},
};
use bytes::Bytes;
use tokio::sync::broadcast::error::RecvError;

use super::{
    dispatch::Dispatcher,
    envelope::{Call, Payload},
    listener::ResetSwitch,
    subscriptions::Subscriptions,
};
use crate::{
    faults::{Answer, Fate, WireFault},
    node::RpcError,
};

/// How long a client may take to accept a message.
const MAX_WRITE_MS: u64 = 10_000;

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
}

/// Serves one connection until it ends.
pub(super) async fn serve(socket: WebSocket, dispatcher: Arc<Dispatcher>, reset: ResetSwitch) {
    let subscriptions = Subscriptions::default();
    let mut connection = Connection { socket, dispatcher, subscriptions };
    loop {
        match connection.step().await {
            Ok(()) => {}
            Err(End::Gone) => return,
            Err(End::Reset) => return reset.trip(),
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
        match message {
            Some(Ok(Message::Text(text))) => self.call(Bytes::from(text)).await,
            Some(Ok(Message::Binary(bytes))) => self.call(bytes).await,
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(()),
            Some(Ok(Message::Close(_)) | Err(_)) | None => Err(End::Gone),
        }
    }

    async fn call(&mut self, text: Bytes) -> Result<(), End> {
        let dispatcher = Arc::clone(&self.dispatcher);
        let admitted = dispatcher.admit(Payload::read(&text));
        dispatcher.wait(admitted.delay()).await;
        let refusal = match admitted.wire().map(|fault| self.suffer(fault)) {
            None => None,
            Some(Suffered::Refused(error)) => Some(error),
            Some(Suffered::Silenced) => return Ok(()),
            Some(Suffered::CutOff) => return Err(End::Reset),
        };
        let (reply, _) = dispatcher.reply(&admitted, |call, fate| match &refusal {
            Some(error) => Answer::from(Err(error.clone())),
            None => self.answer(call, fate),
        });
        if reply.is_empty() {
            return Ok(());
        }
        let text = Utf8Bytes::try_from(reply.into_bytes()).map_err(|_| End::Gone)?;
        self.send(Message::Text(text)).await
    }

    /// What stands for a fault of HTTP where there is no HTTP.
    fn suffer(&self, fault: WireFault) -> Suffered {
        self.dispatcher.happened(fault.kind());
        match fault {
            WireFault::TooManyRequests { .. } => Suffered::Refused(RpcError::new(429, "Too Many Requests")),
            WireFault::ServerError { .. } => Suffered::Refused(RpcError::new(-32603, "internal error")),
            WireFault::TimeOut { .. } => Suffered::Silenced,
            WireFault::Reset | WireFault::Truncate => Suffered::CutOff,
        }
    }

    fn answer(&mut self, call: &Call<'_>, fate: &Fate) -> Answer {
        match call.method.as_ref() {
            "eth_subscribe" => self.subscriptions.subscribe(&*self.dispatcher.node, call.params).into(),
            "eth_unsubscribe" => self.subscriptions.unsubscribe(call.params).into(),
            _ => self.dispatcher.answer(call, fate),
        }
    }

    async fn send(&mut self, message: Message) -> Result<(), End> {
        let limit = Duration::from_millis(MAX_WRITE_MS);
        match tokio::time::timeout(limit, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(End::Gone),
            Err(_) => Err(End::Reset),
        }
    }
}

fn farewell(code: u16, reason: &'static str) -> CloseFrame {
    CloseFrame { code, reason: Utf8Bytes::from_static(reason) }
}
