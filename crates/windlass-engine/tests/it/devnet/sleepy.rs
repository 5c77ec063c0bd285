//! A reader that falls asleep between a question and its answer, while the world goes on.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use windlass_core::chain::{Address, BlockHeader, Bytes, ChainId};
use windlass_core::event::LogEvent;
use windlass_core::reader::{BlockTag, ChainError, ChainReader, Header, LogFilter, LogSpan, Receipts};

type Dream = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Reads like the one inside; once, what happens meanwhile is run after the logs were read.
pub(super) struct SleepyReader {
    inner: Arc<dyn ChainReader>,
    dream: Mutex<Option<Dream>>,
}

impl SleepyReader {
    pub(super) fn new(inner: Arc<dyn ChainReader>, dream: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { inner, dream: Mutex::new(Some(Box::pin(dream))) }
    }
}

#[async_trait]
impl ChainReader for SleepyReader {
    async fn chain_id(&self) -> Result<ChainId, ChainError> {
        self.inner.chain_id().await
    }

    async fn header(&self, block: BlockTag) -> Result<Option<Header>, ChainError> {
        self.inner.header(block).await
    }

    async fn logs(&self, span: LogSpan, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        let logs = self.inner.logs(span, filter).await;
        let dream = self.dream.lock().expect("no panic").take();
        if let Some(dream) = dream {
            dream.await;
        }
        logs
    }

    async fn receipts(&self, block: &BlockHeader) -> Result<Option<Receipts>, ChainError> {
        self.inner.receipts(block).await
    }

    async fn code(&self, address: Address, at: BlockTag) -> Result<Bytes, ChainError> {
        self.inner.code(address, at).await
    }

    fn range_size(&self, filter: &LogFilter) -> u64 {
        self.inner.range_size(filter)
    }
}
