//! How deep a query is nested, before anything reads it.
//!
//! Whoever reads nested text does so step by step inside itself, and so do the checks
//! behind: values nested some thousand deep would take all of the stack, and the
//! process with it. So brackets are counted first, as the tokens of GraphQL have them.

use crate::limits::MAX_GRAPHQL_NESTING;

/// Whether brackets stand in each other deeper than is read.
pub(super) fn is_too_deep(query: &str) -> bool {
    let mut depth = 0_usize;
    let mut rest = query.as_bytes();
    while let [first, behind @ ..] = rest {
        rest = match first {
            b'#' => skip_comment(behind),
            b'"' => skip_string(rest),
            _ => behind,
        };
        match first {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_GRAPHQL_NESTING {
            return true;
        }
    }
    false
}

fn skip_comment(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| b"\r\n".contains(byte));
    end.map_or(&[], |end| &text[end..])
}

/// What is behind a string, which begins with its quotes.
fn skip_string(text: &[u8]) -> &[u8] {
    let quotes: &[u8] = if text.starts_with(br#"""""#) { br#"""""# } else { br#"""# };
    // In a block `\"""` is text, in a string whatever stands behind `\`.
    let escape = if quotes.len() == 3 { 4 } else { 2 };
    let mut rest = &text[quotes.len()..];
    while !rest.is_empty() {
        if rest.starts_with(quotes) {
            return &rest[quotes.len()..];
        }
        let is_escape = rest[0] == b'\\' && (quotes.len() == 1 || rest.starts_with(br#"\""""#));
        rest = &rest[if is_escape { escape.min(rest.len()) } else { 1 }..];
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_are_counted() {
        for (open, close) in [("{", "}"), ("[", "]"), ("(", ")")] {
            let nested = |depth| format!("{}{}", open.repeat(depth), close.repeat(depth));
            assert!(!is_too_deep(&nested(MAX_GRAPHQL_NESTING)));
            assert!(is_too_deep(&nested(MAX_GRAPHQL_NESTING + 1)));
        }
        assert!(!is_too_deep(&"{}".repeat(1_000)));
        assert!(is_too_deep(&"[{(".repeat(100)));
    }

    #[test]
    fn what_is_no_token_does_not_count() {
        let many = "[".repeat(1_000);
        for text in [
            format!("# {many}"),
            format!("{{ # {many}\n }}"),
            format!(r#""{many}""#),
            format!(r#""\"{many}""#),
            format!(r#""\\" "{many}""#),
            format!(r#""""{many}""""#),
            format!(r#""""{many} " "" \""" {many}""""#),
            r#""""\""""#.to_owned(),
            r#""\"#.to_owned(),
            format!("\"{many}"),
        ] {
            assert!(!is_too_deep(&text), "{text}");
        }
    }

    #[test]
    fn what_follows_a_string_or_comment_counts() {
        let many = "[".repeat(1_000);
        for before in
            ["# x\n", "# \"\r", r#""""#, r#""x""#, r#""\\""#, r#""\"""#, r#""""x\""" """"#, r#""""""""#]
        {
            assert!(is_too_deep(&format!("{before}{many}")), "{before}");
        }
    }
}
