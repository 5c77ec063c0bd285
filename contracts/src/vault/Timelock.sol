// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IVaultErrors} from "./IVaultErrors.sol";

/// @title Timelock
/// @notice The window in which a scheduled operation can be carried out: not before its delay has passed, and not so
/// long after it that everybody has forgotten. Both ends belong to the window.
library Timelock {
    /// @notice An account that waits for a role; `readyAt` is zero when there is none.
    struct Nominee {
        address account;
        uint48 readyAt;
    }

    /// @notice The shortest and the longest delay that a vault can be deployed with.
    uint256 internal constant MIN_DELAY = 1 hours;
    uint256 internal constant MAX_DELAY = 30 days;

    /// @notice How long an operation stays ready.
    uint256 internal constant GRACE = 7 days;

    /// @notice Returns the delay, or reverts when a vault cannot have it.
    function checkedDelay(uint256 delay) internal pure returns (uint256) {
        if (delay < MIN_DELAY || delay > MAX_DELAY) {
            revert IVaultErrors.DelayOutOfBounds(delay, MIN_DELAY, MAX_DELAY);
        }
        return delay;
    }

    /// @notice The window of an operation that is scheduled now.
    function windowFrom(uint256 delay) internal view returns (uint48 readyAt, uint256 expiresAt) {
        readyAt = uint48(block.timestamp + delay);
        expiresAt = expiry(readyAt);
    }

    /// @notice The last second in which the operation can be carried out; 0 when there is none.
    function expiry(uint48 readyAt) internal pure returns (uint256) {
        return readyAt == 0 ? 0 : readyAt + GRACE;
    }

    /// @notice Reverts unless something is scheduled.
    function requireScheduled(uint48 readyAt) internal pure {
        if (readyAt == 0) revert IVaultErrors.NothingScheduled();
    }

    /// @notice Reverts unless something is scheduled and now is in its window.
    function requireReady(uint48 readyAt) internal view {
        requireScheduled(readyAt);
        if (block.timestamp < readyAt) revert IVaultErrors.OperationNotReady(readyAt);
        if (block.timestamp > expiry(readyAt)) revert IVaultErrors.OperationExpired(expiry(readyAt));
    }
}
