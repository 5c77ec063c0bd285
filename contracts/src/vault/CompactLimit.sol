// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IVaultErrors} from "./IVaultErrors.sol";

/// @title CompactLimit
/// @notice A limit in 48 bits, exact: leading digits (40 bits, so any twelve digits) and the number of zeros behind them
/// (8 bits). Limits are round numbers; folded like this, a token's rules and its day's sum share one storage word.
library CompactLimit {
    /// @notice The largest limit; and where there is none, the largest amount.
    uint256 internal constant MAX = type(uint120).max;

    uint256 private constant DIGITS_MAX = type(uint40).max;
    uint256 private constant ZEROS_SHIFT = 40;

    /// @notice Folds a limit, or reverts when it is too large or has too many digits. Zero, for no limit, folds to zero.
    function fold(uint256 limit) internal pure returns (uint256) {
        if (limit > MAX) revert IVaultErrors.LimitTooLarge(limit, MAX);
        uint256 digits = limit;
        uint256 zeros = 0;
        while (digits > DIGITS_MAX && digits % 10 == 0) {
            digits /= 10;
            ++zeros;
        }
        if (digits > DIGITS_MAX) revert IVaultErrors.LimitTooPrecise(limit);
        return (zeros << ZEROS_SHIFT) | digits;
    }

    /// @notice Unfolds the limit in the lowest 48 bits; what is above them is ignored.
    function unfold(uint256 folded) internal pure returns (uint256) {
        // What was folded fits in 120 bits.
        unchecked {
            return (folded & DIGITS_MAX) * 10 ** uint8(folded >> ZEROS_SHIFT);
        }
    }
}
