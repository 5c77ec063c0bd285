//! Numbers as JavaScript reads them from text, and writes them to JSON: the fee
//! collector's users may rely on either.

use serde_json::Value;

/// The whole numbers that JavaScript tells apart.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// `Number(text)`: NaN for what is not a number, 0 for nothing.
pub(super) fn number(text: &str) -> f64 {
    let text = text.trim_matches(is_white);
    if text.is_empty() {
        return 0.0;
    }
    if let Some((prefix, digits)) = text.split_at_checked(2) {
        match prefix {
            "0x" | "0X" => return whole(digits, 16),
            "0o" | "0O" => return whole(digits, 8),
            "0b" | "0B" => return whole(digits, 2),
            _ => {}
        }
    }
    match text {
        "Infinity" | "+Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        // The rest of what Rust takes for a number is one in JavaScript too.
        _ if text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte)) => {
            text.parse().unwrap_or(f64::NAN)
        }
        _ => f64::NAN,
    }
}

/// White space and ends of lines, as ECMAScript counts them.
fn is_white(c: char) -> bool {
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}

/// Digits of another base; NaN if there are none, or others.
fn whole(digits: &str, base: u32) -> f64 {
    if digits.is_empty() {
        return f64::NAN;
    }
    let mut all = digits.chars().map(|c| c.to_digit(base));
    let sum = all.try_fold(0.0, |sum, digit| Some(sum * f64::from(base) + f64::from(digit?)));
    sum.unwrap_or(f64::NAN)
}

/// `JSON.stringify(number)`: whole numbers without a point, `null` for what is not finite.
pub(super) fn json(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() <= MAX_SAFE_INTEGER {
        return Value::from(number as i64);
    }
    Value::from(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_javascript_reads_it() {
        let cases = [
            ("", 0.0),
            (" \t\u{feff}\u{a0}\n", 0.0),
            ("137", 137.0),
            (" 137 ", 137.0),
            ("137.5", 137.5),
            ("0137", 137.0),
            ("1e2", 100.0),
            ("1E+2", 100.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("+7", 7.0),
            ("-7", -7.0),
            ("-0", 0.0),
            ("0x89", 137.0),
            ("0X89", 137.0),
            ("0b11", 3.0),
            ("0o17", 15.0),
            ("1e400", f64::INFINITY),
            ("Infinity", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
        ];
        for (text, expected) in cases {
            assert_eq!(number(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_javascript_takes_for_no_number_is_none() {
        let texts = [
            "abc", "1,000", "1_000", "12px", "0x", "0xg", "-0x10", "+0b1", "inf", "infinity", "NaN", ".",
            "e5", "1e", "--1", "1 2", "\u{85}", "é", "1e+", "0x1.5", "1n",
        ];
        for text in texts {
            assert!(number(text).is_nan(), "{text:?}");
        }
    }

    #[test]
    fn numbers_are_written_as_javascript_writes_them() {
        assert_eq!(json(20.0).to_string(), "20");
        assert_eq!(json(1.5).to_string(), "1.5");
        assert_eq!(json(f64::INFINITY).to_string(), "null");
        assert_eq!(json(1e21), 1e21);
    }
}
