//! A connection that can be reset: cut off with a TCP RST instead of a close.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// Cuts one connection off.
#[derive(Debug, Clone, Default)]
pub(super) struct ResetSwitch(Arc<AtomicBool>);

impl ResetSwitch {
    /// From now on, reading and writing fail, and closing resets.
    pub(super) fn trip(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn check(&self) -> io::Result<()> {
        if self.0.load(Ordering::Acquire) {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }
}

/// A connection that fails once its switch is tripped.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    reset: ResetSwitch,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, reset: ResetSwitch) -> Self {
        // Answers are written whole; waiting to fill a packet only delays their end.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "cannot switch delays off");
        }
        Self { stream, reset }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.reset.check().is_err()
            && let Err(error) = self.stream.set_zero_linger()
        {
            tracing::debug!(%error, "cannot reset a connection");
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.reset.check()?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.reset.check()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.reset.check()?;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.reset.check()?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.reset.check()?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
