//! The methods, one call each; `batch` has those that make many.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use windlass_core::chain::ChainId;
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, Header, LogFilter};

use super::batch::BatchSize;
use super::endpoint::Endpoint;
use super::envelope::{Answer, ErrorObject, Request};
use super::error::RpcError;
use super::header::{self, ReadHeader, TagParam};
use super::hex::{Hex, Storable};
use super::log::{Blocks, Query, RpcLog};
use super::log_list::LogList;
use super::range_limit::{self, Complaint, RangeAdvice, RangeLimit};
use super::receipt::RpcReceipt;
use super::transport::{
    CallIds, MAX_BODY_BYTES, MAX_HEADER_BODY_BYTES, MAX_RANGE_BODY_BYTES, MAX_SMALL_BODY_BYTES, Outgoing,
    REQUEST_TIMEOUT, Reply, Transport,
};

/// JSON-RPC's code for "too many requests".
const RATE_LIMIT_CODE: i64 = 429;
/// A code for any limit that is exceeded: requests, results or blocks.
const LIMIT_EXCEEDED_CODE: i64 = -32005;
/// Words by which they say it under another code.
const RATE_LIMIT_WORDS: [&str; 4] =
    ["rate limit", "too many requests", "request limit", "compute units per second"];

/// HTTP's way of saying so.
const TOO_MANY_REQUESTS: u16 = 429;
/// HTTP's way of saying that a request asks for too much.
const PAYLOAD_TOO_LARGE: u16 = 413;

/// What is sent where a method wants nothing: an empty list, since some nodes refuse `null`.
pub(super) const NO_PARAMS: [(); 0] = [];

/// A client for one endpoint. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct EvmRpc {
    transport: Transport,
    /// The id of the last call.
    last_id: Arc<AtomicU64>,
    pub(super) batch_size: Arc<BatchSize>,
}

impl fmt::Debug for EvmRpc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EvmRpc").field(&self.place()).finish()
    }
}

impl EvmRpc {
    /// A client with the usual time limit. The process must have a TLS provider installed.
    pub fn new(url: &str) -> Result<Self, RpcError> {
        Self::with_timeout(url, REQUEST_TIMEOUT)
    }

    /// A client whose requests take at most `timeout` each.
    pub fn with_timeout(url: &str, timeout: Duration) -> Result<Self, RpcError> {
        let transport = Transport::new(Endpoint::parse(url)?, timeout)?;
        Ok(Self { transport, last_id: Arc::default(), batch_size: Arc::default() })
    }

    /// Scheme, host and port: what may be printed.
    pub fn place(&self) -> &str {
        &self.transport.endpoint.place
    }

    /// Which chain the endpoint serves.
    pub async fn chain_id(&self) -> Result<ChainId, RpcError> {
        let method = "eth_chainId";
        let Hex(id) = self.required::<Hex<u64>>(method, NO_PARAMS).await?;
        ChainId::new(id).map_err(|error| self.malformed(method, &error))
    }

    /// The head's height.
    pub async fn block_number(&self) -> Result<u64, RpcError> {
        self.required::<Hex<Storable>>("eth_blockNumber", NO_PARAMS).await.map(|Hex(number)| number.0)
    }

    /// A block's header; `None` when the node does not have it.
    pub async fn header(&self, block: BlockTag) -> Result<Option<Header>, RpcError> {
        let (method, params) = header::call(block);
        let found: Option<ReadHeader> = self.call(method, params).await?;
        Ok(found.map(|ReadHeader(header)| header))
    }

    /// The logs of a range of blocks, in the order the node gives them.
    pub async fn logs(&self, range: BlockRange, filter: &LogFilter) -> Result<Vec<RpcLog>, RpcError> {
        let method = "eth_getLogs";
        // What one block holds cannot be asked for in smaller pieces.
        let limit_bytes = if range.from == range.to { MAX_BODY_BYTES } else { MAX_RANGE_BODY_BYTES };
        let query = (Query::new(Blocks::Range(range), filter),);
        let logs: Option<LogList> = self.bounded_call(method, query, limit_bytes).await?;
        logs.map(|LogList(logs)| logs).ok_or_else(|| self.malformed(method, &"there is no result"))
    }

    /// The logs of one block, whichever fork it is on.
    pub async fn logs_by_hash(&self, block: B256, filter: &LogFilter) -> Result<Vec<RpcLog>, RpcError> {
        let query = (Query::new(Blocks::Hash(block), filter),);
        self.required("eth_getLogs", query).await.map(|LogList(logs)| logs)
    }

    /// The code at an address; empty when there is no contract.
    pub async fn code(&self, address: Address, at: BlockTag) -> Result<Bytes, RpcError> {
        let Hex(code) = self.required::<Hex<Vec<u8>>>("eth_getCode", (address, TagParam(at))).await?;
        Ok(code.into())
    }

    /// The receipts of a block of the canonical chain; `None` when the node does not have them.
    pub(crate) async fn receipts(&self, number: u64) -> Result<Option<Vec<RpcReceipt>>, RpcError> {
        self.call("eth_getBlockReceipts", (TagParam(BlockTag::Number(number)),)).await
    }

    /// The balance of an address, in the chain's smallest unit.
    pub async fn balance(&self, address: Address, at: BlockTag) -> Result<U256, RpcError> {
        self.required("eth_getBalance", (address, TagParam(at))).await
    }

    /// Any method; the result as it came, `null` included.
    pub async fn raw(&self, method: &str, params: &RawValue) -> Result<Box<RawValue>, RpcError> {
        let (id, reply) = self.send(method, params, body_limit(method)).await?;
        let result: Option<&RawValue> = self.read(method, id, &reply)?;
        Ok(result.map_or_else(|| RawValue::NULL.to_owned(), ToOwned::to_owned))
    }

    pub(super) async fn required<T: for<'a> Deserialize<'a>>(
        &self,
        method: &str,
        params: impl Serialize,
    ) -> Result<T, RpcError> {
        self.call(method, params).await?.ok_or_else(|| self.malformed(method, &"there is no result"))
    }

    pub(super) async fn call<T: for<'a> Deserialize<'a>>(
        &self,
        method: &str,
        params: impl Serialize,
    ) -> Result<Option<T>, RpcError> {
        self.bounded_call(method, params, body_limit(method)).await
    }

    /// A call whose answer may be no longer than that.
    pub(super) async fn bounded_call<T: for<'a> Deserialize<'a>>(
        &self,
        method: &str,
        params: impl Serialize,
        limit_bytes: usize,
    ) -> Result<Option<T>, RpcError> {
        let (id, reply) = self.send(method, params, limit_bytes).await?;
        self.read(method, id, &reply)
    }

    async fn send(
        &self,
        method: &str,
        params: impl Serialize,
        limit_bytes: usize,
    ) -> Result<(u64, Reply), RpcError> {
        let ids = self.take_ids(1);
        let body = serde_json::to_vec(&Request::new(ids.first, method, params))
            .map_err(|error| self.malformed(method, &error))?;
        Ok((ids.first, self.transport.send(Outgoing { ids, body, limit_bytes }).await?))
    }

    pub(super) async fn transmit(&self, message: Outgoing) -> Result<Reply, RpcError> {
        self.transport.send(message).await
    }

    /// Ids that no other call has.
    pub(super) fn take_ids(&self, count: u64) -> CallIds {
        let first = self.last_id.fetch_add(count, Ordering::Relaxed).wrapping_add(1);
        CallIds { first, count }
    }

    /// A call some of whose errors are answers: `read` is given the error, and its words
    /// without this endpoint's keys.
    pub(super) async fn call_or<T: for<'a> Deserialize<'a>, A>(
        &self,
        method: &str,
        params: impl Serialize,
        read: impl FnOnce(&ErrorObject<'_>, &str) -> Option<A>,
    ) -> Result<Result<T, A>, RpcError> {
        let (id, reply) = self.send(method, params, body_limit(method)).await?;
        match self.open(method, id, &reply)? {
            Ok(result) => result.map(Ok).ok_or_else(|| self.malformed(method, &"there is no result")),
            Err(error) => match read(&error, &self.transport.endpoint.scrub(&error.message)) {
                Some(answer) => Ok(Err(answer)),
                None => Err(self.refused(method, &reply, &error)),
            },
        }
    }

    fn read<'a, T: Deserialize<'a>>(
        &self,
        method: &str,
        id: u64,
        reply: &'a Reply,
    ) -> Result<Option<T>, RpcError> {
        self.open(method, id, reply)?.map_err(|error| self.refused(method, reply, &error))
    }

    /// Opens an answer: the result, or the error that is its content. An error in the body
    /// says more than the status does, so it goes first.
    fn open<'a, T: Deserialize<'a>>(
        &self,
        method: &str,
        id: u64,
        reply: &'a Reply,
    ) -> Result<Result<Option<T>, ErrorObject<'a>>, RpcError> {
        // UTF-8 is checked once for the whole body: string by string it costs a third of the parse.
        let answer = simdutf8::basic::from_utf8(&reply.body)
            .map_err(serde::de::Error::custom)
            .and_then(serde_json::from_str::<Answer<'a, T>>);
        match answer {
            Ok(answer) if reply.is_success() && !answer.answers(id) => {
                Err(self.malformed(method, &"it bears another call's id"))
            }
            Ok(Answer { error: Some(error), .. }) => Ok(Err(error)),
            _ if !reply.is_success() => Err(self.status(method, reply)),
            Ok(answer) => Ok(Ok(answer.result)),
            Err(error) => Err(self.malformed(method, &error)),
        }
    }

    /// What a status without a reason means.
    pub(super) fn status(&self, method: &str, reply: &Reply) -> RpcError {
        let place = self.place().to_owned();
        match reply.status {
            TOO_MANY_REQUESTS => RpcError::RateLimited {
                place,
                message: "status 429".to_owned(),
                code: None,
                is_certain: true,
                retry_after: reply.retry_after,
            },
            PAYLOAD_TOO_LARGE if method == "eth_getLogs" => RpcError::RangeTooLarge {
                place,
                message: "status 413".to_owned(),
                advice: RangeAdvice::Smaller,
                limit: RangeLimit::Results(None),
            },
            status => RpcError::Status { place, status },
        }
    }

    pub(super) fn refused(&self, method: &str, reply: &Reply, error: &ErrorObject<'_>) -> RpcError {
        let message = self.transport.endpoint.scrub(&error.message);
        let data = error.data.map_or("", RawValue::get);
        let place = self.place().to_owned();
        if method == "eth_getLogs"
            && let Some(Complaint { advice, limit }) = range_limit::read(&format!("{} {data}", error.message))
        {
            return RpcError::RangeTooLarge { place, message, advice, limit };
        }
        let words = message.to_lowercase();
        let is_certain = reply.status == TOO_MANY_REQUESTS
            || error.code == RATE_LIMIT_CODE
            || RATE_LIMIT_WORDS.iter().any(|phrase| words.contains(phrase));
        if is_certain || error.code == LIMIT_EXCEEDED_CODE {
            let (code, retry_after) = (Some(error.code), reply.retry_after);
            return RpcError::RateLimited { place, message, code, is_certain, retry_after };
        }
        RpcError::Refused { place, method: method.to_owned(), code: error.code, message }
    }

    pub(super) fn malformed(&self, method: &str, reason: &dyn fmt::Display) -> RpcError {
        RpcError::Malformed {
            place: self.place().to_owned(),
            method: method.to_owned(),
            reason: self.transport.endpoint.scrub(&reason.to_string()),
        }
    }
}

/// How long an answer may be: only what holds many logs, receipts or transactions may be large.
fn body_limit(method: &str) -> usize {
    match method {
        "eth_getLogs" | "eth_getBlockReceipts" | "eth_getTransactionReceipt" => MAX_BODY_BYTES,
        "eth_getBlockByNumber" | "eth_getBlockByHash" => MAX_HEADER_BODY_BYTES,
        _ => MAX_SMALL_BODY_BYTES,
    }
}
