//! How many requests verification may use: a share of all requests to the chain's endpoints,
//! on average since the process began, and a small allowance to begin with. Pure.

/// A short history is verified at once, whatever the share.
const ALLOWANCE_REQUESTS: u64 = 256;
/// The whole, in parts per million.
const WHOLE_PPM: u64 = 1_000_000;

/// The budget of one chain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    share_ppm: u64,
}

impl Budget {
    /// A budget of so many parts per million of all requests; the whole is no limit.
    pub(super) fn new(share_ppm: u32) -> Self {
        Self { share_ppm: u64::from(share_ppm).min(WHOLE_PPM) }
    }

    /// Whether so many more requests may be used, of which so many were used before. `total`
    /// counts all requests, those of verification included.
    pub(super) fn allows(self, total: u64, used: u64, more: u64) -> bool {
        if self.share_ppm == WHOLE_PPM {
            return true;
        }
        let others = u128::from(total.saturating_sub(used));
        let share = others * u128::from(self.share_ppm) / u128::from(WHOLE_PPM - self.share_ppm);
        u128::from(used) + u128::from(more) <= share + u128::from(ALLOWANCE_REQUESTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_holds_on_average() {
        let budget = Budget::new(20_000);
        assert!(budget.allows(0, 0, ALLOWANCE_REQUESTS), "a short history is verified at once");
        assert!(!budget.allows(0, 0, ALLOWANCE_REQUESTS + 1));
        let (mut total, mut used) = (0, 0);
        for _ in 0..1_000_000 {
            total += 1;
            if budget.allows(total, used, 20) {
                (total, used) = (total + 20, used + 20);
            }
        }
        let percent = (used - ALLOWANCE_REQUESTS) as f64 * 100.0 / total as f64;
        assert!((1.9..=2.0).contains(&percent), "{used} of {total}: {percent}");
    }

    #[test]
    fn none_and_all_are_shares_too() {
        assert!(!Budget::new(0).allows(u64::MAX, ALLOWANCE_REQUESTS, 1));
        assert!(Budget::new(1_000_000).allows(0, 10_000, u64::MAX));
    }
}
