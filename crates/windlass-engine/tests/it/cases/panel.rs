//! Several endpoints behind one port: one is asked first, all of them can be compared.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use windlass_core::chain::{Address, BlockHeader, Bytes, ChainId};
use windlass_core::event::LogEvent;
use windlass_core::reader::{
    BlockTag, ChainError, ChainReader, EndpointAnswer, FalseAnswer, Header, LogFilter, LogSpan, Receipts,
};

use super::scripted::Scripted;

/// Endpoints named `a`, `b` and so on. The first whose logs are trusted is asked about logs,
/// the first that is not known to serve another chain about anything else.
pub(crate) struct Panel {
    endpoints: Vec<(String, Arc<Scripted>)>,
    named: Mutex<BTreeSet<(String, String)>>,
    set_aside: Mutex<BTreeSet<String>>,
}

impl Panel {
    pub(crate) fn new(endpoints: Vec<Arc<Scripted>>) -> Self {
        let names = (b'a'..).map(|name| char::from(name).to_string());
        Self {
            endpoints: names.zip(endpoints).collect(),
            named: Mutex::default(),
            set_aside: Mutex::default(),
        }
    }

    /// The endpoints whose answers were reported as false, with what was wrong.
    pub(crate) fn named(&self) -> BTreeSet<(String, String)> {
        self.named.lock().expect("no panic").clone()
    }

    /// The names alone.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.named().into_iter().map(|(name, _)| name).collect()
    }

    /// The endpoints that were reported to serve another chain.
    pub(crate) fn set_aside(&self) -> BTreeSet<String> {
        self.set_aside.lock().expect("no panic").clone()
    }

    fn first(&self) -> &Scripted {
        let set_aside = self.set_aside();
        let first = self.endpoints.iter().find(|(name, _)| !set_aside.contains(name));
        &first.unwrap_or(&self.endpoints[0]).1
    }

    fn trusted(&self) -> &Scripted {
        let named = self.names();
        let trusted = self.endpoints.iter().find(|(name, _)| !named.contains(name));
        trusted.map_or(self.first(), |(_, endpoint)| endpoint)
    }
}

#[async_trait]
impl ChainReader for Panel {
    async fn chain_id(&self) -> Result<ChainId, ChainError> {
        self.first().chain_id().await
    }

    async fn header(&self, block: BlockTag) -> Result<Option<Header>, ChainError> {
        self.first().header(block).await
    }

    async fn logs(&self, span: LogSpan, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        self.trusted().logs(span, filter).await
    }

    async fn receipts(&self, block: &BlockHeader) -> Result<Option<Receipts>, ChainError> {
        self.first().receipts(block).await
    }

    async fn code(&self, address: Address, at: BlockTag) -> Result<Bytes, ChainError> {
        self.first().code(address, at).await
    }

    async fn header_from_each(&self, block: BlockTag) -> Vec<EndpointAnswer<Option<Header>>> {
        let mut answers = Vec::new();
        for (name, endpoint) in &self.endpoints {
            answers.push(EndpointAnswer { endpoint: name.clone(), answer: endpoint.header(block).await });
        }
        answers
    }

    async fn logs_from_each(&self, span: LogSpan, filter: &LogFilter) -> Vec<EndpointAnswer<Vec<LogEvent>>> {
        let mut answers = Vec::new();
        for (name, endpoint) in &self.endpoints {
            answers
                .push(EndpointAnswer { endpoint: name.clone(), answer: endpoint.logs(span, filter).await });
        }
        answers
    }

    async fn receipts_from_each(&self, block: &BlockHeader) -> Vec<EndpointAnswer<Option<Receipts>>> {
        let mut answers = Vec::new();
        for (name, endpoint) in &self.endpoints {
            answers.push(EndpointAnswer { endpoint: name.clone(), answer: endpoint.receipts(block).await });
        }
        answers
    }

    fn endpoint_names(&self) -> Vec<String> {
        self.endpoints.iter().map(|(name, _)| name.clone()).collect()
    }

    fn report_false_answer(&self, endpoint: &str, answer: &FalseAnswer) {
        self.named.lock().expect("no panic").insert((endpoint.to_owned(), answer.to_string()));
    }

    fn report_other_chain(&self, endpoint: &str, _why: &str) {
        self.set_aside.lock().expect("no panic").insert(endpoint.to_owned());
    }

    fn range_size(&self, filter: &LogFilter) -> u64 {
        self.first().range_size(filter)
    }
}
