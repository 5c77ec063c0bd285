//! What providers say when a log range is too large.
//!
//! There is no standard for it: some name a range that works, some a number of
//! blocks or of results, most only complain. The wordings are matched loosely, since
//! they change without notice; what is not recognised stays an ordinary refusal.

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

/// What a provider counts: a limit on blocks holds for every range, one on results
/// depends on what the range holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeLimit {
    /// Too many blocks.
    Blocks,
    /// Too many results, or too much work to find them; and how many it allows, if it says so.
    Results(Option<u64>),
    /// Too much to find in the time that is waited.
    Time,
    /// It does not say which: smaller ranges pass, and this one does not.
    Unexplained,
}

/// A complaint about a range, understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) advice: RangeAdvice,
    pub(crate) limit: RangeLimit,
}

/// Phrases by which a complaint about a range's result is recognised, in lower case.
const ABOUT_RESULTS: [&str; 10] = [
    "response size exceeded",
    "response size is larger",
    "response size should not",
    "response too large",
    "response is too big",
    "query returned more than",
    "query exceeds max results",
    "query timeout exceeded",
    "logs matched by query",
    "request entity too large",
];

/// Phrases by which a complaint about a range's blocks is recognised.
const ABOUT_BLOCKS: [&str; 11] = [
    "block range should work",
    "query exceeds max",
    "exceeds limit of",
    "exceeds the range",
    "maximum block range",
    "max range",
    "block range",
    "range is too large",
    "range too large",
    "requested too many blocks",
    "limited to a",
];

/// Phrases by which a node says that it does not have the range's last blocks.
pub(crate) const BEYOND_HEAD: [&str; 4] =
    ["beyond current head", "beyond the head", "after last accepted block", "greater than latest block"];

/// Reads a provider's words; `None` when they are not about a range's size.
pub(crate) fn read(message: &str) -> Option<Complaint> {
    let text = message.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    let limit = if says(&BEYOND_HEAD) {
        return None;
    } else if says(&ABOUT_RESULTS) {
        RangeLimit::Results(number_behind(&text, &BEFORE_RESULTS))
    } else if says(&ABOUT_BLOCKS) {
        RangeLimit::Blocks
    } else {
        return None;
    };
    let advice = match proposed_range(&text) {
        Some(range) => RangeAdvice::Range(range),
        None if limit == RangeLimit::Blocks => {
            proposed_blocks(&text).map_or(RangeAdvice::Smaller, RangeAdvice::Blocks)
        }
        None => RangeAdvice::Smaller,
    };
    Some(Complaint { advice, limit })
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

/// Phrases directly before a number of blocks.
const BEFORE_BLOCKS: [&str; 10] = [
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

/// Phrases directly before a number of results.
const BEFORE_RESULTS: [&str; 4] =
    ["cap of ", "query returned more than ", "max results ", "exceeds limit of "];

fn proposed_blocks(text: &str) -> Option<u64> {
    // The same words about results ("logs matched by query exceeds limit of …") name no blocks.
    let about_range = text.trim_start().starts_with("range ").then_some("exceeds limit of ");
    number_behind(text, &BEFORE_BLOCKS)
        .or_else(|| about_range.and_then(|phrase| number_behind(text, &[phrase])))
}

/// The number behind the first phrase that has one.
fn number_behind(text: &str, phrases: &[&str]) -> Option<u64> {
    phrases.iter().find_map(|phrase| {
        let (_, rest) = text.split_once(phrase)?;
        let word = rest.split_whitespace().next()?;
        number(word.trim_end_matches(['.', ','])).filter(|number| *number > 0)
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

    fn blocks(advice: RangeAdvice) -> Option<Complaint> {
        Some(Complaint { advice, limit: RangeLimit::Blocks })
    }

    fn results(advice: RangeAdvice, limit: Option<u64>) -> Option<Complaint> {
        Some(Complaint { advice, limit: RangeLimit::Results(limit) })
    }

    fn range(from: u64, to: u64) -> RangeAdvice {
        RangeAdvice::Range(BlockRange { from, to })
    }

    #[test]
    fn complaints_about_blocks_are_understood() {
        for (message, advice) in [
            (
                "You can make eth_getLogs requests with up to a 10 block range. Based on your parameters, \
                 this block range should work: [0x10, 0x19]",
                range(16, 25),
            ),
            ("eth_getLogs is limited to a 10,000 range", RangeAdvice::Blocks(10_000)),
            ("eth_getLogs is limited to 1024 block range.", RangeAdvice::Blocks(1_024)),
            ("exceed maximum block range: 5000", RangeAdvice::Blocks(5_000)),
            ("query exceeds max block range 10000", RangeAdvice::Blocks(10_000)),
            ("range 62787 exceeds limit of 10000", RangeAdvice::Blocks(10_000)),
            ("Max range: 800", RangeAdvice::Blocks(800)),
            ("eth_getLogs range is too large, max is 1k blocks", RangeAdvice::Blocks(1_000)),
            ("requested too many blocks from 0 to 5000, maximum is set to 2048", RangeAdvice::Blocks(2_048)),
            ("block range is too wide", RangeAdvice::Smaller),
            ("Block range limit exceeded.", RangeAdvice::Smaller),
        ] {
            assert_eq!(read(message), blocks(advice), "{message}");
        }
    }

    #[test]
    fn complaints_about_results_are_understood() {
        for (message, advice, limit) in [
            (
                "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no \
                 limit on the response size, or you can request any block range with a cap of 10K logs in the \
                 response. Based on your parameters, this block range should work: [0x10, 0x3e7]",
                range(16, 999),
                Some(10_000),
            ),
            (
                "query returned more than 10000 results. Try with this block range [0xF, 0x1F].",
                range(15, 31),
                Some(10_000),
            ),
            ("query exceeds max results 20000, retry with the range 100-250", range(100, 250), Some(20_000)),
            ("query timeout exceeded", RangeAdvice::Smaller, None),
            ("logs matched by query exceeds limit of 10000", RangeAdvice::Smaller, Some(10_000)),
            ("backend response too large", RangeAdvice::Smaller, None),
            ("Response size is larger than 150MB limit.", RangeAdvice::Smaller, None),
        ] {
            assert_eq!(read(message), results(advice, limit), "{message}");
        }
    }

    #[test]
    fn other_words_are_no_complaint() {
        for message in [
            "execution reverted",
            "header not found",
            "invalid argument 0: hex string",
            "block range extends beyond current head block",
            "",
        ] {
            assert_eq!(read(message), None, "{message}");
        }
    }

    #[test]
    fn a_proposal_that_makes_no_sense_is_only_a_complaint() {
        let backwards = "this block range should work: [0x20, 0x10]";
        assert_eq!(read(backwards), blocks(RangeAdvice::Smaller));
        assert_eq!(read("limited to a 0 range"), blocks(RangeAdvice::Smaller));
        let overflow = "max range: 99999999999999999999";
        assert_eq!(read(overflow), blocks(RangeAdvice::Smaller));
    }
}
