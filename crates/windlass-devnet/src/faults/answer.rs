//! Puts a call to the node and twists the answer as the call's fate wants it.

use bytes::Bytes;
use serde_json::{json, value::RawValue};

use super::{
    counts::Kind,
    fate::{Answer, Fate, Twist},
    handle::Faults,
    lag::Lagging,
    limit, wording,
};
use crate::node::{Node, RpcError};

impl Faults {
    /// Answers a call under its fate, counting the twists that made a difference.
    pub(crate) fn answer(
        &self,
        fate: &Fate,
        node: &dyn Node,
        method: &str,
        params: Option<&RawValue>,
    ) -> Answer {
        self.instead(fate, node, method, params).unwrap_or_else(|| {
            let result = self.lagged(fate, node, method, params);
            let result = self.without_receipts(fate, method, result);
            Answer::from(self.with_lies(fate, method, result))
        })
    }

    /// An answer that is given without asking for the true one.
    fn instead(
        &self,
        fate: &Fate,
        node: &dyn Node,
        method: &str,
        params: Option<&RawValue>,
    ) -> Option<Answer> {
        for twist in &fate.twists {
            let (kind, answer) = match *twist {
                Twist::RateLimit { wording } => (Kind::RateLimitBody, Some(Err(rate_limit(wording)).into())),
                Twist::Refuse { kind, wording } => (kind, Some(Err(wording::error(wording)).into())),
                Twist::LogRange { refusal, blocks } if method == "eth_getLogs" => {
                    let error = || refusal.error(blocks, self.wording());
                    let refused = limit::is_beyond(node, blocks, params).then(error).flatten();
                    (Kind::LogLimit, refused.map(|error| Err(error).into()))
                }
                Twist::ChainId(id) => (Kind::ChainId, chain_id(method, id)),
                Twist::LogLimit { provider, limit } if method == "eth_getLogs" => {
                    let refused = |error| Answer { result: Err(error), status: provider.status() };
                    let refusal = limit::refusal(node, provider, limit, params);
                    (Kind::LogLimit, refusal.map(refused))
                }
                _ => continue,
            };
            if let Some(answer) = answer {
                self.happened(kind);
                return Some(answer);
            }
        }
        None
    }

    fn lagged(
        &self,
        fate: &Fate,
        node: &dyn Node,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Bytes, RpcError> {
        let lag = fate.twists.iter().find_map(|twist| match *twist {
            Twist::Lag { blocks, unknown_hash } => Some((blocks, unknown_hash)),
            _ => None,
        });
        let Some((blocks, unknown_hash)) = lag else { return node.call(method, params) };
        let seen = Lagging::new(node, blocks, unknown_hash)?.call(method, params);
        if seen.stale {
            self.happened(Kind::Lag);
        }
        seen.result
    }

    fn without_receipts(
        &self,
        fate: &Fate,
        method: &str,
        result: Result<Bytes, RpcError>,
    ) -> Result<Bytes, RpcError> {
        let concerned = matches!(method, "eth_getTransactionReceipt" | "eth_getBlockReceipts")
            && fate.twists.contains(&Twist::NullReceipts);
        match result {
            Ok(answer) if concerned && answer != "null" => {
                self.happened(Kind::NullReceipts);
                Ok(Bytes::from_static(b"null"))
            }
            result => result,
        }
    }
}

/// Another chain's id in the form of the method; nothing for other methods.
fn chain_id(method: &str, id: u64) -> Option<Answer> {
    let text = match method {
        "eth_chainId" => format!("\"{id:#x}\""),
        "net_version" => format!("\"{id}\""),
        _ => return None,
    };
    Some(Answer::from(Ok(Bytes::from(text))))
}

/// A rate limit in the words of one of three providers.
fn rate_limit(wording: u64) -> RpcError {
    match wording % 3 {
        0 => RpcError::new(429, "Your app has exceeded its compute units per second capacity."),
        1 => RpcError {
            data: Some(json!({"rate": {"allowed_rps": 1, "backoff_seconds": 1, "current_rps": 2}})),
            ..RpcError::new(-32005, "daily request count exceeded, request rate limited")
        },
        _ => RpcError::new(-32016, "over rate limit"),
    }
}
