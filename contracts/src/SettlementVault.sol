// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ExactTransfer} from "./vault/ExactTransfer.sol";
import {ISettlementVault} from "./vault/ISettlementVault.sol";
import {CoinTransfer} from "./vault/CoinTransfer.sol";
import {Requests} from "./vault/Requests.sol";
import {RiskGate} from "./vault/RiskGate.sol";
import {VaultRoles} from "./vault/VaultRoles.sol";
import {Withdrawals} from "./vault/Withdrawals.sol";

/// @title SettlementVault
/// @notice Holds tokens and the chain's own coin, and pays requests out of them: each request at most once, whatever its
/// caller forgets, and never beyond what the rules allow. It cannot be upgraded.
///
/// Every payout has two halves. First everything is checked and written down, for a batch all of it; then tokens move,
/// and the balances must say so. A token or a recipient that calls back finds the books closed. The coin has functions
/// of its own, so that payouts of tokens need not ask which of the two they move. Their selectors are behind those of the
/// tokens' functions, which therefore take no more gas to be found.
contract SettlementVault is ISettlementVault, Requests, Withdrawals {
    using ExactTransfer for address;

    /// @inheritdoc ISettlementVault
    uint256 public constant MAX_BATCH = 200;

    /// @inheritdoc ISettlementVault
    uint256 public immutable DEPLOYED_AT_BLOCK = block.number;

    /// @param admin_ the first admin.
    /// @param operator the first operator; more are granted with `grantRole`.
    /// @param guardian the first guardian, or zero for none.
    /// @param treasury where emergency withdrawals go, for ever.
    /// @param riskSigner_ whose approval each payout needs, or zero for payouts without approval.
    /// @param delay seconds that a new risk signer, a withdrawal and a hand-over wait.
    constructor(
        address admin_,
        address operator,
        address guardian,
        address treasury,
        address riskSigner_,
        uint256 delay
    ) VaultRoles(admin_, operator, guardian, delay) RiskGate(riskSigner_) Withdrawals(treasury) {}

    /// @notice Takes the chain's coin from anybody, to pay it out.
    receive() external payable {}

    /// @inheritdoc ISettlementVault
    function payout(bytes32 requestId, address token, address to, uint256 amount) external nonReentrant {
        uint256 gateWord = _enter();
        (uint256 tokenWord, uint256 payoutLimit) = _payable(token);
        _admit(gateWord, payoutLimit, requestId, token, to, amount);
        _requireNoApproval(gateWord, requestId);
        _spend(token, tokenWord, amount);
        _transfer(token, to, amount);
    }

    /// @inheritdoc ISettlementVault
    function payoutWithApproval(
        bytes32 requestId,
        address token,
        address to,
        uint256 amount,
        Approval calldata approval
    ) external nonReentrant {
        uint256 gateWord = _enter();
        (uint256 tokenWord, uint256 payoutLimit) = _payable(token);
        _admit(gateWord, payoutLimit, requestId, token, to, amount);
        _requireApproval(requestId, token, to, amount, approval);
        _spend(token, tokenWord, amount);
        _transfer(token, to, amount);
    }

    /// @inheritdoc ISettlementVault
    function payoutBatch(address token, Payout[] calldata payouts) external nonReentrant {
        uint256 gateWord = _enter();
        uint256 total = _admitAll(gateWord, token, payouts);
        _requireNoApproval(gateWord, payouts[0].requestId);
        _transferAll(token, payouts, total);
    }

    /// @inheritdoc ISettlementVault
    function payoutBatchWithApprovals(address token, Payout[] calldata payouts, Approval[] calldata approvals)
        external
        nonReentrant
    {
        uint256 gateWord = _enter();
        uint256 total = _admitAllApproved(gateWord, token, payouts, approvals);
        _transferAll(token, payouts, total);
    }

    /// @inheritdoc ISettlementVault
    function payoutCoinBatch(Payout[] calldata payouts) external nonReentrant {
        uint256 gateWord = _enter();
        uint256 total = _admitAll(gateWord, NATIVE_COIN_ADDRESS, payouts);
        _requireNoApproval(gateWord, payouts[0].requestId);
        _sendAll(payouts, total);
    }

    /// @inheritdoc ISettlementVault
    function payoutCoinBatchWithApprovals(Payout[] calldata payouts, Approval[] calldata approvals)
        external
        nonReentrant
    {
        uint256 gateWord = _enter();
        uint256 total = _admitAllApproved(gateWord, NATIVE_COIN_ADDRESS, payouts, approvals);
        _sendAll(payouts, total);
    }

    /// @inheritdoc ISettlementVault
    function cancelRequest(bytes32 requestId, address token, address to, uint256 amount) external onlyGuardian {
        _settle(requestId, RequestState.Cancelled, to);
        emit RequestCancelled(requestId, token, to, amount, msg.sender);
    }

    /// @dev Checks a batch but for its approvals, writes it down, and returns its sum.
    function _admitAll(uint256 gateWord, address token, Payout[] calldata payouts) private returns (uint256 total) {
        if (payouts.length == 0 || payouts.length > MAX_BATCH) revert BatchSizeInvalid(payouts.length, MAX_BATCH);
        (uint256 tokenWord, uint256 payoutLimit) = _payable(token);
        for (uint256 i = 0; i < payouts.length; ++i) {
            Payout calldata item = payouts[i];
            _admit(gateWord, payoutLimit, item.requestId, token, item.to, item.amount);
            // The limit has at most 120 bits.
            unchecked {
                total += item.amount;
            }
        }
        _spend(token, tokenWord, total);
    }

    /// @dev The same with an approval for each payout.
    function _admitAllApproved(
        uint256 gateWord,
        address token,
        Payout[] calldata payouts,
        Approval[] calldata approvals
    ) private returns (uint256 total) {
        if (payouts.length != approvals.length) {
            revert BatchApprovalsMismatch(payouts.length, approvals.length);
        }
        total = _admitAll(gateWord, token, payouts);
        for (uint256 i = 0; i < payouts.length; ++i) {
            Payout calldata item = payouts[i];
            _requireApproval(item.requestId, token, item.to, item.amount, approvals[i]);
        }
    }

    /// @dev Checks one payout but for its approval and the day's limit, and writes it down.
    function _admit(uint256 gateWord, uint256 payoutLimit, bytes32 requestId, address token, address to, uint256 amount)
        private
    {
        // One by one, which is cheaper than one condition of three.
        if (to == address(0)) revert InvalidRecipient(requestId, to);
        if (to == address(this)) revert InvalidRecipient(requestId, to);
        if (to == token) revert InvalidRecipient(requestId, to);
        if (amount == 0) revert AmountIsZero(requestId);
        _settle(requestId, RequestState.Paid, to);
        _requireNotDenied(gateWord, requestId, to);
        if (amount > payoutLimit) revert PayoutLimitExceeded(requestId, token, amount, payoutLimit);
        emit PayoutExecuted(requestId, token, to, amount);
    }

    /// @dev Sends one payout's tokens.
    function _transfer(address token, address to, uint256 amount) private {
        uint256 left = token.balanceAfter(amount);
        token.transferExactly(to, amount);
        token.requireBalance(address(this), left);
    }

    /// @dev Sends a batch's tokens.
    function _transferAll(address token, Payout[] calldata payouts, uint256 total) private {
        uint256 left = token.balanceAfter(total);
        for (uint256 i = 0; i < payouts.length; ++i) {
            Payout calldata item = payouts[i];
            token.transferExactly(item.to, item.amount);
        }
        token.requireBalance(address(this), left);
    }

    /// @dev Sends the chain's coin to each recipient of a batch.
    function _sendAll(Payout[] calldata payouts, uint256 total) private {
        uint256 held = address(this).balance;
        if (held < total) revert VaultBalanceTooLow(NATIVE_COIN_ADDRESS, held, total);
        for (uint256 i = 0; i < payouts.length; ++i) {
            Payout calldata item = payouts[i];
            CoinTransfer.send(item.requestId, item.to, item.amount);
        }
    }
}
