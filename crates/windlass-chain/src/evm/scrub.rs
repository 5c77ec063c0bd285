//! Takes an endpoint's keys out of what a provider says.
//!
//! Some providers repeat the URL they were called by, or the header that its user part
//! became. Every piece of it that may be a key is hidden wherever it occurs, in any case,
//! written out, percent-encoded or in Base64; a text is never longer than a screen's few
//! lines.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use url::Url;

use super::endpoint::HIDDEN;

/// A provider's words are cut to this many characters.
const MAX_MESSAGE_CHARS: usize = 500;
/// Shorter pieces are hidden as words of their own only: within words they would maim the text.
const MIN_WITHIN_WORDS_BYTES: usize = 4;
/// Pieces of paths that say what is served and open nothing.
const HARMLESS_SEGMENTS: [&str; 6] = ["v1", "v2", "v3", "api", "rpc", "jsonrpc"];

/// What is hidden for one endpoint.
#[derive(Clone)]
pub(crate) struct Scrubber {
    /// In ASCII lower case.
    keys: Vec<String>,
}

impl Scrubber {
    /// Hides the user part, the path's segments and the query's values of a URL.
    pub(crate) fn of(url: &Url) -> Self {
        let path = url.path_segments().into_iter().flatten();
        let path = path.filter(|segment| !HARMLESS_SEGMENTS.contains(segment)).map(str::to_owned);
        let query = url.query_pairs().map(|(name, value)| if value.is_empty() { name } else { value });
        let raw_query = url.query().unwrap_or_default().split('&').map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if value.is_empty() { name } else { value }.to_owned()
        });
        let user = [url.username(), url.password().unwrap_or_default()].map(str::to_owned);
        let pieces = path.chain(query.map(|value| value.into_owned())).chain(raw_query).chain(user);
        let mut keys: Vec<String> = pieces
            .flat_map(|piece| [percent_decoded(&piece), piece])
            .chain(basic_credentials(url))
            .map(|key| key.to_ascii_lowercase())
            .filter(|key| !key.is_empty())
            .collect();
        keys.sort_unstable();
        keys.dedup();
        Self { keys }
    }

    /// The text without keys, control characters and marks that alter how the text around them
    /// is shown, and not too long.
    pub(crate) fn scrub(&self, text: &str) -> String {
        let shown = self.hide(text.trim()).replace(is_not_shown, " ");
        match shown.char_indices().nth(MAX_MESSAGE_CHARS) {
            Some((end, _)) => format!("{}…", &shown[..end]),
            None => shown,
        }
    }

    /// Keys may overlap, so all their places are found before any is replaced.
    fn hide(&self, text: &str) -> String {
        let lower = text.to_ascii_lowercase();
        let mut places: Vec<(usize, usize)> = Vec::new();
        for key in &self.keys {
            let found = lower.match_indices(key.as_str()).map(|(start, _)| (start, start + key.len()));
            let whole = |(start, end): &(usize, usize)| {
                key.len() >= MIN_WITHIN_WORDS_BYTES || stands_alone(&lower, *start, *end)
            };
            places.extend(found.filter(whole));
        }
        places.sort_unstable();
        let mut shown = String::with_capacity(text.len());
        let mut done = 0;
        for (start, end) in places {
            if start >= done {
                shown.push_str(&text[done..start]);
                shown.push_str(HIDDEN);
            }
            done = done.max(end);
        }
        shown + &text[done..]
    }
}

/// A user part as an `Authorization` header has it, with and without what fills it up.
fn basic_credentials(url: &Url) -> Vec<String> {
    let user = percent_decoded(url.username());
    let password = percent_decoded(url.password().unwrap_or_default());
    if user.is_empty() && password.is_empty() {
        return Vec::new();
    }
    let encoded = [STANDARD, URL_SAFE].map(|way| way.encode(format!("{user}:{password}")));
    encoded.iter().flat_map(|text| [text.clone(), text.trim_end_matches('=').to_owned()]).collect()
}

fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let before = text[..start].chars().next_back();
    let after = text[end..].chars().next();
    ![before, after].into_iter().flatten().any(char::is_alphanumeric)
}

/// A piece of a URL as it was meant.
pub(super) fn percent_decoded(piece: &str) -> String {
    // What a query says of `+` does not hold elsewhere; spaces are no part of keys.
    let pair = format!("k={}", piece.replace('+', "%2B"));
    url::form_urlencoded::parse(pair.as_bytes()).map(|(_, value)| value.into_owned()).collect()
}

/// Whether a character controls the terminal or the direction of the text, or cannot be seen.
fn is_not_shown(c: char) -> bool {
    let is_mark = matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
    );
    c.is_control() || is_mark
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrub(url: &str, text: &str) -> String {
        Scrubber::of(&Url::parse(url).expect("a url")).scrub(text)
    }

    #[test]
    fn keys_do_not_come_back_in_a_providers_words() {
        let url = "https://me:pw@h.example/v2/hunter2/KEY?k=swordfish&bare";
        let said =
            scrub(url, "bad key hunter2 (HUNTER2), key or xswordfishx\nin v2 for me:pw, not some bare; ");
        assert_eq!(said, "bad *** *** (***), *** or x***x in v2 for ***:***, not some ***;");
        assert_eq!(scrub("https://h", &"x".repeat(1_000)).chars().count(), MAX_MESSAGE_CHARS + 1);
    }

    #[test]
    fn marks_that_alter_the_text_around_them_are_taken_out() {
        assert_eq!(scrub("https://h", "a\u{202e}b\u{200b}c\u{2066}d\u{1b}[1m\u{feff}e"), "a b c d [1m e");
    }

    #[test]
    fn keys_that_overlap_leave_nothing_behind() {
        assert_eq!(scrub("https://h/abcde/defgh", "<abcdefgh>"), "<***>");
        assert_eq!(scrub("https://h/abcd/abcdefgh", "abcdefgh"), "***");
    }

    #[test]
    fn encoding_is_no_way_around() {
        let url = "https://h/se%2Fkret?k=a%20b%2Bcd";
        assert_eq!(scrub(url, "se/kret se%2fkret a b+cd a%20b%2Bcd"), "*** *** *** ***");
    }

    /// A user part leaves as `Authorization: Basic …`, and some providers repeat what they were sent.
    #[test]
    fn the_user_part_is_hidden_as_it_travels_too() {
        let url = "https://me%40x:p%2Fw%3E%3E%3Fz@h.example";
        let said = scrub(url, "no plan for Basic bWVAeDpwL3c+Pj96, nor bWVAeDpwL3c-Pj96");
        assert_eq!(said, "no plan for Basic ***, nor ***");
        assert_eq!(scrub("https://:hunter2@h", "Basic Omh1bnRlcjI= (Omh1bnRlcjI)"), "Basic *** (***)");
        assert_eq!(scrub("https://h.example", "Og== stays"), "Og== stays", "nobody's credentials");
    }

    #[test]
    fn a_key_is_hidden_before_the_text_is_cut() {
        let text = format!("{}hunter2hunter2", "x".repeat(MAX_MESSAGE_CHARS - 5));
        assert!(!scrub("https://h/hunter2hunter2", &text).contains("hunt"));
    }
}
