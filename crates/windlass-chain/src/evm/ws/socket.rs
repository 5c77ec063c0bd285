//! A WebSocket to an endpoint that notices when the other side is gone.
//!
//! Whenever nothing was heard for a while a ping goes out; whenever even that is not
//! answered, the socket is over. Reading and writing are bounded in size and time.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use crate::evm::endpoint::Endpoint;
use crate::evm::error::RpcError;
use crate::evm::transport::{CONNECT_TIMEOUT, MAX_BODY_BYTES, innermost};

/// How long nothing may be heard before a ping goes out, and once more before the end.
pub(super) const PING_AFTER: Duration = Duration::from_secs(20);
/// How long a message may take to be written.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// An open socket.
pub(super) struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    place: String,
    heard: Instant,
    ping_after: Duration,
    pinged: bool,
}

impl Socket {
    /// Connects, within a time limit.
    pub(super) async fn connect(endpoint: &Endpoint, ping_after: Duration) -> Result<Self, RpcError> {
        let broken = |error: &tungstenite::Error| RpcError::Connection {
            place: endpoint.place.clone(),
            reason: endpoint.scrub(&innermost(error)),
            was_connected: false,
        };
        let request = request(endpoint).map_err(|error| broken(&error))?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_BODY_BYTES))
            .max_frame_size(Some(MAX_BODY_BYTES));
        let connecting = connect_async_with_config(request, Some(config), true);
        match timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(Ok((stream, _))) => {
                let place = endpoint.place.clone();
                Ok(Self { stream, place, heard: Instant::now(), ping_after, pinged: false })
            }
            Ok(Err(error)) => Err(broken(&error)),
            Err(_) => Err(RpcError::Connection {
                place: endpoint.place.clone(),
                reason: format!("no connection within {} ms", CONNECT_TIMEOUT.as_millis()),
                was_connected: false,
            }),
        }
    }

    /// Sends a text.
    pub(super) async fn send(&mut self, text: Vec<u8>) -> Result<(), RpcError> {
        let text = Utf8Bytes::try_from(text).map_err(|_| self.over("a call was not text"))?;
        self.write(Message::Text(text)).await
    }

    /// The next message that says something. May be dropped while it waits.
    pub(super) async fn next(&mut self) -> Result<Bytes, RpcError> {
        loop {
            let silent_at = self.heard + self.ping_after * if self.pinged { 2 } else { 1 };
            match tokio::time::timeout_at(silent_at, self.stream.next()).await {
                Ok(Some(Ok(message))) => {
                    (self.heard, self.pinged) = (Instant::now(), false);
                    match message {
                        Message::Text(text) => return Ok(text.into()),
                        Message::Binary(bytes) => return Ok(bytes),
                        Message::Close(_) => return Err(self.over("the other side closed it")),
                        Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
                    }
                }
                Ok(Some(Err(error))) => return Err(self.over(&innermost(&error))),
                Ok(None) => return Err(self.over("it ended")),
                Err(_) if self.pinged => return Err(self.over("it fell silent")),
                Err(_) => {
                    self.pinged = true;
                    self.write(Message::Ping(Bytes::new())).await?;
                }
            }
        }
    }

    async fn write(&mut self, message: Message) -> Result<(), RpcError> {
        match timeout(WRITE_TIMEOUT, self.stream.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(self.over(&innermost(&error))),
            Err(_) => Err(self.over("it takes no more")),
        }
    }

    fn over(&self, reason: &str) -> RpcError {
        let reason = format!("the socket is over: {reason}");
        RpcError::Connection { place: self.place.clone(), reason, was_connected: true }
    }
}

/// The opening request; a user part of the URL becomes what it means.
fn request(endpoint: &Endpoint) -> Result<Request, tungstenite::Error> {
    let mut request = endpoint.url.as_str().into_client_request()?;
    let (user, password) = endpoint.credentials();
    if !user.is_empty() || !password.is_empty() {
        let value = format!("Basic {}", BASE64.encode(format!("{user}:{password}")));
        let mut value = HeaderValue::from_str(&value).map_err(tungstenite::http::Error::from)?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    Ok(request)
}
