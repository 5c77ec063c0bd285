//! What providers say when a log range is too large.
//!
//! There is no standard for it: some name a range that works, some a number of
//! blocks, most only complain. The wordings are matched loosely, since they
//! change without notice; what is not recognised stays an ordinary refusal.

use windlass_core::range::BlockRange;

/// What a provider proposes instead of the range that was too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeAdvice {
    /// This very range would work.
    Range(BlockRange),
    /// No more blocks than this at once.
    Blocks(u64),
    /// Something smaller.
    Smaller,
}

/// Phrases by which a complaint about the range or its result is recognised, in lower case.
const COMPLAINTS: [&str; 19] = [
    "block range should work",
    "response size exceeded",
    "response size is larger",
    "response size should not",
    "response too large",
    "response is too big",
    "query returned more than",
    "query exceeds max",
    "query timeout exceeded",
    "exceeds limit of",
    "exceeds the range",
    "exceed maximum block range",
    "maximum block range",
    "max range",
    "block range",
    "range is too large",
    "range too large",
    "requested too many blocks",
    "limited to a",
];

/// Reads a provider's words; `None` when they are not about a range.
pub(crate) fn read(message: &str) -> Option<RangeAdvice> {
    let text = message.to_lowercase();
    if !COMPLAINTS.iter().any(|phrase| text.contains(phrase)) {
        return None;
    }
    if let Some(range) = proposed_range(&text) {
        return Some(RangeAdvice::Range(range));
    }
    Some(proposed_blocks(&text).map_or(RangeAdvice::Smaller, RangeAdvice::Blocks))
}

/// `[0x10, 0x20]` after "range", or `retry with the range 16-32`.
fn proposed_range(text: &str) -> Option<BlockRange> {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let pair = match bracketed {
        Some((inside, _)) => inside.split_once(','),
        None => text
            .split_once("with the range ")
            .and_then(|(_, rest)| rest.split_whitespace().next())
            .and_then(|range| range.trim_end_matches('.').split_once('-')),
    };
    let (from, to) = pair?;
    let range = BlockRange { from: number(from)?, to: number(to)? };
    (range.from <= range.to).then_some(range)
}

/// Phrases directly before or behind a number of blocks.
const BEFORE: [&str; 10] = [
    "limited to a ",
    "limited to ",
    "maximum block range: ",
    "max block range ",
    "max range: ",
    "max is ",
    "maximum is set to ",
    "maximum is ",
    "range greater than ",
    "up to a ",
];

fn proposed_blocks(text: &str) -> Option<u64> {
    // The same words about results ("logs matched by query exceeds limit of …") name no blocks.
    let about_range = text.trim_start().starts_with("range ").then_some("exceeds limit of ");
    BEFORE.iter().copied().chain(about_range).find_map(|phrase| {
        let (_, rest) = text.split_once(phrase)?;
        let word = rest.split_whitespace().next()?;
        number(word.trim_end_matches(['.', ','])).filter(|blocks| *blocks > 0)
    })
}

/// `1000`, `10,000`, `0x3e8`, `2k`.
fn number(word: &str) -> Option<u64> {
    let word = word.trim();
    if let Some(hex) = word.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    let (digits, factor) = match word.strip_suffix('k') {
        Some(thousands) => (thousands, 1_000),
        None => (word, 1),
    };
    digits.replace([',', '_'], "").parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_wordings_are_understood() {
        let range = |from, to| Some(RangeAdvice::Range(BlockRange { from, to }));
        for (message, advice) in [
            (
                "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no \
                 limit on the response size, or you can request any block range with a cap of 10K logs in the \
                 response. Based on your parameters, this block range should work: [0x10, 0x3e7]",
                range(16, 999),
            ),
            ("query returned more than 10000 results. Try with this block range [0xF, 0x1F].", range(15, 31)),
            ("query exceeds max results 20000, retry with the range 100-250", range(100, 250)),
            ("eth_getLogs is limited to a 10,000 range", Some(RangeAdvice::Blocks(10_000))),
            ("eth_getLogs is limited to 1024 block range.", Some(RangeAdvice::Blocks(1_024))),
            ("exceed maximum block range: 5000", Some(RangeAdvice::Blocks(5_000))),
            ("query exceeds max block range 10000", Some(RangeAdvice::Blocks(10_000))),
            ("range 62787 exceeds limit of 10000", Some(RangeAdvice::Blocks(10_000))),
            ("Max range: 800", Some(RangeAdvice::Blocks(800))),
            ("eth_getLogs range is too large, max is 1k blocks", Some(RangeAdvice::Blocks(1_000))),
            (
                "requested too many blocks from 0 to 5000, maximum is set to 2048",
                Some(RangeAdvice::Blocks(2_048)),
            ),
            ("block range is too wide", Some(RangeAdvice::Smaller)),
            ("Block range limit exceeded.", Some(RangeAdvice::Smaller)),
            ("query timeout exceeded", Some(RangeAdvice::Smaller)),
            ("logs matched by query exceeds limit of 10000", Some(RangeAdvice::Smaller)),
            ("backend response too large", Some(RangeAdvice::Smaller)),
            ("Response size is larger than 150MB limit.", Some(RangeAdvice::Smaller)),
        ] {
            assert_eq!(read(message), advice, "{message}");
        }
    }

    #[test]
    fn other_words_are_no_advice() {
        for message in ["execution reverted", "header not found", "invalid argument 0: hex string", ""] {
            assert_eq!(read(message), None, "{message}");
        }
    }

    #[test]
    fn a_proposal_that_makes_no_sense_is_only_a_complaint() {
        let backwards = "this block range should work: [0x20, 0x10]";
        assert_eq!(read(backwards), Some(RangeAdvice::Smaller));
        assert_eq!(read("limited to a 0 range"), Some(RangeAdvice::Smaller));
        let overflow = "max range: 99999999999999999999";
        assert_eq!(read(overflow), Some(RangeAdvice::Smaller));
    }
}
