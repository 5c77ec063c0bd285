//! A connection's bytes, with two things that hyper leaves to others.
//!
//! - **What hyper refuses by itself** (a target or a head that is too long, bytes that are
//!   no request) has an empty body. Such a refusal never reaches a handler, so it is
//!   recognised on its way out, and sent with the body that every other refusal has.
//! - **A reader that does not read** would hold its connection for ever: once nothing
//!   could be written for so long, writing fails and the connection ends.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use crate::error::{ApiError, ErrorCode};

/// How many bytes hyper's own refusals have at most.
const MAX_REFUSAL_BYTES: usize = 512;

/// A connection.
pub(crate) struct Wire<S> {
    stream: S,
    stall: Duration,
    /// Runs while nothing can be written.
    stalled: Option<Pin<Box<Sleep>>>,
    /// What was taken over and is still to be written.
    held: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    /// A connection on which writing fails after such a stall.
    pub(crate) const fn new(stream: S, stall: Duration) -> Self {
        Self { stream, stall, stalled: None, held: Vec::new() }
    }

    fn write_some(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stall = self.stall;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(stall)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client reads nothing")))
    }

    /// Writes what was taken over.
    fn write_held(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.held.is_empty() {
            let held = std::mem::take(&mut self.held);
            let written = self.write_some(context, &held);
            self.held = held;
            match ready!(written)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => drop(self.held.drain(..written)),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.write_held(context))?;
        match worded(bytes) {
            None => self.write_some(context, bytes),
            Some(worded) => {
                self.held = worded;
                Poll::Ready(Ok(bytes.len()))
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.write_held(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.write_held(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The same bytes with a body, if they end in a refusal of hyper's own. Those of
/// handlers all have a type of content.
fn worded(bytes: &[u8]) -> Option<Vec<u8>> {
    let tail = bytes.strip_suffix(b"\r\n\r\n")?;
    let tail = &tail[tail.len().saturating_sub(MAX_REFUSAL_BYTES)..];
    let begin = tail.windows(7).rposition(|window| window == b"HTTP/1.")?;
    let head = std::str::from_utf8(&tail[begin..]).ok()?;
    let is_empty = head.contains("\r\ncontent-length: 0") && !head.contains("\r\ncontent-type: ");
    let error = refusal(head.split(' ').nth(1)?).filter(|_| is_empty)?;
    let body = serde_json::to_string(&error.body()).ok()?;
    let (kind, length) = ("content-type: application/json", body.len());
    let head = head.replace("content-length: 0", &format!("{kind}\r\ncontent-length: {length}"));
    let before = &bytes[..bytes.len() - 4 - (tail.len() - begin)];
    Some([before, head.as_bytes(), b"\r\n\r\n", body.as_bytes()].concat())
}

/// What a status of hyper's own means.
fn refusal(status: &str) -> Option<ApiError> {
    let (code, told) = match status {
        "400" => (ErrorCode::InvalidRequest, "this is no request of HTTP/1.1"),
        "414" => return Some(ApiError::uri_too_long()),
        "431" => (ErrorCode::HeadersTooLarge, "the request has too many headers, or too long ones"),
        _ => return None,
    };
    Some(ApiError::new(code, told))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const STALL: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn writing_ends_when_nobody_reads() {
        let (server, mut client) = duplex(16);
        let mut wire = Wire::new(server, STALL);
        let writing = tokio::spawn(async move { wire.write_all(&[7; 100]).await });
        client.read_exact(&mut [0; 10]).await.unwrap();
        assert_eq!(writing.await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_is_slow_is_served() {
        let (server, mut client) = duplex(16);
        let mut wire = Wire::new(server, STALL);
        let writing = tokio::spawn(async move { wire.write_all(&[7; 100]).await });
        for _ in 0..10 {
            tokio::time::advance(STALL / 2).await;
            client.read_exact(&mut [0; 10]).await.unwrap();
        }
        writing.await.unwrap().unwrap();
    }

    #[test]
    fn only_refusals_without_a_body_get_one() {
        let of = |text: &str| worded(text.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
        let bare =
            "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let told = of(bare).unwrap();
        assert!(told.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n"));
        assert!(told.contains("\r\ncontent-type: application/json\r\ncontent-length: "), "{told}");
        assert!(told.ends_with("\"}}"), "{told}");
        assert_eq!(
            of(&format!("HTTP/1.1 200 OK\r\n\r\nok{bare}")).unwrap(),
            format!("HTTP/1.1 200 OK\r\n\r\nok{told}")
        );
        for other in [
            "",
            "\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 414 URI Too Long\r\ncontent-length: 9\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 414 URI Too Long\r\ncontent-length: 0\r\n",
        ] {
            assert_eq!(of(other), None, "{other:?}");
        }
    }
}
