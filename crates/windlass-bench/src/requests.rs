//! What a collector asks the RPC for, counted where it arrives: HTTP requests and the
//! calls in them, by what they are for.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue, value::to_raw_value};
use windlass_devnet::node::{CallRef, Node};
use windlass_devnet::rpc::Observer;
use windlass_devnet::synthetic::LiveNode;

use crate::clock;

/// What requests are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Purpose {
    /// Where the chain is: tags and `eth_blockNumber`.
    Poll,
    /// Another look at what is final: its headers, receipts, and ranges of its logs.
    Verification,
    /// Everything else: what following the head takes.
    Follow,
}

/// Requests for one purpose.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Counted {
    /// HTTP requests; a batch is one.
    pub(crate) requests: u64,
    /// The calls in them, by method.
    pub(crate) calls: BTreeMap<String, u64>,
}

impl Counted {
    /// All calls.
    pub(crate) fn all_calls(&self) -> u64 {
        self.calls.values().sum()
    }

    /// `method:calls` of every method, for a report.
    pub(crate) fn by_method(&self) -> String {
        let one = |(method, calls): (&String, &u64)| format!("{}:{calls}", method.trim_start_matches("eth_"));
        let all: Vec<String> = self.calls.iter().map(one).collect();
        if all.is_empty() { "none".to_owned() } else { all.join(",") }
    }
}

/// Everything that was asked in a time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Requests {
    pub(crate) polls: Counted,
    pub(crate) verification: Counted,
    pub(crate) follow: Counted,
    /// When the newest block was asked for, on the shared clock.
    head_polls_ns: Vec<u64>,
}

impl Requests {
    /// The time between two questions for the newest block, in which half of a time was
    /// spent: neither several questions at once nor a single long pause make a difference.
    pub(crate) fn poll_interval(&self, time: &Range<Duration>) -> Duration {
        let ends = [time.start, time.end];
        let polls = self.head_polls_ns.iter().map(|ns| Duration::from_nanos(*ns));
        let mut moments: Vec<Duration> = polls.filter(|at| time.contains(at)).chain(ends).collect();
        moments.sort_unstable();
        let mut gaps: Vec<Duration> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable();
        let (half, mut spent) = ((time.end - time.start) / 2, Duration::ZERO);
        let middle = gaps.into_iter().find(|gap| {
            spent += *gap;
            spent >= half
        });
        middle.unwrap_or(time.end - time.start)
    }
}

/// Counts what comes in at a chain.
#[derive(Debug)]
pub(crate) struct RequestCounter {
    node: Arc<LiveNode>,
    unfinal: u64,
    counted: Mutex<Requests>,
}

impl RequestCounter {
    /// Counts from nothing. So many of the node's newest blocks are not final.
    pub(crate) fn new(node: Arc<LiveNode>, unfinal: u64) -> Self {
        Self { node, unfinal, counted: Mutex::default() }
    }

    /// What was counted since it was taken last.
    pub(crate) fn take(&self) -> Requests {
        std::mem::take(&mut self.counted.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn purpose(&self, call: CallRef<'_>) -> Purpose {
        let params: Vec<Value> =
            call.params.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let first = params.first().unwrap_or(&Value::Null);
        let block = match call.method {
            "eth_blockNumber" => return Purpose::Poll,
            "eth_getBlockReceipts" => return Purpose::Verification,
            "eth_getBlockByNumber" if is_tag(first) => return Purpose::Poll,
            "eth_getBlockByNumber" => number(first),
            "eth_getBlockByHash" => self.number_of(first),
            "eth_getLogs" => match first.get("blockHash") {
                Some(hash) => self.number_of(hash),
                None => first.get("toBlock").and_then(number),
            },
            _ => None,
        };
        let finalized = self.node.now().head().saturating_sub(self.unfinal);
        if block.is_some_and(|block| block <= finalized) { Purpose::Verification } else { Purpose::Follow }
    }

    /// The number of a block that is known.
    fn number_of(&self, hash: &Value) -> Option<u64> {
        let params: Box<RawValue> = to_raw_value(&json!([hash, false])).ok()?;
        let block = self.node.call("eth_getBlockByHash", Some(&params)).ok()?;
        let block: Value = serde_json::from_slice(&block).ok()?;
        block.get("number").and_then(number)
    }
}

impl Observer for RequestCounter {
    fn message(&self, calls: &[CallRef<'_>]) {
        let Some(purpose) = calls.iter().map(|call| self.purpose(*call)).max() else { return };
        let polls_head = calls.iter().any(|call| asks_for_head(*call));
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if polls_head {
            counted.head_polls_ns.push(u64::try_from(clock::now().as_nanos()).unwrap_or(u64::MAX));
        }
        let one = match purpose {
            Purpose::Poll => &mut counted.polls,
            Purpose::Verification => &mut counted.verification,
            Purpose::Follow => &mut counted.follow,
        };
        one.requests += 1;
        for call in calls {
            *one.calls.entry(call.method.to_owned()).or_default() += 1;
        }
    }
}

fn is_tag(value: &Value) -> bool {
    matches!(value.as_str(), Some("latest" | "finalized" | "safe" | "pending"))
}

fn asks_for_head(call: CallRef<'_>) -> bool {
    let latest = |raw: &RawValue| raw.get().contains("\"latest\"");
    match call.method {
        "eth_blockNumber" => true,
        "eth_getBlockByNumber" => call.params.is_some_and(latest),
        _ => false,
    }
}

fn number(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use windlass_devnet::synthetic::SyntheticOptions;

    use super::*;

    fn counter() -> RequestCounter {
        let options = SyntheticOptions { blocks: 100, finality_blocks: 10, ..SyntheticOptions::default() };
        RequestCounter::new(Arc::new(LiveNode::new(options)), 10)
    }

    fn send(counter: &RequestCounter, calls: &[(&str, Value)]) {
        let params: Vec<_> = calls.iter().map(|(_, params)| to_raw_value(params).expect("params")).collect();
        let calls: Vec<_> = calls
            .iter()
            .zip(&params)
            .map(|((method, _), params)| CallRef { method, params: Some(params) })
            .collect();
        counter.message(&calls);
    }

    #[test]
    fn a_batch_is_one_request_for_its_weightiest_purpose() {
        let counter = counter();
        send(&counter, &[("eth_getBlockByNumber", json!(["latest", false]))]);
        send(
            &counter,
            &[
                ("eth_getBlockByNumber", json!(["latest", false])),
                ("eth_getBlockByNumber", json!(["0x5a", false])),
            ],
        );
        send(
            &counter,
            &[
                ("eth_blockNumber", json!([])),
                ("eth_getBlockByNumber", json!(["0x5b", false])),
                ("eth_getLogs", json!([{"fromBlock": "0x50", "toBlock": "0x64"}])),
            ],
        );
        let counted = counter.take();
        assert_eq!((counted.polls.requests, counted.polls.all_calls()), (1, 1));
        assert_eq!((counted.verification.requests, counted.verification.all_calls()), (1, 2));
        assert_eq!((counted.follow.requests, counted.follow.all_calls()), (1, 3));
        assert_eq!(counted.follow.by_method(), "blockNumber:1,getBlockByNumber:1,getLogs:1");
        assert_eq!(counted.head_polls_ns.len(), 3);
        assert_eq!(counter.take().follow.requests, 0);
    }

    #[test]
    fn what_is_final_is_verification() {
        let counter = counter();
        let hash = |number| counter.node.now().block_hash(number);
        let purposes: Vec<Purpose> = [
            ("eth_getLogs", json!([{"blockHash": hash(90)}])),
            ("eth_getLogs", json!([{"blockHash": hash(91)}])),
            ("eth_getBlockByHash", json!([hash(1), false])),
            ("eth_getBlockByHash", json!([hash(101), false])),
            ("eth_getBlockReceipts", json!(["0x64"])),
            ("eth_getLogs", json!([{"fromBlock": "0x1", "toBlock": "0x5a"}])),
            ("eth_getLogs", json!([{"fromBlock": "0x1", "toBlock": "latest"}])),
            ("eth_chainId", json!([])),
            ("eth_getBlockByNumber", json!(["finalized", false])),
        ]
        .into_iter()
        .map(|(method, params)| {
            let params = to_raw_value(&params).expect("params");
            counter.purpose(CallRef { method, params: Some(&params) })
        })
        .collect();
        use Purpose::{Follow, Poll, Verification};
        assert_eq!(
            purposes,
            [Verification, Follow, Verification, Follow, Verification, Verification, Follow, Follow, Poll]
        );
    }

    #[test]
    fn the_interval_is_that_of_most_of_the_time() {
        let interval = |polls_ms: &[u64], end_ms: u64| {
            let head_polls_ns = polls_ms.iter().map(|ms| ms * 1_000_000).collect();
            let requests = Requests { head_polls_ns, ..Requests::default() };
            requests.poll_interval(&(Duration::ZERO..Duration::from_millis(end_ms))).as_millis()
        };
        assert_eq!(interval(&[], 100), 100);
        assert_eq!(interval(&[10, 20, 30, 40, 50, 60, 70, 80, 90], 100), 10);
        assert_eq!(interval(&[10, 10, 10, 20, 20, 30, 40, 50, 60], 100), 10, "a burst is one question");
        assert_eq!(interval(&[1, 2, 3, 4], 100), 96, "and a few at the start are none");
    }
}
