//! How providers refuse an `eth_getLogs` that asks for too much: their words, codes
//! and ways of counting, as seen in the wild.

use serde_json::json;

use crate::node::RpcError;

/// A provider's way of limiting `eth_getLogs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// A cap on results, with a suggested range; short ranges are exempt.
    Alchemy,
    /// The free tier: a cap on blocks, with a suggested range.
    AlchemyFree,
    /// A cap on results, with a suggested range in words and in `data`.
    Infura,
    /// A cap on blocks, as its public endpoints have it.
    InfuraRange,
    /// A cap on blocks, under HTTP 413.
    Quicknode,
    /// A cap on blocks that is not told.
    Ankr,
    /// A cap on blocks, as BSC's public nodes have it.
    Bsc,
    /// A cap on blocks.
    Cloudflare,
    /// A cap on results, in decimal numbers.
    Reth,
    /// A cap on blocks.
    RethRange,
    /// A cap on results that is not told, under HTTP 500, as Base and Optimism have it.
    Base,
    /// A query that found too much took too long; nothing is told.
    QueryTimeout,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// Blocks from the first to the last, both included.
    Blocks,
    /// The last block's number minus the first's.
    Distance,
    /// Logs that match.
    Results,
}

/// A request that went too far, and a shorter one that would not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Excess {
    pub(super) limit: u64,
    pub(super) from: u64,
    pub(super) to: u64,
    /// The last block of a range from `from` that is served.
    pub(super) works_to: u64,
}

impl Provider {
    /// Every provider, for listings and tests.
    pub const ALL: [Self; 12] = [
        Self::Alchemy,
        Self::AlchemyFree,
        Self::Infura,
        Self::InfuraRange,
        Self::Quicknode,
        Self::Ankr,
        Self::Bsc,
        Self::Cloudflare,
        Self::Reth,
        Self::RethRange,
        Self::Base,
        Self::QueryTimeout,
    ];

    /// The name in a plan's text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alchemy => "alchemy",
            Self::AlchemyFree => "alchemy-free",
            Self::Infura => "infura",
            Self::InfuraRange => "infura-range",
            Self::Quicknode => "quicknode",
            Self::Ankr => "ankr",
            Self::Bsc => "bsc",
            Self::Cloudflare => "cloudflare",
            Self::Reth => "reth",
            Self::RethRange => "reth-range",
            Self::Base => "base",
            Self::QueryTimeout => "query-timeout",
        }
    }

    pub(super) const fn counts(self) -> Counted {
        match self {
            Self::AlchemyFree | Self::Cloudflare => Counted::Blocks,
            Self::InfuraRange | Self::Quicknode | Self::Ankr | Self::Bsc | Self::RethRange => {
                Counted::Distance
            }
            Self::Alchemy | Self::Infura | Self::Reth | Self::Base | Self::QueryTimeout => Counted::Results,
        }
    }

    /// How many blocks may always be asked for, whatever they hold.
    pub(super) const fn exempt_blocks(self, limit: u64) -> u64 {
        match self {
            // 2K blocks go with 10K results; the proportion is kept for other limits.
            Self::Alchemy if limit >= 5 => limit / 5,
            _ => 1,
        }
    }

    /// The HTTP status of the refusal.
    pub(super) const fn status(self) -> u16 {
        match self {
            Self::Quicknode => 413,
            Self::Base => 500,
            _ => 200,
        }
    }

    pub(super) fn refusal(self, excess: Excess) -> RpcError {
        let Excess { limit, from, to, works_to } = excess;
        match self {
            Self::Alchemy => alchemy(self.exempt_blocks(limit), excess),
            Self::AlchemyFree => RpcError::new(
                -32600,
                format!(
                    "You can make eth_getLogs requests with up to a {limit} block range. \
                     Based on your parameters, this block range should work: [{from:#x}, {works_to:#x}]"
                ),
            ),
            Self::Infura => infura(excess),
            Self::InfuraRange => {
                RpcError::new(-32602, format!("range {} exceeds limit of {limit}", to - from))
            }
            Self::Quicknode => {
                RpcError::new(-32614, format!("eth_getLogs is limited to a {} range", with_commas(limit)))
            }
            Self::Ankr => RpcError::new(-32600, "block range is too wide"),
            Self::Bsc => RpcError::new(-32000, format!("exceed maximum block range: {limit}")),
            Self::Cloudflare => RpcError::new(
                -32047,
                format!(
                    "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: {limit}"
                ),
            ),
            Self::Reth => RpcError::new(
                -32602,
                format!("query exceeds max results {limit}, retry with the range {from}-{works_to}"),
            ),
            Self::RethRange => RpcError::new(-32602, format!("query exceeds max block range {limit}")),
            Self::Base => RpcError::new(-32020, "backend response too large"),
            Self::QueryTimeout => RpcError::new(-32005, "query timeout exceeded"),
        }
    }
}

fn alchemy(exempt_blocks: u64, excess: Excess) -> RpcError {
    let Excess { limit, from, works_to, .. } = excess;
    RpcError::new(
        -32602,
        format!(
            "Log response size exceeded. You can make eth_getLogs requests with up to a {} block range \
             and no limit on the response size, or you can request any block range with a cap of {} \
             logs in the response. Based on your parameters and the response size limit, this block \
             range should work: [{from:#x}, {works_to:#x}]",
            in_thousands(exempt_blocks),
            in_thousands(limit),
        ),
    )
}

fn infura(excess: Excess) -> RpcError {
    let Excess { limit, from, works_to, .. } = excess;
    let (from, to) = (format!("0x{from:X}"), format!("0x{works_to:X}"));
    let message =
        format!("query returned more than {limit} results. Try with this block range [{from}, {to}].");
    let data = json!({ "from": from, "to": to, "limit": limit });
    RpcError { data: Some(data), ..RpcError::new(-32005, message) }
}

/// `2000` as `2K`.
fn in_thousands(count: u64) -> String {
    if count > 0 && count.is_multiple_of(1_000) { format!("{}K", count / 1_000) } else { count.to_string() }
}

/// `10000` as `10,000`.
fn with_commas(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(provider: Provider, limit: u64) -> (i64, String) {
        let excess = Excess { limit, from: 0xabc, to: 0xffff, works_to: 0xdef };
        let error = provider.refusal(excess);
        (error.code, error.message)
    }

    #[test]
    fn the_words_are_those_of_the_providers() {
        assert_eq!(
            words(Provider::Alchemy, 10_000),
            (
                -32602,
                "Log response size exceeded. You can make eth_getLogs requests with up to a 2K \
                 block range and no limit on the response size, or you can request any block range \
                 with a cap of 10K logs in the response. Based on your parameters and the response \
                 size limit, this block range should work: [0xabc, 0xdef]"
                    .into()
            )
        );
        assert_eq!(
            words(Provider::Infura, 10_000).1,
            "query returned more than 10000 results. Try with this block range [0xABC, 0xDEF]."
        );
        assert_eq!(
            words(Provider::Quicknode, 10_000),
            (-32614, "eth_getLogs is limited to a 10,000 range".into())
        );
        assert_eq!(words(Provider::Ankr, 3_000), (-32600, "block range is too wide".into()));
        assert_eq!(words(Provider::Bsc, 5_000), (-32000, "exceed maximum block range: 5000".into()));
        assert_eq!(words(Provider::InfuraRange, 10_000).1, "range 62787 exceeds limit of 10000");
        assert!(words(Provider::Cloudflare, 800).1.ends_with("Max range: 800"));
        assert_eq!(
            words(Provider::Reth, 20_000).1,
            "query exceeds max results 20000, retry with the range 2748-3567"
        );
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([7, 999, 1_000, 1_234_567].map(with_commas), ["7", "999", "1,000", "1,234,567"]);
        assert_eq!([0, 999, 2_000, 2_500].map(in_thousands), ["0", "999", "2K", "2500"]);
    }
}
