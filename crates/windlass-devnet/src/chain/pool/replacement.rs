//! When a transaction may take the place of another with its sender and nonce.

use alloy_consensus::Transaction;

use crate::chain::tx::Tx;

/// How much more a replacement pays, in per cent of both fee fields (geth's rule).
const PRICE_BUMP_PERCENT: u128 = 10;

/// Whether `new` offers enough more than `old` in both fee fields.
pub(super) fn replaces(old: &Tx, new: &Tx) -> bool {
    outbids(old.signed().max_fee_per_gas(), new.signed().max_fee_per_gas())
        && outbids(old.tip_cap(), new.tip_cap())
}

/// More than before, and by the bump, whose fraction of a wei is let go.
fn outbids(old: u128, new: u128) -> bool {
    let threshold = old.saturating_mul(100 + PRICE_BUMP_PERCENT) / 100;
    new > old && new >= threshold
}

#[cfg(test)]
mod tests {
    use super::outbids;

    #[test]
    fn ten_per_cent_is_enough_and_less_is_not() {
        assert!(outbids(1_000, 1_100));
        assert!(!outbids(1_000, 1_099));
    }

    #[test]
    fn a_fraction_of_a_wei_is_let_go_but_equal_is_never_enough() {
        assert!(outbids(15, 16), "the threshold 16.5 is rounded down");
        assert!(!outbids(1, 1));
        assert!(outbids(1, 2));
        assert!(!outbids(0, 0));
        assert!(outbids(0, 1));
    }
}
