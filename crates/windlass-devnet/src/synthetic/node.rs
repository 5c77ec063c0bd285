//! The synthetic chain as a [`Node`]: a head, a generator and a writer.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use alloy_primitives::{Address, B256, Bytes as EvmBytes, Log as EvmLog, LogData};
use alloy_rpc_types_eth::{BlockNumberOrTag, Filter, Log};
use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::sync::broadcast;

use super::{
    block,
    generator::{Generator, SyntheticLog, to_hash},
    logs::LogWriter,
    options::{FEES_COLLECTED_TOPIC, MAX_RESULTS, SyntheticOptions},
    query::{Heights, Wanted},
    recent::Recent,
};
use crate::{
    node::{Announcement, MAX_ANNOUNCEMENTS, Node, RpcError},
    rpc::params,
};

/// The most logs one call looks at when it filters by token or integrator.
const MAX_SCANNED_LOGS: u64 = 10_000_000;
/// What `eth_getCode` answers for the contract: enough to say that there is one.
const CONTRACT_CODE: &str = "\"0x00\"";

/// A chain of any length, computed when asked.
#[derive(Debug)]
pub struct SyntheticNode {
    options: SyntheticOptions,
    generator: Generator,
    writer: LogWriter,
    recent: Recent,
    head: AtomicU64,
    announcements: broadcast::Sender<Arc<Announcement>>,
}

impl SyntheticNode {
    /// A chain with this shape.
    pub fn new(options: SyntheticOptions) -> Self {
        let generator = Generator::new(&options);
        Self {
            writer: LogWriter::new(&generator, options.with_timestamp),
            head: AtomicU64::new(options.blocks),
            recent: Recent::default(),
            announcements: broadcast::channel(MAX_ANNOUNCEMENTS).0,
            generator,
            options,
        }
    }

    /// The number of the newest block.
    pub fn head(&self) -> u64 {
        self.head.load(Ordering::Acquire)
    }

    /// How many logs the chain holds, up to its head.
    pub fn log_count(&self) -> u64 {
        self.generator.logs_between(0, self.head()).end
    }

    /// The truth about the log with this number, counted from the chain's first.
    pub fn log(&self, number: u64) -> SyntheticLog {
        self.generator.log(number)
    }

    /// Adds blocks to the chain, announcing each.
    pub fn advance(&self, blocks: u64) {
        for _ in 0..blocks {
            let number = self.head.fetch_add(1, Ordering::AcqRel) + 1;
            if self.announcements.receiver_count() > 0 {
                let announcement = self.joined(number, number);
                // An error means that the last subscriber has just gone.
                let _ = self.announcements.send(Arc::new(announcement));
            }
        }
    }

    /// The hash of the block with this number, whether or not it can be seen.
    pub fn block_hash(&self, number: u64) -> B256 {
        to_hash(self.generator.block_hash(number))
    }

    /// The same chain with a new branch from a block on, up to this head.
    pub(super) fn forked(&self, from_block: u64, head: u64) -> Self {
        let options = SyntheticOptions { blocks: head, ..self.options.clone() };
        Self { recent: self.recent.below(from_block), ..Self::new(options.forked(from_block)) }
    }

    /// Makes all blocks up to this one visible.
    pub(super) fn set_head(&self, number: u64) {
        self.head.store(number, Ordering::Release);
    }

    /// What is told when these blocks join. They need not be visible yet.
    pub(super) fn joined(&self, from: u64, to: u64) -> Announcement {
        for number in from..=to {
            self.block(number);
        }
        Announcement {
            heads: (from..=to).map(|number| block::header(&self.generator, number)).collect(),
            logs: self.rpc_logs(from, to).collect(),
        }
    }

    /// What is told of the logs when these blocks leave.
    pub(super) fn left(&self, from: u64, to: u64) -> Vec<Log> {
        let mut logs: Vec<Log> = self.rpc_logs(from, to).map(|log| Log { removed: true, ..log }).collect();
        logs.sort_by_key(|log| (std::cmp::Reverse(log.block_number), log.log_index));
        logs
    }

    fn rpc_logs(&self, from: u64, to: u64) -> impl Iterator<Item = Log> {
        let logs = self.generator.logs_between(from, to);
        logs.map(|log| rpc_log(&self.log(log), self.options.with_timestamp))
    }

    fn block(&self, number: u64) -> Bytes {
        self.recent.get(number, || block::block(&self.generator, number))
    }

    fn heights(&self) -> Heights {
        let head = self.head();
        Heights { head, finalized: head.saturating_sub(self.options.finality_blocks) }
    }

    fn block_by_number(&self, params: Option<&RawValue>) -> Result<Bytes, RpcError> {
        let number = self.heights().resolve(params::required::<BlockNumberOrTag>(params, 0)?);
        self.block_or_null(Some(number), params)
    }

    fn block_by_hash(&self, params: Option<&RawValue>) -> Result<Bytes, RpcError> {
        let number = self.generator.block_of(params::required::<B256>(params, 0)?);
        self.block_or_null(number, params)
    }

    fn block_or_null(&self, number: Option<u64>, params: Option<&RawValue>) -> Result<Bytes, RpcError> {
        let is_full = params::optional::<bool>(params, 1)?.unwrap_or(false);
        Ok(match number.filter(|number| *number <= self.head()) {
            Some(number) if is_full => block::full_block(&self.generator, number, self.options.chain_id),
            Some(number) => self.block(number),
            None => Bytes::from_static(b"null"),
        })
    }

    fn code(&self, params: Option<&RawValue>) -> Result<Bytes, RpcError> {
        let address = params::required::<Address>(params, 0)?;
        let code = if address == self.generator.contract { CONTRACT_CODE } else { "\"0x\"" };
        Ok(Bytes::from_static(code.as_bytes()))
    }

    fn logs(&self, params: Option<&RawValue>) -> Result<Bytes, RpcError> {
        let filter = params::required::<Filter>(params, 0)?;
        let block_of = |hash| self.generator.block_of(hash);
        let blocks = self.heights().blocks(&filter, block_of)?;
        let (Some((from, to)), Some(wanted)) = (blocks, Wanted::of(&filter, &self.generator)) else {
            return Ok(Bytes::from_static(b"[]"));
        };
        let logs = self.generator.logs_between(from, to);
        let limit = self.options.result_limit.min(MAX_RESULTS);
        if wanted.is_all() && logs.end - logs.start > limit {
            return Err(too_many(limit, from, self.generator.place(logs.start + limit).block));
        }
        if logs.end - logs.start > MAX_SCANNED_LOGS {
            return Err(RpcError::new(-32005, "query timeout exceeded"));
        }
        self.writer
            .write(&self.generator, logs, &wanted, limit)
            .map_err(|stopped| too_many(limit, from, stopped.block))
    }
}

impl Node for SyntheticNode {
    fn call(&self, method: &str, params: Option<&RawValue>) -> Result<Bytes, RpcError> {
        match method {
            "eth_getLogs" => self.logs(params),
            "eth_blockNumber" => Ok(Bytes::from(format!("\"{:#x}\"", self.head()))),
            "eth_getBlockByNumber" => self.block_by_number(params),
            "eth_getBlockByHash" => self.block_by_hash(params),
            "eth_chainId" => Ok(Bytes::from(format!("\"{:#x}\"", self.options.chain_id))),
            "net_version" => Ok(Bytes::from(format!("\"{}\"", self.options.chain_id))),
            "eth_getCode" => self.code(params),
            "web3_clientVersion" => Ok(Bytes::from_static(b"\"windlass-devnet/synthetic\"")),
            _ => Err(RpcError::method_not_found(method)),
        }
    }

    fn announcements(&self) -> broadcast::Receiver<Arc<Announcement>> {
        self.announcements.subscribe()
    }
}

/// A refusal that names a range which works: all blocks before the one that overflowed.
fn too_many(limit: u64, from: u64, overflowed_in: u64) -> RpcError {
    let to = overflowed_in.saturating_sub(1).max(from);
    RpcError::new(
        -32005,
        format!("query returned more than {limit} results. Try with this block range [{from:#x}, {to:#x}]."),
    )
}

fn rpc_log(log: &SyntheticLog, with_timestamp: bool) -> Log {
    let topics = vec![FEES_COLLECTED_TOPIC, log.token.into_word(), log.integrator.into_word()];
    let amounts = [log.integrator_fee.to_be_bytes::<32>(), log.lifi_fee.to_be_bytes::<32>()];
    let data = LogData::new_unchecked(topics, EvmBytes::from(amounts.concat()));
    Log {
        inner: EvmLog { address: log.address, data },
        block_hash: Some(log.block_hash),
        block_number: Some(log.block_number),
        block_timestamp: with_timestamp.then_some(log.block_time_s),
        transaction_hash: Some(log.transaction_hash),
        transaction_index: Some(log.transaction_index),
        log_index: Some(log.log_index),
        removed: false,
    }
}
