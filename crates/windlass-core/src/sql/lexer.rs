//! A statement as tokens.
//!
//! Both databases and this lexer must agree on where strings, names and comments end:
//! otherwise a call could hide in what this takes for a string. So whatever they read
//! differently is refused: strings with a prefix, dollar quotes, comments in comments.

/// Whose SQL it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite's: names may be in back quotes and brackets.
    Sqlite,
    /// PostgreSQL's.
    Postgres,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// White space or a comment.
    Space,
    /// A keyword or a name.
    Word,
    /// A name in quotes.
    Quoted,
    /// A string.
    Text,
    /// A number.
    Number,
    /// Any other character.
    Symbol,
}

/// A piece of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: TokenKind,
    /// As it was written.
    pub text: &'a str,
}

impl Token<'_> {
    /// Whether it is this word, in whatever case.
    pub fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether it is this character.
    pub fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == TokenKind::Symbol && self.text == symbol
    }

    /// The name that it is, as both databases compare names; `None` for what is none.
    pub fn name(&self) -> Option<String> {
        match self.kind {
            TokenKind::Word => Some(self.text.to_ascii_lowercase()),
            TokenKind::Quoted => {
                let quote = &self.text[..1];
                let inner = &self.text[1..self.text.len() - 1];
                Some(inner.replace(&quote.repeat(2), quote))
            }
            _ => None,
        }
    }
}

/// Why a text has no tokens.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LexError {
    /// A string, a name in quotes or a comment has no end.
    #[error("{0} has no end")]
    Open(&'static str),
    /// It is read differently by different databases or settings.
    #[error("{0} is not accepted")]
    Refused(&'static str),
}

/// The tokens of a text, which they make up whole.
pub fn tokens(text: &str, dialect: Dialect) -> Result<Vec<Token<'_>>, LexError> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (kind, len) = next(rest, first, dialect)?;
        let (token, behind) = rest.split_at(len);
        if kind == TokenKind::Word {
            refuse_prefix(token, behind)?;
        }
        found.push(Token { kind, text: token });
        rest = behind;
    }
    Ok(found)
}

/// What a text begins with, and how many bytes that has.
fn next(rest: &str, first: char, dialect: Dialect) -> Result<(TokenKind, usize), LexError> {
    let is_sqlite = dialect == Dialect::Sqlite;
    match first {
        '-' if rest.starts_with("--") => Ok((TokenKind::Space, line_comment(rest)?)),
        '/' if rest.starts_with("/*") => Ok((TokenKind::Space, comment(rest)?)),
        '\'' => Ok((TokenKind::Text, quoted(rest, '\'').ok_or(LexError::Open("a string"))?)),
        '"' => Ok((TokenKind::Quoted, quoted(rest, '"').ok_or(LexError::Open("a quoted name"))?)),
        '`' if is_sqlite => {
            Ok((TokenKind::Quoted, quoted(rest, '`').ok_or(LexError::Open("a quoted name"))?))
        }
        '[' if is_sqlite => {
            let end = rest.find(']').ok_or(LexError::Open("a quoted name"))?;
            Ok((TokenKind::Quoted, end + 1))
        }
        '$' => Err(LexError::Refused("a parameter or a dollar-quoted string (`$`)")),
        '\0' => Err(LexError::Refused("the character NUL")),
        c if is_space(c) => Ok((TokenKind::Space, length(rest, is_space))),
        c if c.is_ascii_digit() => Ok((TokenKind::Number, number(rest)?)),
        '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => Ok((TokenKind::Number, number(rest)?)),
        c if is_in_word(c) => Ok((TokenKind::Word, length(rest, |c| is_in_word(c) || c == '$'))),
        c => Ok((TokenKind::Symbol, c.len_utf8())),
    }
}

/// Other white space is part of a name to databases.
fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\u{b}'
}

fn is_in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

fn length(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.find(|c| !fits(c)).unwrap_or(text.len())
}

/// The length of what is in quotes; within, a quote is written twice.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut at = 1;
    loop {
        at += text[at..].find(quote)? + 1;
        if !text[at..].starts_with(quote) {
            return Some(at);
        }
        at += 1;
    }
}

/// The length of a comment up to the end of its line. A carriage return ends it for PostgreSQL
/// and not for SQLite.
fn line_comment(text: &str) -> Result<usize, LexError> {
    let end = text.find('\n').unwrap_or(text.len());
    let line = text[..end].strip_suffix('\r').unwrap_or(&text[..end]);
    if line.contains('\r') {
        return Err(LexError::Refused("a carriage return in a comment"));
    }
    Ok(end)
}

/// The length of a comment. PostgreSQL's may have comments within, SQLite's not.
fn comment(text: &str) -> Result<usize, LexError> {
    let end = text[2..].find("*/").ok_or(LexError::Open("a comment"))? + 2;
    if text[2..end].contains("/*") {
        return Err(LexError::Refused("a comment within a comment"));
    }
    Ok(end + 2)
}

/// The length of a number: digits, a point, an exponent with its sign, digits to another base.
/// Letters behind it are refused: some versions begin a name with them.
fn number(text: &str) -> Result<usize, LexError> {
    let is_hex = text.starts_with("0x") || text.starts_with("0X");
    let mut end = 0;
    let mut before = ' ';
    for (place, c) in text.char_indices() {
        let is_sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E') && !is_hex;
        if !(is_in_word(c) || c == '.' || is_sign) {
            break;
        }
        (end, before) = (place + c.len_utf8(), c);
    }
    let is_digit = |c: char| match is_hex {
        true => c.is_ascii_hexdigit(),
        false => c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'),
    };
    let digits = if is_hex { &text[2..end] } else { &text[..end] };
    if digits.chars().all(is_digit) {
        Ok(end)
    } else {
        Err(LexError::Refused("a number with letters behind it"))
    }
}

/// Refuses strings and names with a prefix, but for `x'…'`, which has no quote in it.
fn refuse_prefix(word: &str, behind: &str) -> Result<(), LexError> {
    let is_unicode =
        word.eq_ignore_ascii_case("u") && (behind.starts_with("&'") || behind.starts_with("&\""));
    let is_prefixed = behind.starts_with('\'') && !word.eq_ignore_ascii_case("x");
    if is_unicode || is_prefixed {
        return Err(LexError::Refused("a string with a prefix (`E'…'`, `U&'…'`)"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str, dialect: Dialect) -> Vec<(TokenKind, &str)> {
        let all = tokens(text, dialect).expect(text);
        all.into_iter()
            .filter(|token| token.kind != TokenKind::Space)
            .map(|token| (token.kind, token.text))
            .collect()
    }

    #[test]
    fn strings_names_and_comments_end_where_they_do() {
        use TokenKind::{Number, Quoted, Symbol, Text, Word};
        let text = "SELECT 'it''s -- no' , \"a\"\"b\" -- c '\n, /* ' */ x'ff', 1e-5-.5";
        let expected = [
            (Word, "SELECT"),
            (Text, "'it''s -- no'"),
            (Symbol, ","),
            (Quoted, "\"a\"\"b\""),
            (Symbol, ","),
            (Word, "x"),
            (Text, "'ff'"),
            (Symbol, ","),
            (Number, "1e-5"),
            (Symbol, "-"),
            (Number, ".5"),
        ];
        assert_eq!(shown(text, Dialect::Postgres), expected);
        assert_eq!(shown(text, Dialect::Sqlite), expected);
        assert_eq!(shown("`a b`[c d]", Dialect::Sqlite), [(Quoted, "`a b`"), (Quoted, "[c d]")]);
        assert_eq!(shown("a[1]", Dialect::Postgres).len(), 4);
    }

    #[test]
    fn what_databases_read_differently_is_refused() {
        let refused = [
            "E'a'",
            "U&'a'",
            "u&\"a\"",
            "$$a$$",
            "$1",
            "/* /* */ */",
            "a\0",
            "N'a'",
            "-- a\rb\n",
            "1b",
            "0xfg",
        ];
        for text in refused {
            assert!(matches!(tokens(text, Dialect::Postgres), Err(LexError::Refused(_))), "{text}");
        }
        for text in ["'a", "\"a", "/* a", "'a''", "/*/"] {
            assert!(matches!(tokens(text, Dialect::Sqlite), Err(LexError::Open(_))), "{text}");
        }
    }

    #[test]
    fn names_are_compared_as_databases_do() {
        let name = |text| tokens(text, Dialect::Sqlite).expect(text)[0].name();
        assert_eq!(name("Fees").as_deref(), Some("fees"));
        assert_eq!(name("\"Fe\"\"es\"").as_deref(), Some("Fe\"es"));
        assert_eq!(name("[Fees]").as_deref(), Some("Fees"));
        assert_eq!(name("'fees'"), None);
    }

    proptest! {
        #[test]
        fn tokens_make_up_the_whole_text(text in "[a-zE'\"`\\[\\]\\-/*$ 0-9.x\n\u{e9};(]{0,40}") {
            for dialect in [Dialect::Sqlite, Dialect::Postgres] {
                if let Ok(all) = tokens(&text, dialect) {
                    let whole: String = all.iter().map(|token| token.text).collect();
                    prop_assert_eq!(&whole, &text);
                }
            }
        }
    }
}
