//! Endpoints: the right chain, how fast, how far behind, how much history, how large a log range.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use secrecy::ExposeSecret;
use tokio::sync::Semaphore;
use windlass_chain::evm::{EvmRpc, RpcError};
use windlass_core::chain::ChainId;
use windlass_core::code::Code;
use windlass_core::reader::{BlockTag, Header};

use super::database::machine_now;
use super::progress::Progress;
use super::report::Finding;
use super::{agreement, archive, finality, logs};
use crate::collect::retry::retrying;
use crate::config::chain::{Chain, ChainName, Finality, RpcUrl};
use crate::failure::Failure;

/// How long one question may take.
pub(super) const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// An answer that takes longer holds everything up.
const SLOW_ANSWER_MS: u128 = 1_000;
/// A head this old is worth a word, whatever the chain's block time.
const OLD_HEAD_S: u64 = 120;
/// A head this far ahead says that somebody's clock is wrong.
const FUTURE_HEAD_S: u64 = 30;
/// The most endpoints that are asked at a time.
const MAX_PROBES: usize = 64;

/// Looks at every endpoint of every chain, many at once; the answers come in order.
/// `ahead_ms` is how far the database's clock is ahead of this machine's.
pub(super) async fn examine(
    chains: &BTreeMap<ChainName, Chain>,
    ahead_ms: Option<i64>,
    progress: &Progress,
) -> Vec<Finding> {
    let room = Arc::new(Semaphore::new(MAX_PROBES));
    let mut probes = Vec::new();
    for (name, chain) in chains {
        for (place, url) in chain.rpc.iter().enumerate() {
            let (expected, finality) = (chain.id, chain.finality);
            let asked = Asked { chain: name.to_string(), place, expected, finality, ahead_ms };
            let (room, url) = (room.clone(), url.clone());
            probes.push(tokio::spawn(async move {
                // The semaphore is never closed.
                let _turn = room.acquire().await;
                endpoint(asked, url).await
            }));
        }
    }
    let count = probes.len();
    let mut findings = Vec::new();
    for (done, probe) in probes.into_iter().enumerate() {
        progress.say(format!("endpoints: {done} of {count} done"));
        match probe.await {
            Ok(found) => findings.extend(found),
            Err(error) => {
                let failure = Failure::coded(Code::TaskFailed, format_args!("a probe ended: {error}"));
                findings.push(Finding::failed("chain", failure));
            }
        }
    }
    for (name, chain) in chains.iter().filter(|(_, chain)| chain.rpc.iter().count() > 1) {
        findings.extend(agreement::examine(name, chain).await);
    }
    findings
}

/// What is asked of an endpoint.
struct Asked {
    chain: String,
    /// Which of the chain's endpoints it is.
    place: usize,
    expected: ChainId,
    finality: Finality,
    ahead_ms: Option<i64>,
}

impl Asked {
    fn subject(&self) -> String {
        format!("chain.{}.rpc[{}]", self.chain, self.place)
    }
}

async fn endpoint(asked: Asked, url: RpcUrl) -> Vec<Finding> {
    let text = match url.resolve() {
        Ok(text) => text,
        Err(error) => {
            let hint = error.advice();
            let failure = Failure::coded(Code::SecretMissing, error).hint(hint);
            return vec![Finding::failed(asked.subject(), failure)];
        }
    };
    match EvmRpc::with_timeout(text.expose_secret(), PROBE_TIMEOUT) {
        Ok(rpc) => Probe { asked, rpc }.run().await,
        Err(error) => vec![Finding::failed(asked.subject(), error)],
    }
}

/// One endpoint under examination.
pub(super) struct Probe {
    asked: Asked,
    pub(super) rpc: EvmRpc,
}

/// An answer with how long it took. What is refused in passing is asked again, and does not count.
async fn timed<T, F>(ask: impl Fn() -> F) -> Result<(T, Duration), RpcError>
where
    F: Future<Output = Result<T, RpcError>>,
{
    let timed_once = || {
        let asked = ask();
        async move {
            let start = Instant::now();
            asked.await.map(|answer| (answer, start.elapsed()))
        }
    };
    retrying(timed_once).await
}

impl Probe {
    async fn run(&self) -> Vec<Finding> {
        let expected = self.asked.expected;
        let (mut findings, first) = match timed(|| self.rpc.chain_id()).await {
            Ok((found, took)) if found == expected => {
                (vec![self.ok(format_args!("serves chain {found}"))], took)
            }
            Ok((found, _)) => return vec![self.wrong_chain(found)],
            Err(error) => return vec![self.failed(error)],
        };
        let head = timed(|| self.rpc.header(BlockTag::Latest)).await;
        let second = head.as_ref().map_or(Duration::ZERO, |(_, took)| *took);
        findings.push(self.latency(first.max(second)));
        match head.map(|(head, _)| head) {
            Ok(Some(head)) => {
                findings.push(self.head(&head, machine_now().as_ms().unsigned_abs() / 1_000));
                findings.extend(finality::examine(self, self.asked.finality, head.block.number).await);
                findings.push(archive::examine(self, head.block.number).await);
                findings.push(logs::examine(self, head.block.number).await);
                findings.extend(logs::examine_by_hash(self, head.block.block_ref()).await);
            }
            Ok(None) => findings.push(self.warning("has no blocks", "is the node still starting?")),
            Err(error) => findings.push(self.failed_for("its head", error)),
        }
        findings
    }

    fn latency(&self, slowest: Duration) -> Finding {
        let slowest_ms = slowest.as_millis();
        let message = format!("answers within {slowest_ms} ms");
        if slowest_ms > SLOW_ANSWER_MS {
            return self.warning(message, "an endpoint that is nearer or less busy collects faster");
        }
        self.ok(message)
    }

    pub(super) fn ok(&self, message: impl std::fmt::Display) -> Finding {
        Finding::ok(self.asked.subject(), format!("{}: {message}", self.rpc.place()))
    }

    pub(super) fn warning(&self, message: impl std::fmt::Display, hint: &str) -> Finding {
        Finding::warning(self.asked.subject(), format!("{}: {message}", self.rpc.place()), hint)
    }

    pub(super) fn failure(&self, failure: Failure) -> Finding {
        Finding::failed(self.asked.subject(), failure)
    }

    pub(super) fn failed(&self, error: RpcError) -> Finding {
        Finding::failed(self.asked.subject(), error)
    }

    /// The same, with what was asked for.
    pub(super) fn failed_for(&self, what: &str, error: RpcError) -> Finding {
        let failure = Failure::from(error);
        let message = format!("{}, when it was asked for {what}", failure.message);
        self.failure(Failure { message, ..failure })
    }

    fn wrong_chain(&self, found: ChainId) -> Finding {
        let message = format!("{}: serves chain {found}, not {}", self.rpc.place(), self.asked.expected);
        let failure = Failure::coded(Code::RpcWrongChain, message)
            .hint(format_args!("correct `id` or `rpc` in `[chain.{}]`", self.asked.chain));
        Finding::failed(self.asked.subject(), failure)
    }

    fn head(&self, head: &Header, now_s: u64) -> Finding {
        let (number, at_s) = (head.block.number, head.block.timestamp_s);
        let age_s = now_s.saturating_sub(at_s);
        if age_s > OLD_HEAD_S {
            let hint = "the node lags, or the chain makes no blocks; compare with another endpoint";
            return self.warning(format_args!("head is block {number}, {age_s} s old"), hint);
        }
        match future(at_s, now_s, self.asked.ahead_ms) {
            None => self.ok(format_args!("head is block {number}, {age_s} s old")),
            Some(hint) => {
                let message = format_args!("head is block {number}, {} s in the future", at_s - now_s);
                self.warning(message, hint)
            }
        }
    }
}

/// Whose clock is wrong when a block's time is in the future. This machine's only if the
/// database's clock says so too; otherwise the chain's.
fn future(at_s: u64, now_s: u64, ahead_ms: Option<i64>) -> Option<&'static str> {
    let ahead_s = at_s.saturating_sub(now_s);
    if ahead_s <= FUTURE_HEAD_S {
        return None;
    }
    let database_s = u64::try_from(ahead_ms.unwrap_or(0) / 1_000).unwrap_or(0);
    if ahead_s.saturating_sub(database_s) <= FUTURE_HEAD_S {
        return Some(
            "the database's clock agrees with the chain: let this machine follow a time server (NTP)",
        );
    }
    Some(
        "the chain's timestamps are ahead, as on a test chain; if not, compare this clock with a time server",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::Level;

    #[test]
    fn this_clock_is_blamed_only_if_the_database_agrees() {
        assert_eq!(future(1_030, 1_000, None), None);
        assert_eq!(future(900, 1_000, Some(500_000)), None);
        let blamed = |ahead_ms| future(1_100, 1_000, ahead_ms).expect("a hint");
        for ahead_ms in [None, Some(0), Some(-90_000), Some(20_000)] {
            assert!(blamed(ahead_ms).starts_with("the chain's timestamps are ahead"), "{ahead_ms:?}");
        }
        assert!(blamed(Some(95_000)).starts_with("the database's clock agrees"));
    }

    #[test]
    fn a_slow_endpoint_is_worth_a_word() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let rpc = EvmRpc::new("http://127.0.0.1:1").expect("a client");
        let expected = ChainId::new(1).expect("an id");
        let finality = Finality::Finalized;
        let asked = Asked { chain: "a".to_owned(), place: 3, expected, finality, ahead_ms: None };
        let probe = Probe { asked, rpc };
        let fast = probe.latency(Duration::from_millis(1_000));
        let slow = probe.latency(Duration::from_millis(1_001));
        assert_eq!((fast.level, slow.level), (Level::Ok, Level::Warning));
        assert_eq!(slow.subject, "chain.a.rpc[3]");
    }
}
