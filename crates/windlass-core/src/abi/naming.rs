//! Names of tables and columns, from names that contracts use.
//!
//! A name depends on nothing but what it is made from, so that it is the same on every
//! machine and after every restart. What is longer than a name may be is cut, and ends
//! in a hash of the whole.

use alloy_primitives::{hex, keccak256};

use crate::table::{Identifier, MAX_IDENTIFIER_BYTES};

/// Hexadecimal digits of a hash that stands in a name.
pub(super) const HASH_DIGITS: usize = 8;

/// `lifiFee` is `lifi_fee`, `_to` is `to`, `tokenID` is `token_id`, `URIUpdated` is
/// `uri_updated`. Empty if nothing is left of it.
pub(super) fn snake(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut snake = String::with_capacity(name.len() + 8);
    for (place, &c) in chars.iter().enumerate() {
        if !c.is_ascii_alphanumeric() {
            separate(&mut snake);
            continue;
        }
        let before = place.checked_sub(1).and_then(|before| chars.get(before));
        let after = chars.get(place + 1);
        let ends_lower = before.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let ends_acronym =
            before.is_some_and(char::is_ascii_uppercase) && after.is_some_and(char::is_ascii_lowercase);
        if c.is_ascii_uppercase() && (ends_lower || ends_acronym) {
            separate(&mut snake);
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake.truncate(snake.trim_end_matches('_').len());
    snake
}

/// Begins a new word, if one has ended.
fn separate(snake: &mut String) {
    if !snake.is_empty() && !snake.ends_with('_') {
        snake.push('_');
    }
}

/// The name of the column for a field: `field_2` for the second, if it has no name.
pub(super) fn column(field: &str, number: usize) -> String {
    let snake = snake(field);
    match snake.chars().next() {
        None => format!("field_{number}"),
        Some(c) if c.is_ascii_digit() => format!("field_{snake}"),
        Some(_) => snake,
    }
}

/// The first digits of a hash.
pub(super) fn digits(hash: &[u8]) -> String {
    let mut digits = hex::encode(hash);
    digits.truncate(HASH_DIGITS);
    digits
}

/// The text as a name: as it is, or cut.
pub(super) fn identifier(text: &str) -> Identifier {
    let cut = MAX_IDENTIFIER_BYTES - HASH_DIGITS - 1;
    let fitting = match text.get(..cut) {
        Some(start) if text.len() > MAX_IDENTIFIER_BYTES => {
            format!("{start}_{}", digits(keccak256(text).as_slice()))
        }
        _ => text.to_owned(),
    };
    Identifier::new(fitting).expect("it is made of letters, digits and `_`, a letter first")
}

/// The first of `name`, `name_2`, `name_3` and so on that is free.
pub(super) fn numbered(name: &str, is_taken: impl Fn(&Identifier) -> bool) -> Identifier {
    let mut number = 1_u64;
    loop {
        let next = if number == 1 { identifier(name) } else { identifier(&format!("{name}_{number}")) };
        if !is_taken(&next) {
            return next;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_begin_where_people_see_them() {
        for (name, expected) in [
            ("lifiFee", "lifi_fee"),
            ("_integratorFee", "integrator_fee"),
            ("tokenID", "token_id"),
            ("URIUpdated", "uri_updated"),
            ("FeesCollected", "fees_collected"),
            ("LiFiFeesWithdrawn", "li_fi_fees_withdrawn"),
            ("amount0In", "amount0_in"),
            ("sqrtPriceX96", "sqrt_price_x96"),
            ("ERC20Transfer", "erc20_transfer"),
            ("already_snake__case_", "already_snake_case"),
            ("A", "a"),
            ("a$b", "a_b"),
            ("__", ""),
        ] {
            assert_eq!(snake(name), expected, "{name}");
        }
        assert_eq!(column("", 3), "field_3");
        assert_eq!(column("_", 3), "field_3");
        assert_eq!(column("_1", 3), "field_1");
    }

    #[test]
    fn a_long_name_is_cut_and_stays_its_own() {
        let long = |end: &str| format!("{}{end}", "a".repeat(62));
        assert_eq!(identifier(&long("b")).as_str(), long("b"));
        let (one, other) = (identifier(&long("bc")), identifier(&long("bd")));
        assert_eq!(one.as_str().len(), MAX_IDENTIFIER_BYTES);
        assert_ne!(one, other);
        assert_eq!(one, identifier(&long("bc")), "the same on every machine");
    }

    #[test]
    fn taken_names_get_numbers() {
        let taken = ["a", "a_2"].map(|name| Identifier::new(name).expect("a name"));
        assert_eq!(numbered("a", |name| taken.contains(name)).as_str(), "a_3");
        assert_eq!(numbered("b", |name| taken.contains(name)).as_str(), "b");
    }

    proptest! {
        #[test]
        fn every_abi_name_makes_a_column(name in "[a-zA-Z_$][a-zA-Z0-9_$]{0,100}", number in 1_usize..300) {
            let column = column(&name, number);
            prop_assert!(!identifier(&column).as_str().is_empty());
            prop_assert_eq!(&snake(&column), &column, "a name that is snake case already stays");
        }
    }
}
