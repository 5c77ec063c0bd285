//! Large buffers that come back: a fresh one of several megabytes costs as much
//! in page faults as filling it does in work.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// How many idle buffers are kept.
const MAX_IDLE_BUFFERS: usize = 8;
/// A larger buffer is given back to the system.
const MAX_IDLE_BUFFER_BYTES: usize = 32 << 20;

/// A shelf of idle buffers.
#[derive(Debug, Default)]
pub(super) struct BufferPool {
    idle: Mutex<Vec<Vec<u8>>>,
}

impl BufferPool {
    /// An empty buffer with room for this many bytes.
    pub(super) fn take(&self, capacity: usize) -> Vec<u8> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut buffer = idle.unwrap_or_default();
        buffer.clear();
        buffer.reserve(capacity);
        buffer
    }

    /// Turns a filled buffer into bytes that return it when the last reader is done.
    pub(super) fn freeze(self: &Arc<Self>, buffer: Vec<u8>) -> Bytes {
        Bytes::from_owner(Loan { buffer, pool: Arc::clone(self) })
    }

    fn give_back(&self, buffer: Vec<u8>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE_BUFFERS && buffer.capacity() <= MAX_IDLE_BUFFER_BYTES {
            idle.push(buffer);
        }
    }
}

struct Loan {
    buffer: Vec<u8>,
    pool: Arc<BufferPool>,
}

impl AsRef<[u8]> for Loan {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.pool.give_back(std::mem::take(&mut self.buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_when_its_last_reader_is_done() {
        let pool = Arc::new(BufferPool::default());
        let mut buffer = pool.take(1_000);
        buffer.extend_from_slice(b"abc");
        let address = buffer.as_ptr();
        let bytes = pool.freeze(buffer);
        let slice = bytes.slice(1..);
        drop(bytes);
        assert!(pool.idle.lock().unwrap().is_empty());
        assert_eq!(&slice[..], b"bc");
        drop(slice);
        let again = pool.take(10);
        assert_eq!((again.as_ptr(), again.len()), (address, 0));
    }

    #[test]
    fn huge_and_surplus_buffers_are_not_kept() {
        let pool = Arc::new(BufferPool::default());
        drop(pool.freeze(Vec::with_capacity(MAX_IDLE_BUFFER_BYTES + 1)));
        assert!(pool.idle.lock().unwrap().is_empty());
        for _ in 0..=MAX_IDLE_BUFFERS {
            pool.give_back(Vec::with_capacity(1));
        }
        assert_eq!(pool.idle.lock().unwrap().len(), MAX_IDLE_BUFFERS);
    }
}
