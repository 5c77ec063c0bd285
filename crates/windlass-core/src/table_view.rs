//! Views of typed tables: each shows its table as people read it, in whatever program
//! opens the database, with addresses, hashes and bytes as lower-case 0x text and amounts as
//! decimal text or numbers.
//!
//! A view is called like its table with `_view` behind it. Where something else has that
//! name already, or it would be too long, digits of a hash are put into it. The store keeps the
//! name beside the table's, so a view is never taken for a table, and never dropped for one
//! that a user has made.

use alloy_primitives::{hex, keccak256};

use crate::table::{Identifier, MAX_IDENTIFIER_BYTES};

/// What the name of a view ends with.
pub const VIEW_SUFFIX: &str = "_view";
/// How much of a table's name is in the second name of its view.
const NAME_PART_BYTES: usize = 40;
/// How many bytes of a hash are in it.
const HASH_BYTES: usize = 4;

/// What the view of a table can be called, best first.
pub fn view_names(table: &Identifier) -> Vec<String> {
    let digits = hex::encode(&keccak256(table.as_str())[..HASH_BYTES]);
    let plain = format!("{table}{VIEW_SUFFIX}");
    let hashed = format!("{:.NAME_PART_BYTES$}_{digits}{VIEW_SUFFIX}", table.as_str());
    [plain, hashed].into_iter().filter(|name| name.len() <= MAX_IDENTIFIER_BYTES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_called_like_its_table() {
        let name = |text: &str| view_names(&Identifier::new(text).expect("a name"));
        assert_eq!(name("fees")[0], "fees_view");
        assert_eq!(name("fees").len(), 2);
        let long = name(&"t".repeat(MAX_IDENTIFIER_BYTES));
        assert_eq!(long.len(), 1);
        assert!(long[0].len() <= MAX_IDENTIFIER_BYTES && long != name(&"t".repeat(62)), "{long:?}");
        for view in name("fees").into_iter().chain(long) {
            assert!(Identifier::new(view.clone()).is_ok(), "{view}");
        }
    }
}
