//! Whether what stands on a chain is this vault.
//!
//! A contract's code differs from the compiled one where the compiler left room for values
//! that are known only when it is deployed. What such a deployment would leave now, with the
//! same arguments, is held against what is there: everything is the same but values that
//! depend on where and when, and each of those is the same wherever it stands.

use std::collections::HashMap;

use alloy_primitives::keccak256;
use alloy_sol_types::eip712_domain;

use crate::chain::{B256, U256};
use crate::payout::request::VaultRef;

/// The instruction before a value of 32 bytes, and the one before a single byte.
const PUSH32: u8 = 0x7f;
const PUSH1: u8 = 0x60;
const WORD: usize = 32;

/// What the code of a vault knows of where and when it was deployed.
pub fn own_values(vault: VaultRef, deployed_at_block: u64) -> [B256; 3] {
    let domain = eip712_domain! {
        name: "SettlementVault",
        version: "1",
        chain_id: vault.chain.as_u64(),
        verifying_contract: vault.address,
    };
    [U256::from(deployed_at_block).into(), vault.address.into_word(), domain.separator()]
}

/// Whether code is what a deployment leaves, but for values of its own.
pub fn is_same(left: &[u8], found: &[u8], own: &[B256]) -> bool {
    let mut stands_for: HashMap<&[u8], &[u8]> = HashMap::new();
    if left.len() != found.len() {
        return false;
    }
    let mut at = 0;
    while at < left.len() {
        let instruction = left[at];
        let operand = match instruction {
            PUSH1..=PUSH32 => usize::from(instruction - PUSH1) + 1,
            _ => 0,
        };
        let end = (at + 1 + operand).min(left.len());
        let (here, there) = (&left[at + 1..end], &found[at + 1..end]);
        let is_own = here.len() == WORD && own.iter().any(|value| value.as_slice() == there);
        if instruction != found[at] || (here != there && !is_own) {
            return false;
        }
        // A value that stands in many places has to be replaced by one and the same.
        if here.len() == WORD && *stands_for.entry(here).or_insert(there) != there {
            return false;
        }
        at = end;
    }
    true
}

/// What a code is known by.
pub fn hash(code: &[u8]) -> B256 {
    keccak256(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(values: &[[u8; 32]]) -> Vec<u8> {
        let mut code = vec![0x60, 0x7f];
        for value in values {
            code.push(PUSH32);
            code.extend(value);
        }
        code.push(0x7f);
        code
    }

    #[test]
    fn only_its_own_values_may_differ_and_everywhere_alike() {
        let own = [B256::repeat_byte(8), B256::repeat_byte(9)];
        let left = code(&[[1; 32], [2; 32], [1; 32]]);
        let seen = [
            code(&[[1; 32], [2; 32], [1; 32]]),
            code(&[[8; 32], [2; 32], [8; 32]]),
            code(&[[8; 32], [9; 32], [8; 32]]),
            code(&[[8; 32], [2; 32], [9; 32]]),
            code(&[[8; 32], [2; 32], [1; 32]]),
            code(&[[7; 32], [2; 32], [7; 32]]),
            code(&[[1; 32], [2; 32]]),
            vec![],
        ];
        let same = seen.each_ref().map(|found| is_same(&left, found, &own));
        assert_eq!(same, [true, true, true, false, false, false, false, false]);
        let mut other = code(&[[1; 32], [2; 32], [1; 32]]);
        other[1] = 0x7e;
        assert!(!is_same(&left, &other, &own), "what is no value of 32 bytes is the same");
    }
}
