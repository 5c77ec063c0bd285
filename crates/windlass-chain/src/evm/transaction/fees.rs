//! What gas costs: of the newest blocks, the next one's base fee and the usual tip.

use serde::Deserialize;

use crate::evm::hex::Hex;

/// How many blocks are looked at, up to which, and which tip of each block's.
pub(super) const HISTORY: (&str, &str, [u8; 1]) = ("0xa", "latest", [50]);
/// A tip of nothing is not taken by everybody.
pub(super) const LEAST_TIP: u128 = 1;

/// The answer of `eth_feeHistory`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FeeHistory {
    /// Of each block, and of the one after them.
    #[serde(default)]
    base_fee_per_gas: Option<Vec<Hex<u128>>>,
    /// Of each block, the tips that were asked for.
    #[serde(default)]
    reward: Option<Vec<Vec<Hex<u128>>>>,
}

impl FeeHistory {
    /// The next block's base fee.
    pub(super) fn base_fee(&self) -> Option<u128> {
        self.base_fee_per_gas.as_ref()?.last().map(|Hex(fee)| *fee)
    }

    /// The median of what blocks were tipped. Of those without transactions nothing is
    /// learned: they say zero.
    pub(super) fn tip(&self) -> Option<u128> {
        let tips = self.reward.iter().flatten().filter_map(|block| block.first());
        let mut tips: Vec<u128> = tips.map(|Hex(tip)| *tip).filter(|tip| *tip > 0).collect();
        tips.sort_unstable();
        tips.get(tips.len() / 2).copied()
    }
}

/// What is needed of a block.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BaseFee {
    #[serde(default)]
    pub(super) base_fee_per_gas: Option<Hex<u128>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<u128>, Option<u128>) {
        let history: FeeHistory = serde_json::from_str(text).expect("a history");
        (history.base_fee(), history.tip())
    }

    #[test]
    fn the_next_base_fee_and_the_median_tip_count() {
        let history = r#"{"oldestBlock":"0x1","baseFeePerGas":["0x5","0x6","0x7","0x8","0x9"],
            "gasUsedRatio":[0.5,0,1,0.1],"reward":[["0x3"],["0x0"],["0x64"],["0x2"]]}"#;
        assert_eq!(read(history), (Some(9), Some(3)));
    }

    #[test]
    fn blocks_without_transactions_and_old_chains_teach_nothing() {
        assert_eq!(read(r#"{"baseFeePerGas":["0x0"],"reward":[["0x0"],[]]}"#), (Some(0), None));
        assert_eq!(read(r#"{"baseFeePerGas":null,"reward":null}"#), (None, None));
        assert_eq!(read(r#"{"baseFeePerGas":[]}"#), (None, None));
    }
}
