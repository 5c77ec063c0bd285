// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title IVaultErrors
/// @notice Why the vault says no. Each error carries what a worker needs to decide whether to wait, to ask again, or to
/// give up; errors of a payout name its request, so that the culprit of a batch is known.
interface IVaultErrors {
    /// @notice A request id of zero names no request.
    error RequestIdIsZero();

    /// @notice A payout of nothing.
    error AmountIsZero(bytes32 requestId);

    /// @notice A withdrawal of nothing.
    error WithdrawalIsZero(address token);

    /// @notice No limit can be that large.
    error LimitTooLarge(uint256 limit, uint256 max);

    /// @notice A limit has up to twelve digits, and then zeros.
    error LimitTooPrecise(uint256 limit);

    /// @notice Nobody is paid there: the zero address, the vault itself or the token's own contract.
    error InvalidRecipient(bytes32 requestId, address to);

    /// @notice A role, a treasury, a payable token, a denied account or a sweep's recipient cannot be this address.
    error InvalidAccount(address account);

    /// @notice The request was paid at that time in that block; it is not paid again.
    error RequestAlreadyPaid(bytes32 requestId, uint256 settledAt, uint256 blockNumber);

    /// @notice The request was cancelled at that time in that block; it is never paid.
    error RequestAlreadyCancelled(bytes32 requestId, uint256 settledAt, uint256 blockNumber);

    /// @notice The vault is paused. Named as OpenZeppelin's.
    error EnforcedPause();

    /// @notice The vault is not paused. Named as OpenZeppelin's.
    error ExpectedPause();

    /// @notice The recipient is on the denylist.
    error RecipientDenied(bytes32 requestId, address to);

    /// @notice The token is not enabled for payouts.
    error TokenNotPayable(address token);

    /// @notice The token is or once was payable, or is the chain's coin: it leaves by payout or emergency withdrawal only.
    error TokenNotSweepable(address token);

    /// @notice The amount is above what one payout may move.
    error PayoutLimitExceeded(bytes32 requestId, address token, uint256 amount, uint256 limit);

    /// @notice With this amount, the UTC day's sum would pass its limit. Tomorrow it may fit.
    error DayLimitExceeded(address token, uint256 amount, uint256 spentToday, uint256 limit);

    /// @notice The vault holds less than it is asked to send.
    error VaultBalanceTooLow(address token, uint256 balance, uint256 needed);

    /// @notice A transfer moved another amount than it was told to: the token takes a fee, or lies.
    error TransferNotExact(address token, address account, uint256 expectedBalance, uint256 balance);

    /// @notice The token does not tell balances, or there is no contract at its address.
    error BalanceUnknown(address token);

    /// @notice The chain's coin did not reach its recipient: it refused the coin, needed more gas than a recipient gets,
    /// or sent some of it back at once. The id is zero where the recipient is the treasury.
    error CoinTransferFailed(bytes32 requestId, address to, uint256 amount);

    /// @notice Payouts need an approval of the risk signer.
    error ApprovalRequired(bytes32 requestId);

    /// @notice There is no risk signer whose approval could be checked.
    error RiskSignerNotSet();

    /// @notice The approval's deadline has passed.
    error ApprovalExpired(bytes32 requestId, uint256 deadline);

    /// @notice The approval was signed for another nonce; a new one is needed.
    error ApprovalNonceMismatch(bytes32 requestId, uint256 nonce, uint256 currentNonce);

    /// @notice The signature is not the risk signer's over exactly these values.
    error ApprovalInvalid(bytes32 requestId, address riskSigner);

    /// @notice This account cannot be the risk signer.
    error InvalidRiskSigner(address signer);

    /// @notice A batch has at least one and at most `max` payouts.
    error BatchSizeInvalid(uint256 size, uint256 max);

    /// @notice A batch has one approval for each payout.
    error BatchApprovalsMismatch(uint256 payouts, uint256 approvals);

    /// @notice The delay of timelocked operations is outside its bounds.
    error DelayOutOfBounds(uint256 delay, uint256 min, uint256 max);

    /// @notice No such operation was scheduled, or it was cancelled or done.
    error NothingScheduled();

    /// @notice The operation's delay has not passed.
    error OperationNotReady(uint256 readyAt);

    /// @notice The operation was not carried out in time and must be scheduled again.
    error OperationExpired(uint256 expiredAt);

    /// @notice The admin changes by hand-over only: it is not granted, revoked or renounced.
    error AdminNeedsHandover();

    /// @notice The caller is not the account to which the admin's role is being handed.
    error NotPendingAdmin(address caller, address pendingAdmin);
}
