//! Numbers for people.

/// A count with commas: `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A rate: with a decimal as long as that says something.
pub(crate) fn rate(per_s: f64) -> String {
    if per_s < 100.0 {
        return format!("{per_s:.1}");
    }
    // A rate is positive and far below the limit of whole numbers.
    count(per_s.round() as u64)
}

/// A time in its two largest units: `2d 3h`, `1h 1m`, `45s`.
pub(crate) fn seconds(seconds: u64) -> String {
    let units = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let mut parts = Vec::new();
    let mut left = seconds;
    for (length, unit) in units {
        if left >= length || !parts.is_empty() {
            parts.push(format!("{}{unit}", left / length));
            left %= length;
        }
    }
    match parts.as_slice() {
        [] => "0s".to_owned(),
        [one] => one.clone(),
        [first, second, ..] => format!("{first} {second}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        let counts = [0, 7, 999, 1_000, 1_234_567].map(count);
        assert_eq!(counts, ["0", "7", "999", "1,000", "1,234,567"]);
        assert_eq!([0.0, 9.96, 99.94, 100.0, 1_234.5].map(rate), ["0.0", "10.0", "99.9", "100", "1,235"]);
        assert_eq!([0, 59, 60, 3_700, 183_600].map(seconds), ["0s", "59s", "1m 0s", "1h 1m", "2d 3h"]);
    }
}
