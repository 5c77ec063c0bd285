//! What the deserialiser says, in plain words: it speaks of types, people of values.

/// A message of the deserialiser without its own words. Messages of our own types pass as they are.
pub(crate) fn plain(message: &str) -> String {
    let message = message.trim_end();
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("{field} is missing");
    }
    if let Some((wrong, known)) = message.strip_prefix("unknown variant ").and_then(split) {
        let known = known.strip_prefix("one of ").unwrap_or(known);
        return format!("{wrong} is not known here; known: {known}");
    }
    for prefix in ["invalid type: ", "invalid value: "] {
        if let Some((found, wanted)) = message.strip_prefix(prefix).and_then(split) {
            return format!("{} is wanted, not {}", wanted_words(wanted), found_words(found));
        }
    }
    match TYPE_WORDS.iter().any(|word| message.contains(word)) {
        true => "the value does not fit".to_owned(),
        false => message.to_owned(),
    }
}

/// Words that give away a message of the deserialiser which is not known above.
const TYPE_WORDS: [&str; 9] =
    ["struct ", "variant", "tuple", "enum ", "sequence", "newtype", "u64", "i64", "element"];

fn split(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once(", expected ")
}

fn wanted_words(wanted: &str) -> &'static str {
    match wanted {
        "a string" | "string only" | "string or table" => "text in quotes",
        "u8" | "u16" | "u32" | "u64" => "a whole number of 0 or more",
        "i8" | "i16" | "i32" | "i64" => "a whole number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a section of settings",
        wanted if wanted.starts_with("struct ") => "a section of settings",
        wanted if wanted.contains("variant") => "text in quotes",
        _ => "another kind of value",
    }
}

/// What was found, without texts: one may be a secret at the wrong place.
fn found_words(found: &str) -> String {
    let (kind, value) = found.split_once(' ').unwrap_or((found, ""));
    match kind {
        "string" | "character" => "this text".to_owned(),
        "integer" => format!("the number {}", value.trim_matches('`')),
        "floating" => format!("the number {}", value.trim_start_matches("point ").trim_matches('`')),
        "boolean" => value.trim_matches('`').to_owned(),
        "sequence" => "a list".to_owned(),
        "map" => "a section".to_owned(),
        _ => "this".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_needs_to_know_the_types() {
        for (said, told) in [
            ("missing field `id`", "`id` is missing"),
            ("unknown variant `loud`, expected `a` or `b`", "`loud` is not known here; known: `a` or `b`"),
            (
                "invalid type: string \"hunter2, expected x\", expected u64",
                "a whole number of 0 or more is wanted, not this text",
            ),
            (
                "invalid value: integer `-1`, expected u64",
                "a whole number of 0 or more is wanted, not the number -1",
            ),
            (
                "invalid type: floating point `1.5`, expected a string",
                "text in quotes is wanted, not the number 1.5",
            ),
            ("invalid type: map, expected a sequence", "a list is wanted, not a section"),
            ("invalid type: sequence, expected struct Chain", "a section of settings is wanted, not a list"),
            ("invalid type: map, expected unit variant", "text in quotes is wanted, not a section"),
            ("wanted exactly 1 element, more than 1 element", "the value does not fit"),
            ("a chain has 1 to 64 endpoints, not 0", "a chain has 1 to 64 endpoints, not 0"),
        ] {
            assert_eq!(plain(said), told);
        }
    }
}
