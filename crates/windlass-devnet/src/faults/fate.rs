//! What becomes of one call: drawn once, from the seed and the call's number.

use std::time::Duration;

use bytes::Bytes;

use super::{
    counts::Kind,
    lie::Lie,
    plan::{Fault, Plan, Rule, UnknownHash},
    provider::Provider,
    range_refusal::RangeRefusal,
    share::Share,
};
use crate::{
    mix::{mix, mix_pair},
    node::RpcError,
};

/// How one call fares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    /// How long the answer waits.
    pub(crate) delay: Duration,
    /// What befalls the connection; the first such rule that strikes.
    pub(crate) wire: Option<WireFault>,
    /// How many calls the message may hold at most.
    pub(crate) batch_limit: Option<u64>,
    /// The rate limits that count the call, by their place in the plan.
    pub(super) rate_limits: Vec<usize>,
    /// What befalls the answer, in the order of the plan.
    pub(super) twists: Vec<Twist>,
}

/// A fault of the connection or of HTTP, which the transport acts out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WireFault {
    /// 429, with `Retry-After` if there is one.
    TooManyRequests { retry_after_s: Option<u32> },
    /// The same, because of a rate limit.
    RateLimited { retry_after_s: Option<u32> },
    /// 5xx.
    ServerError { status: u16 },
    /// Nothing for so long, then a reset.
    TimeOut { hold: Duration },
    /// A reset.
    Reset,
    /// Half of the answer, then the end.
    Truncate,
}

impl WireFault {
    /// What it counts as.
    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::TooManyRequests { .. } => Kind::TooManyRequests,
            Self::RateLimited { .. } => Kind::Rate,
            Self::ServerError { .. } => Kind::ServerError,
            Self::TimeOut { .. } => Kind::TimeOut,
            Self::Reset => Kind::Reset,
            Self::Truncate => Kind::Truncate,
        }
    }
}

/// A fault of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Twist {
    RateLimit {
        wording: u64,
    },
    ChainId(u64),
    NullReceipts,
    LogLimit {
        provider: Provider,
        limit: u64,
    },
    LogRange {
        refusal: RangeRefusal,
        blocks: u64,
    },
    /// An error that nobody knows, made from this number.
    Refuse {
        kind: Kind,
        wording: u64,
    },
    Lie {
        lie: Lie,
        draw: u64,
        share: Share,
    },
    NoLogTime,
    Lag {
        blocks: u64,
        unknown_hash: UnknownHash,
    },
}

/// An answer and the HTTP status it comes with when it comes alone.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) result: Result<Bytes, RpcError>,
    pub(crate) status: u16,
}

impl From<Result<Bytes, RpcError>> for Answer {
    fn from(result: Result<Bytes, RpcError>) -> Self {
        Self { result, status: 200 }
    }
}

impl Fate {
    /// The fate of the call with this number; the same for the same seed and plan. Only the
    /// first call of a message meets the faults of whole messages.
    pub(super) fn draw(plan: &Plan, seed: u64, number: u64, method: &str, is_first: bool) -> Self {
        let mut fate = Self::default();
        let call = mix_pair(mix(seed), number);
        for (at, rule) in plan.rules.iter().enumerate() {
            let luck = mix_pair(call, at as u64);
            let is_asked = rule.concerns(method) && (is_first || !rule.is_per_message());
            if is_asked && rule.strikes(luck) {
                fate.suffer(rule, at, mix(luck));
            }
        }
        fate
    }

    fn suffer(&mut self, rule: &Rule, at: usize, draw: u64) {
        match rule.fault {
            Fault::Latency { from_ms, to_ms } => {
                let spread = u64::from(to_ms.saturating_sub(from_ms)) + 1;
                self.delay += Duration::from_millis(u64::from(from_ms) + draw % spread);
            }
            Fault::TooManyRequests { retry_after_s } => {
                self.break_wire(WireFault::TooManyRequests { retry_after_s });
            }
            Fault::ServerError { status } => self.break_wire(WireFault::ServerError { status }),
            Fault::TimeOut { hold_ms } => {
                self.break_wire(WireFault::TimeOut { hold: Duration::from_millis(hold_ms.into()) });
            }
            Fault::Reset => self.break_wire(WireFault::Reset),
            Fault::Truncate => self.break_wire(WireFault::Truncate),
            Fault::RateLimit { .. } => self.rate_limits.push(at),
            Fault::Refuse => self.twists.push(Twist::Refuse { kind: Kind::Refuse, wording: draw }),
            Fault::Lie(lie) => self.twists.push(Twist::Lie { lie, draw, share: rule.share }),
            Fault::NoLogTime => self.twists.push(Twist::NoLogTime),
            Fault::LogRange { refusal, blocks } => self.twists.push(Twist::LogRange { refusal, blocks }),
            Fault::RateLimitBody => self.twists.push(Twist::RateLimit { wording: draw }),
            Fault::ChainId(id) => self.twists.push(Twist::ChainId(id)),
            Fault::NullReceipts => self.twists.push(Twist::NullReceipts),
            Fault::LogLimit { provider, limit } => {
                self.twists.push(Twist::LogLimit { provider, limit });
            }
            Fault::BatchLimit(calls) => {
                self.batch_limit.get_or_insert(calls);
            }
            Fault::Lag { lagging, nodes, blocks, unknown_hash } => {
                if draw % u64::from(nodes) < u64::from(lagging) {
                    self.twists.push(Twist::Lag { blocks, unknown_hash });
                }
            }
        }
    }

    fn break_wire(&mut self, fault: WireFault) {
        self.wire.get_or_insert(fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Plan {
        text.parse().unwrap()
    }

    #[test]
    fn the_same_seed_and_number_give_the_same_fate() {
        let plan = plan("429=0.3,latency=1ms..50ms*0.5,lag=2of5:3,ratelimit=0.2");
        let fates = |seed| -> Vec<Fate> {
            (0..200).map(|number| Fate::draw(&plan, seed, number, "eth_call", true)).collect()
        };
        assert_eq!(fates(7), fates(7));
        assert_ne!(fates(7), fates(8));
    }

    #[test]
    fn a_share_is_met_in_the_long_run() {
        let plan = plan("reset=0.1,lag=2of5:3");
        let fates = (0..100_000).map(|number| Fate::draw(&plan, 1, number, "eth_call", true));
        let (mut resets, mut lags) = (0, 0);
        for fate in fates {
            resets += u64::from(fate.wire.is_some());
            lags += u64::from(!fate.twists.is_empty());
        }
        assert!((9_500..10_500).contains(&resets), "{resets}");
        assert!((39_000..41_000).contains(&lags), "{lags}");
    }

    #[test]
    fn a_rule_for_a_method_leaves_others_alone() {
        let plan = plan("reset=1@eth_getLogs");
        assert_eq!(Fate::draw(&plan, 1, 0, "eth_call", true), Fate::default());
        assert_eq!(Fate::draw(&plan, 1, 0, "eth_getLogs", true).wire, Some(WireFault::Reset));
    }

    #[test]
    fn faults_of_the_connection_hit_a_message_once() {
        let plan = plan("503=1,latency=5ms,ratelimit=1,reset=1@eth_call");
        let later = |method| Fate::draw(&plan, 1, 0, method, false);
        assert_eq!((later("net_version").wire, later("net_version").delay), (None, Duration::ZERO));
        assert_eq!(later("net_version").twists.len(), 1);
        assert_eq!(later("eth_call").wire, Some(WireFault::Reset));
    }

    #[test]
    fn the_first_broken_wire_wins_and_latencies_add_up() {
        let plan = plan("503=1,reset=1,latency=5ms,latency=7ms");
        let fate = Fate::draw(&plan, 1, 0, "eth_call", true);
        assert_eq!(fate.wire, Some(WireFault::ServerError { status: 503 }));
        assert_eq!(fate.delay, Duration::from_millis(12));
    }

    #[test]
    fn jitter_stays_in_its_range_and_uses_it() {
        let plan = plan("latency=10ms..12ms");
        let delays: std::collections::BTreeSet<u128> =
            (0..100).map(|number| Fate::draw(&plan, 1, number, "x", true).delay.as_millis()).collect();
        assert_eq!(delays.into_iter().collect::<Vec<_>>(), [10, 11, 12]);
    }
}
