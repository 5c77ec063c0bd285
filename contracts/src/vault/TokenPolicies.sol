// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {CompactLimit} from "./CompactLimit.sol";
import {Gate} from "./Gate.sol";
import {ISettlementVault} from "./ISettlementVault.sol";

/// @title TokenPolicies
/// @notice Which tokens are payable, how much at once and how much a day. The chain's own coin is one of them, under the
/// zero address: no token can be there, and approvals and events name it like any other.
///
/// The day's sum is kept also while there is no limit, so that a limit that is set in the middle of a day counts what
/// has already left. Rules and sum are one storage word.
abstract contract TokenPolicies is ISettlementVault, Gate {
    // A token's word, from its lowest bits on: the day's sum (120 bits), the day since 1970-01-01 (24), whether the token
    // is enabled (8) and ever was (8), the folded limits of a payout (48) and of a day (48).
    uint256 private constant SUM_MASK = type(uint120).max;
    uint256 private constant DAY_SHIFT = 120;
    uint256 private constant ENABLED = 1 << 144;
    uint256 private constant EVER_ENABLED = 1 << 152;
    uint256 private constant PAYOUT_LIMIT_SHIFT = 160;
    uint256 private constant DAY_LIMIT_SHIFT = 208;
    uint256 private constant RULES_MASK = type(uint256).max << 144;

    /// @inheritdoc ISettlementVault
    address public constant NATIVE_COIN_ADDRESS = address(0);

    /// @inheritdoc ISettlementVault
    uint256 public constant MAX_AMOUNT = CompactLimit.MAX;

    mapping(address token => uint256 word) private tokens;

    /// @inheritdoc ISettlementVault
    function setToken(address token, bool enabled, uint256 payoutLimit, uint256 dayLimit)
        external
        onlyRole(ADMIN_ROLE)
    {
        if (token == address(this)) revert InvalidAccount(token);
        if (enabled && token != NATIVE_COIN_ADDRESS && token.code.length == 0) revert InvalidAccount(token);
        uint256 word = tokens[token];
        uint256 rules = enabled ? ENABLED | EVER_ENABLED : word & EVER_ENABLED;
        rules |= CompactLimit.fold(payoutLimit) << PAYOUT_LIMIT_SHIFT;
        rules |= CompactLimit.fold(dayLimit) << DAY_LIMIT_SHIFT;
        tokens[token] = (word & ~RULES_MASK) | rules;
        emit TokenPolicyChanged(token, enabled, payoutLimit, dayLimit);
    }

    /// @inheritdoc ISettlementVault
    function tokenPolicy(address token) external view returns (TokenPolicy memory) {
        uint256 word = tokens[token];
        return TokenPolicy({
            enabled: word & ENABLED != 0,
            everEnabled: word & EVER_ENABLED != 0,
            payoutLimit: CompactLimit.unfold(word >> PAYOUT_LIMIT_SHIFT),
            dayLimit: CompactLimit.unfold(word >> DAY_LIMIT_SHIFT),
            spentToday: _sum(word, _today())
        });
    }

    /// @inheritdoc ISettlementVault
    function spentToday(address token) external view returns (uint256) {
        return _sum(tokens[token], _today());
    }

    /// @inheritdoc ISettlementVault
    function remainingToday(address token) external view returns (uint256) {
        uint256 word = tokens[token];
        uint256 limit = _limit(word >> DAY_LIMIT_SHIFT);
        uint256 sum = _sum(word, _today());
        return sum < limit ? limit - sum : 0;
    }

    /// @dev The word of a payable token and the most that one payout may move; reverts for another token.
    function _payable(address token) internal view returns (uint256 word, uint256 payoutLimit) {
        word = tokens[token];
        if (word & ENABLED == 0) revert TokenNotPayable(token);
        payoutLimit = _limit(word >> PAYOUT_LIMIT_SHIFT);
    }

    /// @dev Adds to the day's sum, or reverts when it would pass the limit.
    /// @param word the token's, as `_payable` gave it.
    /// @param amount at most 128 bits, even of a full batch, so that nothing overflows.
    function _spend(address token, uint256 word, uint256 amount) internal {
        unchecked {
            uint256 today = _today();
            uint256 sum = _sum(word, today) + amount;
            uint256 limit = _limit(word >> DAY_LIMIT_SHIFT);
            if (sum > limit) revert DayLimitExceeded(token, amount, sum - amount, limit);
            tokens[token] = (word & RULES_MASK) | (today << DAY_SHIFT) | sum;
        }
    }

    /// @dev Whether the vault ever was to pay in this token.
    function _everPayable(address token) internal view returns (bool) {
        return tokens[token] & EVER_ENABLED != 0;
    }

    /// @dev Days since 1970-01-01, UTC.
    function _today() private view returns (uint256) {
        return block.timestamp / 1 days;
    }

    /// @dev What a token's word says of a day.
    function _sum(uint256 word, uint256 day) private pure returns (uint256) {
        return uint24(word >> DAY_SHIFT) == day ? word & SUM_MASK : 0;
    }

    /// @dev A limit to compare with: where there is none, what the word can hold.
    function _limit(uint256 folded) private pure returns (uint256) {
        uint256 limit = CompactLimit.unfold(folded);
        return limit == 0 ? MAX_AMOUNT : limit;
    }
}
