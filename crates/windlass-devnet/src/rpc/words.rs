//! What is wrong with a parameter, in words for people who write no Rust.

/// Words that only mean something to whoever reads this program.
const INNER_WORDS: [&str; 12] = [
    "struct ", "enum ", "variant", "tuple", "untagged", "newtype", "borrowed", "u64", "u8", "usize", "f64",
    "i64",
];

/// The parser's words without the place in the text and without Rust's names.
pub(crate) fn plain(error: &serde_json::Error) -> String {
    let whole = error.to_string();
    let words = whole.split_once(" at line ").map_or(whole.as_str(), |(words, _)| words);
    if !INNER_WORDS.iter().any(|inner| words.contains(inner)) {
        return words.replace("a sequence", "a list").replace("a map", "an object");
    }
    let found = words.strip_prefix("invalid type: ").or_else(|| words.strip_prefix("invalid value: "));
    match found.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((found, _)) => format!("unexpected {}", kind(found)),
        None => unknown(words).unwrap_or_else(|| "not a value that is allowed here".to_owned()),
    }
}

/// What was sent, as JSON names it.
fn kind(found: &str) -> &str {
    match found {
        "map" => "object",
        "sequence" => "list",
        "newtype variant" | "unit variant" | "struct variant" | "tuple variant" => "value",
        other => other,
    }
}

/// One of several words was expected, and another came.
fn unknown(words: &str) -> Option<String> {
    words.strip_prefix("unknown variant ").map(|rest| format!("unknown value {rest}"))
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, de::DeserializeOwned};

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only read")]
    enum Choice {
        One,
        Many(u64),
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only read")]
    enum Either {
        Number(u64),
        Truth(bool),
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Thing {
        size: u64,
    }

    fn words<T: DeserializeOwned + std::fmt::Debug>(text: &str) -> String {
        plain(&serde_json::from_str::<T>(text).unwrap_err())
    }

    #[test]
    fn says_what_came_and_nothing_of_rust() {
        assert_eq!(words::<Thing>("7"), "unexpected integer `7`");
        assert_eq!(words::<Thing>("[[]]"), "unexpected list");
        assert_eq!(words::<Thing>(r#"{"size":"x, expected y"}"#), r#"unexpected string "x, expected y""#);
        assert_eq!(words::<Thing>("{}"), "missing field `size`");
        assert_eq!(words::<Vec<bool>>("true"), "invalid type: boolean `true`, expected a list");
        assert_eq!(words::<Either>("{}"), "not a value that is allowed here");
        assert_eq!(words::<Choice>(r#""two""#), "unknown value `two`, expected `one` or `many`");
        assert_eq!(words::<Choice>(r#""many""#), "unexpected value");
        assert_eq!(words::<u64>("-1"), "unexpected integer `-1`");
    }
}
