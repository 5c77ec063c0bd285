// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {IVaultErrors} from "./IVaultErrors.sol";

/// @title ExactTransfer
/// @notice Moves tokens and makes sure that exactly that much left and arrived. A token that takes a fee, from either
/// side, is refused; so is one that lies about its transfers but not about its balances.
library ExactTransfer {
    using SafeERC20 for IERC20;

    /// @notice Sends tokens; reverts unless the recipient's balance grew by exactly the amount.
    function transferExactly(address token, address to, uint256 amount) internal {
        uint256 before = balanceOf(token, to);
        IERC20(token).safeTransfer(to, amount);
        // A sum that overflows is no balance.
        unchecked {
            requireBalance(token, to, before + amount);
        }
    }

    /// @notice What will be left of this contract's balance; reverts when it does not cover the amount.
    function balanceAfter(address token, uint256 amount) internal view returns (uint256) {
        uint256 held = balanceOf(token, address(this));
        if (held < amount) revert IVaultErrors.VaultBalanceTooLow(token, held, amount);
        unchecked {
            return held - amount;
        }
    }

    /// @notice Reverts unless the account holds exactly that.
    function requireBalance(address token, address account, uint256 expected) internal view {
        uint256 held = balanceOf(token, account);
        if (held != expected) revert IVaultErrors.TransferNotExact(token, account, expected, held);
    }

    /// @notice `IERC20.balanceOf` in scratch memory. It is asked four times for each payout, and the call that the compiler
    /// writes takes three times the gas.
    function balanceOf(address token, address account) internal view returns (uint256 held) {
        bytes4 selector = IERC20.balanceOf.selector;
        bool known;
        assembly ("memory-safe") {
            mstore(0x00, selector)
            mstore(0x04, and(account, shr(96, not(0))))
            known := staticcall(gas(), token, 0x00, 0x24, 0x00, 0x20)
            known := and(known, gt(returndatasize(), 0x1f))
            held := mload(0x00)
        }
        if (!known) revert IVaultErrors.BalanceUnknown(token);
    }
}
