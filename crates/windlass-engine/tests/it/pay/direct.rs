//! The devnet behind the port, without a wire, with whatever is to go wrong. It takes no
//! transaction that is not stored.

use std::sync::{Arc, Mutex};

use alloy_primitives::{Address, B256, Bloom, Bytes, U256};
use async_trait::async_trait;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use windlass_core::chain::{BlockHeader, BlockRef, ChainId};
use windlass_core::event::{LogEvent, Topics};
use windlass_core::payout::fees::GasFees;
use windlass_core::payout::ledger::IntentId;
use windlass_core::payout::submit::{
    Call, CallOutcome, GasEstimate, NonceTag, SendAnswer, TransactionChain, TransactionReceipt,
};
use windlass_core::payout::transaction::ReadTransaction;
use windlass_core::reader::{
    BlockTag, ChainError, ChainErrorKind, ChainReader, EndpointAnswer, FalseAnswer, Header, LogFilter,
    LogSpan, Receipts,
};
use windlass_core::store::Store;
use windlass_devnet::chain::Chain;
use windlass_devnet::node::{Node, RpcError};

use super::tricks::Tricks;

/// What happens around questions to the chain.
#[async_trait]
pub(crate) trait ChainHook: Send + Sync {
    /// Before a question; an error is answered instead.
    async fn before(&self, call: &'static str) -> Result<(), ChainError>;
    /// After it.
    async fn after(&self, call: &'static str) -> Result<(), ChainError>;
}

/// Nothing happens.
pub(crate) struct Calm;

#[async_trait]
impl ChainHook for Calm {
    async fn before(&self, _: &'static str) -> Result<(), ChainError> {
        Ok(())
    }
    async fn after(&self, _: &'static str) -> Result<(), ChainError> {
        Ok(())
    }
}

/// The chain, from the inside.
pub(crate) struct Direct {
    pub(crate) chain: Chain,
    pub(crate) hook: Arc<dyn ChainHook>,
    /// Where everything must be stored before it is sent.
    pub(crate) store: Arc<dyn Store>,
    /// Every form of every transaction that was handed over.
    pub(crate) sent: Arc<Mutex<Vec<Bytes>>>,
    pub(crate) tricks: Arc<Mutex<Tricks>>,
}

/// The name of an endpoint that tells the truth beside one that does not.
const HONEST: &str = "honest";

impl Direct {
    /// An endpoint that tells everything as it is, if there is one besides.
    fn honest_beside(&self) -> Option<Self> {
        self.tricks.lock().expect("whole").is_honest_beside.then(|| Self {
            chain: self.chain.clone(),
            hook: Arc::new(Calm),
            store: self.store.clone(),
            sent: self.sent.clone(),
            tricks: Arc::default(),
        })
    }

    /// Endpoints that tell everything as it is.
    fn honest(&self) -> Vec<(String, Self)> {
        let count = self.tricks.lock().expect("whole").honest;
        let honest = |number| {
            let (chain, store, sent) = (self.chain.clone(), self.store.clone(), self.sent.clone());
            let direct = Self { chain, hook: Arc::new(Calm), store, sent, tricks: Arc::default() };
            (format!("{HONEST}-{number}"), direct)
        };
        (0..count).map(honest).collect()
    }

    /// A block that the chain does not have, above those that it has.
    fn made_up(&self, block: BlockTag) -> Option<Header> {
        let (head, above) = (self.chain.head().number(), self.tricks.lock().expect("whole").made_up);
        let number = match block {
            BlockTag::Latest => head + above,
            BlockTag::Number(number) => number,
            _ => return None,
        };
        let hash = B256::left_padding_from(&number.to_be_bytes());
        let block = BlockHeader { number, hash, parent_hash: hash, timestamp_s: number };
        let (logs_bloom, receipts_root) = (Box::new(Bloom::ZERO), B256::ZERO);
        (number > head && number <= head + above).then_some(Header {
            block,
            logs_bloom,
            receipts_root,
            is_hash_proven: false,
        })
    }

    fn is_honest_silent(&self) -> bool {
        self.tricks.lock().expect("whole").is_honest_silent
    }

    fn ask(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let raw = to_raw_value(&params).expect("json");
        let answer = self.chain.call(method, Some(&raw))?;
        Ok(serde_json::from_slice(&answer).expect("json"))
    }

    fn told(&self, method: &str, params: Value) -> Result<Value, ChainError> {
        self.ask(method, params).map_err(refused)
    }

    /// The newest block that whoever answers the next question has.
    fn newest(&self) -> u64 {
        let lag = self.tricks.lock().expect("whole").next_lag();
        self.chain.head().number().saturating_sub(lag)
    }

    /// A block as whoever has nothing above `newest` understands it; one above is unknown there.
    fn seen_from(&self, newest: u64, block: BlockTag) -> Result<BlockTag, ChainError> {
        let behind = self.chain.head().number() - newest;
        Ok(match block {
            _ if behind == 0 => block,
            BlockTag::Latest => BlockTag::Number(newest),
            BlockTag::Safe | BlockTag::Finalized => {
                BlockTag::Number(self.chain.finalized().saturating_sub(behind))
            }
            BlockTag::Number(number) if number > newest => {
                return Err(ChainError::new(ChainErrorKind::UnknownBlock, "that block is not here yet"));
            }
            block => block,
        })
    }

    /// Whatever is sent must be stored: bytes that nobody remembers cannot be followed.
    async fn must_be_stored(&self, raw: &Bytes) {
        let read = ReadTransaction::read(raw).expect("a transaction of ours");
        let (chain, nonce) = (read.transaction.chain, read.transaction.nonce);
        let intent = IntentId { chain, signer: read.sender, nonce };
        let attempts = self.store.attempts(intent).await.expect("read");
        assert!(attempts.iter().any(|attempt| attempt.raw == *raw), "{intent} was sent before it was stored");
    }
}

fn refused(error: RpcError) -> ChainError {
    ChainError::new(ChainErrorKind::Refused, error.to_string())
}

fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().expect("a number").trim_start_matches("0x"), 16).expect("a number")
}

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).expect("a value")
}

fn tag(block: BlockTag) -> Value {
    match block {
        BlockTag::Latest => json!("latest"),
        BlockTag::Safe => json!("safe"),
        BlockTag::Finalized => json!("finalized"),
        BlockTag::Number(number) => json!(format!("{number:#x}")),
        BlockTag::Hash(hash) => json!({"blockHash": hash}),
    }
}

fn request(call: &Call) -> Value {
    json!({"from": call.from, "to": call.to, "data": call.data})
}

/// The bytes and words of a revert; anything else is trouble.
fn reverted(error: RpcError) -> Result<(Bytes, String), ChainError> {
    match &error.data {
        Some(data) if error.code == 3 => Ok((read(data), error.message)),
        _ => Err(refused(error)),
    }
}

fn log_of(chain: ChainId, log: &Value) -> LogEvent {
    let topics: Vec<B256> = read(&log["topics"]);
    LogEvent {
        chain,
        block: BlockRef { number: number(&log["blockNumber"]), hash: read(&log["blockHash"]) },
        log_index: u32::try_from(number(&log["logIndex"])).expect("small"),
        timestamp_s: log.get("blockTimestamp").filter(|at| !at.is_null()).map_or(0, number),
        transaction_hash: read(&log["transactionHash"]),
        address: read(&log["address"]),
        topics: Topics::new(&topics).expect("four at most"),
        data: read(&log["data"]),
    }
}

#[async_trait]
impl ChainReader for Direct {
    async fn chain_id(&self) -> Result<ChainId, ChainError> {
        Ok(ChainId::new(self.chain.chain_id()).expect("an id"))
    }

    async fn header(&self, block: BlockTag) -> Result<Option<Header>, ChainError> {
        self.hook.before("header").await?;
        if let Some(made_up) = self.made_up(block) {
            return Ok(Some(made_up));
        }
        let block = match block {
            BlockTag::Safe | BlockTag::Finalized if self.tricks.lock().expect("whole").is_newest_final => {
                BlockTag::Latest
            }
            block => block,
        };
        let value = match (block, self.seen_from(self.newest(), block)) {
            (BlockTag::Hash(hash), _) => self.told("eth_getBlockByHash", json!([hash, false]))?,
            (_, Ok(block)) => self.told("eth_getBlockByNumber", json!([tag(block), false]))?,
            (_, Err(_)) => Value::Null,
        };
        self.hook.after("header").await?;
        if value.is_null() {
            return Ok(None);
        }
        let block = BlockHeader {
            number: number(&value["number"]),
            hash: read(&value["hash"]),
            parent_hash: read(&value["parentHash"]),
            timestamp_s: number(&value["timestamp"]),
        };
        Ok(Some(Header {
            block,
            logs_bloom: Box::new(Bloom::ZERO),
            receipts_root: B256::ZERO,
            is_hash_proven: false,
        }))
    }

    async fn logs(&self, span: LogSpan, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        self.hook.before("logs").await?;
        let mut wanted = json!({"address": filter.addresses, "topics": filter.topics});
        let newest = self.newest();
        match span {
            LogSpan::Block(block) => wanted["blockHash"] = json!(block.hash),
            LogSpan::Range(range) | LogSpan::RangeOnChain { blocks: range, .. } => {
                self.seen_from(newest, BlockTag::Number(range.to))?;
                wanted["fromBlock"] = json!(format!("{:#x}", range.from));
                wanted["toBlock"] = json!(format!("{:#x}", range.to));
            }
        }
        let logs = self.told("eth_getLogs", json!([wanted]))?;
        self.hook.after("logs").await?;
        let chain = self.chain_id().await?;
        let mut logs: Vec<_> =
            logs.as_array().expect("a list").iter().map(|log| log_of(chain, log)).collect();
        let tricks = self.tricks.lock().expect("whole");
        if tricks.hides_logs {
            logs.clear();
        }
        if let LogSpan::Range(range) = span {
            let is_wanted =
                |log: &&LogEvent| (range.from..=range.to).contains(&log.block.number) && filter.matches(log);
            logs.extend(tricks.logs.iter().filter(is_wanted).cloned());
        }
        Ok(logs)
    }

    async fn receipts(&self, _: &BlockHeader) -> Result<Option<Receipts>, ChainError> {
        Ok(None)
    }

    async fn code(&self, address: Address, _: BlockTag) -> Result<Bytes, ChainError> {
        Ok(self.chain.code(address))
    }

    async fn header_from_each(&self, block: BlockTag) -> Vec<EndpointAnswer<Option<Header>>> {
        let (others, is_silent, pruned) = {
            let tricks = self.tricks.lock().expect("whole");
            (tricks.others.clone(), tricks.is_silent, tricks.pruned.clone())
        };
        let mut own = self.header(block).await;
        let header = own.as_ref().ok().cloned().flatten();
        if matches!(block, BlockTag::Number(number) if pruned.contains(&number)) {
            own = Ok(None);
        }
        if is_silent {
            own = Err(ChainError::new(ChainErrorKind::Unreachable, "no answer"));
        }
        let mut answers = vec![EndpointAnswer::sole(own)];
        for (endpoint, hash) in others {
            let told = header.clone().zip(hash).map(|(mut header, hash)| {
                header.block.hash = hash;
                header
            });
            answers.push(EndpointAnswer { endpoint: endpoint.to_owned(), answer: Ok(told) });
        }
        for (endpoint, honest) in self.honest() {
            answers.push(EndpointAnswer { endpoint, answer: honest.header(block).await });
        }
        answers
    }

    async fn logs_from_each(&self, span: LogSpan, filter: &LogFilter) -> Vec<EndpointAnswer<Vec<LogEvent>>> {
        let mut answers = vec![EndpointAnswer::sole(self.logs(span, filter).await)];
        if let Some(honest) = self.honest_beside() {
            let answer = match self.is_honest_silent() {
                true => Err(silent()),
                false => honest.logs(span, filter).await,
            };
            answers.push(EndpointAnswer { endpoint: HONEST.to_owned(), answer });
        }
        for (endpoint, honest) in self.honest() {
            let answer = match self.is_honest_silent() {
                true => Err(silent()),
                false => honest.logs(span, filter).await,
            };
            answers.push(EndpointAnswer { endpoint, answer });
        }
        answers
    }

    fn report_false_answer(&self, endpoint: &str, _answer: &FalseAnswer) {
        self.tricks.lock().expect("whole").reported.push(endpoint.to_owned());
    }

    fn report_other_chain(&self, endpoint: &str, _why: &str) {
        self.tricks.lock().expect("whole").reported.push(endpoint.to_owned());
    }

    fn range_size(&self, _: &LogFilter) -> u64 {
        7
    }
}

#[async_trait]
impl TransactionChain for Direct {
    async fn call(&self, call: &Call, at: BlockTag) -> Result<CallOutcome, ChainError> {
        self.hook.before("call").await?;
        let lie = self.tricks.lock().expect("whole").calls.get(&call.data).cloned();
        if let Some(lie) = lie {
            return Ok(CallOutcome::Returned(lie));
        }
        let refusal = self.tricks.lock().expect("whole").refusal.clone();
        if let Some(data) = refusal.filter(|_| !call.from.is_zero()) {
            return Ok(CallOutcome::Reverted { data, message: "execution reverted".to_owned() });
        }
        let at = self.seen_from(self.newest(), at)?;
        let answer = self.ask("eth_call", json!([request(call), tag(at)]));
        self.hook.after("call").await?;
        match answer {
            Ok(value) => Ok(CallOutcome::Returned(read(&value))),
            Err(error) => reverted(error).map(|(data, message)| CallOutcome::Reverted { data, message }),
        }
    }

    async fn estimate_gas(&self, call: &Call) -> Result<GasEstimate, ChainError> {
        self.hook.before("estimate_gas").await?;
        let lie = self.tricks.lock().expect("whole").gas;
        if let Some(lie) = lie {
            return Ok(GasEstimate::Gas(lie));
        }
        let answer = self.ask("eth_estimateGas", json!([request(call)]));
        self.hook.after("estimate_gas").await?;
        match answer {
            Ok(value) => Ok(GasEstimate::Gas(number(&value))),
            Err(error) => reverted(error).map(|(data, message)| GasEstimate::Reverted { data, message }),
        }
    }

    async fn send(&self, raw: &Bytes) -> Vec<SendAnswer> {
        if let Err(error) = self.hook.before("send").await {
            return vec![SendAnswer::Silent(error.message)];
        }
        self.must_be_stored(raw).await;
        if self.tricks.lock().expect("whole").refuses_sends {
            return vec![SendAnswer::Refused("not now, please".to_owned())];
        }
        self.sent.lock().expect("whole").push(raw.clone());
        let answer = match self.ask("eth_sendRawTransaction", json!([raw])) {
            Ok(_) => SendAnswer::Accepted,
            Err(error) if error.message.contains("already known") => SendAnswer::Known,
            Err(error) if error.message.contains("nonce too low") => SendAnswer::NonceTooLow,
            Err(error) if error.message.contains("replacement") => SendAnswer::Underpriced,
            Err(error) => SendAnswer::Refused(error.message),
        };
        match self.hook.after("send").await {
            Ok(()) => vec![answer],
            Err(error) => vec![SendAnswer::Silent(error.message)],
        }
    }

    async fn receipt(&self, hash: B256) -> Result<Option<TransactionReceipt>, ChainError> {
        self.hook.before("receipt").await?;
        let lie = self.tricks.lock().expect("whole").receipts.get(&hash).copied();
        if let Some((number, is_success)) = lie {
            let block = BlockRef { number, hash: self.chain.block(number).expect("a block").hash() };
            return Ok(Some(TransactionReceipt {
                hash,
                block,
                is_success,
                gas_used: 1,
                effective_gas_price: None,
                contract: None,
            }));
        }
        let newest = self.newest();
        let value = self.told("eth_getTransactionReceipt", json!([hash]))?;
        self.hook.after("receipt").await?;
        if value.is_null() || number(&value["blockNumber"]) > newest {
            return Ok(None);
        }
        Ok(Some(TransactionReceipt {
            hash,
            block: BlockRef { number: number(&value["blockNumber"]), hash: read(&value["blockHash"]) },
            is_success: number(&value["status"]) == 1,
            gas_used: number(&value["gasUsed"]),
            effective_gas_price: Some(number(&value["effectiveGasPrice"]).into()),
            contract: None,
        }))
    }

    async fn nonce(&self, account: Address, at: NonceTag) -> Result<u64, ChainError> {
        self.hook.before("nonce").await?;
        let lie = self.tricks.lock().expect("whole").nonces.get(&account).copied();
        if let Some(lie) = lie {
            return Ok(lie);
        }
        let at = self.tricks.lock().expect("whole").counted_at(at);
        let at = match at {
            NonceTag::Pending => json!("pending"),
            NonceTag::Block(block) => tag(self.seen_from(self.newest(), block)?),
        };
        let value = self.told("eth_getTransactionCount", json!([account, at]))?;
        self.hook.after("nonce").await?;
        Ok(number(&value))
    }

    async fn call_from_each(&self, call: &Call, at: BlockTag) -> Vec<EndpointAnswer<CallOutcome>> {
        let mut answers = vec![EndpointAnswer::sole(self.call(call, at).await)];
        if let Some(honest) = self.honest_beside() {
            let answer = match self.is_honest_silent() {
                true => Err(silent()),
                false => honest.call(call, at).await,
            };
            answers.push(EndpointAnswer { endpoint: HONEST.to_owned(), answer });
        }
        for (endpoint, honest) in self.honest() {
            let answer = match self.is_honest_silent() {
                true => Err(silent()),
                false => honest.call(call, at).await,
            };
            answers.push(EndpointAnswer { endpoint, answer });
        }
        answers
    }

    async fn nonce_from_each(&self, account: Address, at: NonceTag) -> Vec<EndpointAnswer<u64>> {
        let mut answers = vec![EndpointAnswer::sole(self.nonce(account, at).await)];
        if let Some(honest) = self.honest_beside() {
            let is_pruned = self.tricks.lock().expect("whole").is_honest_pruned;
            let head = self.chain.head().number();
            let answer = match at {
                _ if self.is_honest_silent() => Err(silent()),
                NonceTag::Block(BlockTag::Number(number)) if is_pruned && number < head => {
                    Err(ChainError::new(ChainErrorKind::UnknownBlock, "its state is not kept"))
                }
                at => honest.nonce(account, at).await,
            };
            answers.push(EndpointAnswer { endpoint: HONEST.to_owned(), answer });
        }
        for (endpoint, honest) in self.honest() {
            answers.push(EndpointAnswer { endpoint, answer: honest.nonce(account, at).await });
        }
        answers
    }

    async fn estimate_gas_from_each(&self, call: &Call) -> Vec<EndpointAnswer<GasEstimate>> {
        let mut answers = vec![EndpointAnswer::sole(self.estimate_gas(call).await)];
        for (endpoint, honest) in self.honest() {
            answers.push(EndpointAnswer { endpoint, answer: honest.estimate_gas(call).await });
        }
        answers
    }

    async fn receipt_from_each(&self, hash: B256) -> Vec<EndpointAnswer<Option<TransactionReceipt>>> {
        let mut answers = vec![EndpointAnswer::sole(self.receipt(hash).await)];
        for (endpoint, honest) in self.honest() {
            answers.push(EndpointAnswer { endpoint, answer: honest.receipt(hash).await });
        }
        answers
    }

    async fn gas_fees_from_each(&self) -> Vec<EndpointAnswer<GasFees>> {
        let mut answers = vec![EndpointAnswer::sole(self.gas_fees().await)];
        for (endpoint, honest) in self.honest() {
            answers.push(EndpointAnswer { endpoint, answer: honest.gas_fees().await });
        }
        answers
    }

    async fn gas_fees(&self) -> Result<GasFees, ChainError> {
        self.hook.before("gas_fees").await?;
        let block = self.told("eth_getBlockByNumber", json!(["latest", false]))?;
        self.hook.after("gas_fees").await?;
        let lie = self.tricks.lock().expect("whole").priority_fee;
        if let Some(priority_fee) = lie {
            return Ok(GasFees { max_fee: 2 * priority_fee, priority_fee });
        }
        Ok(GasFees::for_base_fee(number(&block["baseFeePerGas"]).into(), 1_000_000_000))
    }

    async fn balance_from_each(&self, account: Address, at: BlockTag) -> Vec<EndpointAnswer<U256>> {
        let mut answers = vec![EndpointAnswer::sole(self.balance(account, at).await)];
        for (endpoint, honest) in self.honest() {
            answers.push(EndpointAnswer { endpoint, answer: honest.balance(account, at).await });
        }
        answers
    }

    async fn balance(&self, account: Address, _: BlockTag) -> Result<U256, ChainError> {
        if self.tricks.lock().expect("whole").has_no_coin {
            return Ok(U256::ZERO);
        }
        Ok(self.chain.balance(account))
    }
}

fn silent() -> ChainError {
    ChainError::new(ChainErrorKind::Unreachable, "connection refused")
}
