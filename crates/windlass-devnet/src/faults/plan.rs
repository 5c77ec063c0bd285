//! Which faults befall which calls: the vocabulary.

use super::{lie::Lie, provider::Provider, range_refusal::RangeRefusal, share::Share};

/// The most rules in a plan.
pub const MAX_RULES: usize = 64;
/// The longest latency that can be asked for.
pub const MAX_LATENCY_MS: u32 = 60_000;
/// The longest that a call is left without an answer; then its connection is reset.
pub const MAX_HOLD_MS: u32 = 120_000;
/// How long a call is left without an answer unless the plan says otherwise.
pub const DEFAULT_HOLD_MS: u32 = 60_000;
/// The largest `Retry-After`.
pub const MAX_RETRY_AFTER_S: u32 = 3_600;
/// The `Retry-After` of a 429 unless the plan says otherwise.
pub const DEFAULT_RETRY_AFTER_S: u32 = 1;
/// The highest rate limit, in calls a second, and the largest burst.
pub const MAX_RATE: u32 = 1_000_000;
/// The most nodes behind the pretended load balancer.
pub const MAX_NODES: u32 = 1_000;

/// The faults in force, in the order in which they are tried.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    pub(super) rules: Vec<Rule>,
}

impl Plan {
    /// The rules, in order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }
}

/// One fault, and whom it befalls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What goes wrong.
    pub fault: Fault,
    /// How often.
    pub share: Share,
    /// For this method only.
    pub method: Option<String>,
}

impl Rule {
    /// Whether the rule concerns this method at all.
    pub(super) fn concerns(&self, method: &str) -> bool {
        self.method.as_ref().is_none_or(|only| only == method)
    }

    /// Whether the rule is about a whole message: a batch is one request to the connection.
    /// A rule for one method looks at every call.
    pub(super) fn is_per_message(&self) -> bool {
        let of_connection = matches!(
            self.fault,
            Fault::Latency { .. }
                | Fault::TooManyRequests { .. }
                | Fault::ServerError { .. }
                | Fault::TimeOut { .. }
                | Fault::Reset
                | Fault::Truncate
        );
        of_connection && self.method.is_none()
    }

    /// Whether a call with this draw is hit. Which blocks have no bloom is decided by
    /// block, when the answer is there.
    pub(super) fn strikes(&self, draw: u64) -> bool {
        matches!(self.fault, Fault::Lie(Lie::Bloom)) || self.share.strikes(draw)
    }
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The answer comes late, by a time drawn from this range.
    Latency {
        /// The shortest wait.
        from_ms: u32,
        /// The longest wait.
        to_ms: u32,
    },
    /// HTTP 429.
    TooManyRequests {
        /// What the `Retry-After` header says; without it there is no header.
        retry_after_s: Option<u32>,
    },
    /// Calls beyond a rate are refused. A batch costs as many calls as it holds and is
    /// refused as a whole; one of more calls than the burst always is.
    RateLimit {
        /// How many calls a second pass.
        calls_per_s: u32,
        /// How many calls pass at once.
        burst: u32,
        /// How the others are refused.
        refusal: RateRefusal,
    },
    /// HTTP 200 with a JSON-RPC error whose code and words nobody knows, others each time.
    Refuse,
    /// HTTP 200 with a JSON-RPC error that speaks of a rate limit.
    RateLimitBody,
    /// An HTTP status from 500 to 599, with a body that is not JSON.
    ServerError {
        /// The status.
        status: u16,
    },
    /// No answer; after this time the connection is reset.
    TimeOut {
        /// How long the server pretends to think.
        hold_ms: u32,
    },
    /// The TCP connection is reset.
    Reset,
    /// The body ends before its `Content-Length`.
    Truncate,
    /// `eth_chainId` and `net_version` speak of another chain.
    ChainId(u64),
    /// Receipts that exist are answered with null.
    NullReceipts,
    /// `eth_getLogs` is refused beyond a limit, in a provider's words.
    LogLimit {
        /// Whose words, and what is limited.
        provider: Provider,
        /// Blocks or results, as the provider counts.
        limit: u64,
    },
    /// `eth_getLogs` over more blocks than a cap is refused in words that nobody has
    /// listed, or not answered.
    LogRange {
        /// What happens instead of an answer.
        refusal: RangeRefusal,
        /// How many blocks are served.
        blocks: u64,
    },
    /// An answer is wrong.
    Lie(Lie),
    /// Logs come without `blockTimestamp`, as older nodes give them.
    NoLogTime,
    /// More calls in one message than this are refused, as free plans do.
    BatchLimit(u64),
    /// Calls are spread over nodes of which some have not seen the newest blocks.
    Lag {
        /// How many nodes lag.
        lagging: u32,
        /// How many nodes there are.
        nodes: u32,
        /// By how many blocks they lag.
        blocks: u64,
        /// What they say to logs of a block they have not seen.
        unknown_hash: UnknownHash,
    },
}

/// How a call beyond a rate limit is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RateRefusal {
    /// HTTP 429 without `Retry-After`.
    #[default]
    Bare,
    /// HTTP 429 with the `Retry-After` after which the calls pass.
    RetryAfter,
    /// HTTP 200 with a JSON-RPC error whose code and words nobody knows; they are drawn
    /// from the seed and the same for a whole run.
    Words,
}

impl RateRefusal {
    /// All of them, for tests.
    pub const ALL: [Self; 3] = [Self::Bare, Self::RetryAfter, Self::Words];

    /// What follows the rate in a plan's text.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::Bare => "",
            Self::RetryAfter => "/retry",
            Self::Words => "/words",
        }
    }
}

/// What a lagging node says to `eth_getLogs` by a block hash that it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownHash {
    /// The error `unknown block`, as geth does.
    #[default]
    Refuse,
    /// An empty list, as some others do.
    Empty,
}
