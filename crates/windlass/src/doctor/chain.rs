//! Endpoints: the right chain, how far behind, how much history, how large a log range.

use std::collections::BTreeMap;
use std::time::Duration;

use secrecy::ExposeSecret;
use windlass_chain::evm::{EvmRpc, RpcError};
use windlass_core::chain::ChainId;
use windlass_core::code::Code;
use windlass_core::reader::{BlockTag, Header};

use super::database::machine_now;
use super::report::Finding;
use super::{archive, logs};
use crate::config::chain::{Chain, ChainName, RpcUrl};
use crate::failure::Failure;

/// How long one question may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// A head this old is worth a word, whatever the chain's block time.
const OLD_HEAD_S: u64 = 120;
/// A head this far ahead says that this machine's clock is behind.
const FUTURE_HEAD_S: u64 = 30;

/// Looks at every endpoint of every chain, all at once; the answers come in order.
pub(super) async fn examine(chains: &BTreeMap<ChainName, Chain>) -> Vec<Finding> {
    let mut probes = Vec::new();
    for (name, chain) in chains {
        for url in chain.rpc.iter() {
            probes.push(tokio::spawn(endpoint(format!("chain.{name}"), chain.id, url.clone())));
        }
    }
    let mut findings = Vec::new();
    for probe in probes {
        match probe.await {
            Ok(found) => findings.extend(found),
            Err(error) => {
                let failure = Failure::coded(Code::TaskFailed, format_args!("a probe ended: {error}"));
                findings.push(Finding::failed("chain", failure));
            }
        }
    }
    findings
}

async fn endpoint(subject: String, expected: ChainId, url: RpcUrl) -> Vec<Finding> {
    let shown = url.shown();
    let text = match url.resolve() {
        Ok(text) => text,
        Err(error) => {
            let failure = Failure::coded(Code::SecretMissing, error).hint("set it for this process");
            return vec![Finding::failed(subject, failure)];
        }
    };
    if text.expose_secret().starts_with("ws") {
        let message = format!("{shown}: WebSocket endpoints are not probed");
        return vec![Finding::warning(subject, message, "name the provider's HTTP endpoint as well")];
    }
    let probe = match EvmRpc::with_timeout(text.expose_secret(), PROBE_TIMEOUT) {
        Ok(rpc) => Probe { subject, rpc },
        Err(error) => return vec![Finding::failed(subject, error)],
    };
    probe.run(expected).await
}

/// One endpoint under examination.
pub(super) struct Probe {
    subject: String,
    pub(super) rpc: EvmRpc,
}

impl Probe {
    async fn run(&self, expected: ChainId) -> Vec<Finding> {
        let mut findings = match self.rpc.chain_id().await {
            Ok(found) if found == expected => vec![self.ok(format_args!("serves chain {found}"))],
            Ok(found) => return vec![self.wrong_chain(found, expected)],
            Err(error) => return vec![self.failed(error)],
        };
        match self.rpc.header(BlockTag::Latest).await {
            Ok(Some(head)) => {
                findings.push(self.head(&head, machine_now().as_ms().unsigned_abs() / 1_000));
                findings.push(archive::examine(self, head.block.number).await);
                findings.push(logs::examine(self, head.block.number).await);
            }
            Ok(None) => findings.push(self.warning("has no blocks", "is the node still starting?")),
            Err(error) => findings.push(self.failed(error)),
        }
        findings
    }

    pub(super) fn ok(&self, message: impl std::fmt::Display) -> Finding {
        Finding::ok(&self.subject, format!("{}: {message}", self.rpc.place()))
    }

    pub(super) fn warning(&self, message: impl std::fmt::Display, hint: &str) -> Finding {
        Finding::warning(&self.subject, format!("{}: {message}", self.rpc.place()), hint)
    }

    pub(super) fn failed(&self, error: RpcError) -> Finding {
        let failure = Failure::coded(error.code(), &error);
        Finding::failed(&self.subject, failure.hint(hint(&error)))
    }

    fn wrong_chain(&self, found: ChainId, expected: ChainId) -> Finding {
        let message = format!("{}: serves chain {found}, not {expected}", self.rpc.place());
        let failure = Failure::coded(Code::RpcWrongChain, message)
            .hint(format_args!("correct `id` or `rpc` in `[{}]`", self.subject));
        Finding::failed(&self.subject, failure)
    }

    fn head(&self, head: &Header, now_s: u64) -> Finding {
        let (number, at_s) = (head.block.number, head.block.timestamp_s);
        let age_s = now_s.saturating_sub(at_s);
        if age_s > OLD_HEAD_S {
            let hint = "the node lags, or the chain makes no blocks; compare with another endpoint";
            return self.warning(format_args!("head is block {number}, {age_s} s old"), hint);
        }
        if at_s.saturating_sub(now_s) > FUTURE_HEAD_S {
            let hint = "this machine's clock is behind; let it follow a time server (NTP)";
            let message = format_args!("head is block {number}, {} s in the future", at_s - now_s);
            return self.warning(message, hint);
        }
        self.ok(format_args!("head is block {number}, {age_s} s old"))
    }
}

fn hint(error: &RpcError) -> &'static str {
    match error {
        RpcError::Url { .. } => "an endpoint begins with https:// or http://",
        RpcError::Connection { .. } | RpcError::Timeout { .. } => {
            "check the URL, and that the node runs and can be reached from here"
        }
        RpcError::RateLimited { .. } | RpcError::RangeTooLarge { .. } => {
            "wait, or use an endpoint with a higher limit"
        }
        RpcError::Status { status: 401 | 403, .. } => "check the key in the URL",
        RpcError::Status { status: 500..=599, .. } => {
            "the provider is in trouble; name another endpoint as well"
        }
        RpcError::Status { .. } | RpcError::Malformed { .. } | RpcError::BodyTooLarge { .. } => {
            "check that the URL is an RPC endpoint, with its whole path"
        }
        RpcError::Refused { .. } => "the message has the provider's words; check the key and the plan",
    }
}
