// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {ISettlementVault} from "./ISettlementVault.sol";
import {RiskGate} from "./RiskGate.sol";
import {Timelock} from "./Timelock.sol";
import {TokenPolicies} from "./TokenPolicies.sol";

/// @title Withdrawals
/// @notice The two ways out that are not payouts: to the treasury, after a pause and a delay; and for tokens that came
/// here by mistake.
abstract contract Withdrawals is ISettlementVault, RiskGate, TokenPolicies, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    /// @dev `readyAt` is zero when nothing is scheduled.
    struct Withdrawal {
        uint256 amount;
        uint48 readyAt;
    }

    /// @inheritdoc ISettlementVault
    address public immutable TREASURY;

    mapping(address token => Withdrawal) private withdrawals;

    /// @param treasury where emergency withdrawals go, for ever.
    constructor(address treasury) {
        if (treasury == address(0) || treasury == address(this)) revert InvalidAccount(treasury);
        TREASURY = treasury;
    }

    /// @inheritdoc ISettlementVault
    function scheduleEmergencyWithdrawal(address token, uint256 amount) external onlyRole(ADMIN_ROLE) whenPaused {
        if (amount == 0) revert WithdrawalIsZero(token);
        (uint48 readyAt, uint256 expiresAt) = Timelock.windowFrom(DELAY);
        withdrawals[token] = Withdrawal({amount: amount, readyAt: readyAt});
        emit EmergencyWithdrawalScheduled(token, amount, readyAt, expiresAt);
    }

    /// @inheritdoc ISettlementVault
    function cancelEmergencyWithdrawal(address token) external onlyGuardian {
        Withdrawal memory pending = withdrawals[token];
        Timelock.requireScheduled(pending.readyAt);
        delete withdrawals[token];
        emit EmergencyWithdrawalCancelled(token, pending.amount, msg.sender);
    }

    /// @inheritdoc ISettlementVault
    function executeEmergencyWithdrawal(address token) external onlyRole(ADMIN_ROLE) whenPaused nonReentrant {
        Withdrawal memory pending = withdrawals[token];
        Timelock.requireReady(pending.readyAt);
        delete withdrawals[token];
        bool isNative = token == NATIVE_COIN_ADDRESS;
        uint256 balance = isNative ? address(this).balance : IERC20(token).balanceOf(address(this));
        uint256 amount = pending.amount == type(uint256).max ? balance : pending.amount;
        if (amount > balance) revert VaultBalanceTooLow(token, balance, amount);
        emit EmergencyWithdrawalExecuted(token, TREASURY, amount);
        if (isNative) _sendToTreasury(amount);
        else IERC20(token).safeTransfer(TREASURY, amount);
    }

    /// @inheritdoc ISettlementVault
    function pendingEmergencyWithdrawal(address token)
        external
        view
        returns (uint256 amount, uint256 readyAt, uint256 expiresAt)
    {
        Withdrawal memory pending = withdrawals[token];
        return (pending.amount, pending.readyAt, Timelock.expiry(pending.readyAt));
    }

    /// @inheritdoc ISettlementVault
    function sweep(address token, address to, uint256 amount) external onlyRole(ADMIN_ROLE) nonReentrant {
        if (token == NATIVE_COIN_ADDRESS || _everPayable(token)) revert TokenNotSweepable(token);
        if (to == address(0) || to == address(this)) revert InvalidAccount(to);
        if (amount == 0) revert WithdrawalIsZero(token);
        emit TokenSwept(token, to, amount);
        uint256 coin = address(this).balance;
        IERC20(token).safeTransfer(to, amount);
        // Some chains have a token that moves their coin.
        if (address(this).balance < coin) revert TokenNotSweepable(token);
    }

    /// @dev Sends the chain's coin. The treasury's code gets all the gas there is: it was chosen at deployment.
    function _sendToTreasury(uint256 amount) private {
        (bool sent,) = TREASURY.call{value: amount}("");
        if (!sent) revert CoinTransferFailed(bytes32(0), TREASURY, amount);
    }
}
