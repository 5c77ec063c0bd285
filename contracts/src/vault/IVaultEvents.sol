// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title IVaultEvents
/// @notice What the vault did. Reading these from the vault's first block on gives its whole story: every request that
/// was settled, every token that left, and every rule in force. The chain's own coin is the token zero.
interface IVaultEvents {
    /// @notice A request was paid. At most one for each request id, and never beside a `RequestCancelled` of that id.
    event PayoutExecuted(bytes32 indexed requestId, address indexed token, address indexed to, uint256 amount);

    /// @notice A request will never be paid. Token, recipient and amount are the canceller's words.
    event RequestCancelled(
        bytes32 indexed requestId, address indexed token, address indexed to, uint256 amount, address by
    );

    /// @notice Payouts stopped. Named as OpenZeppelin's.
    event Paused(address account);

    /// @notice Payouts may go on. Named as OpenZeppelin's.
    event Unpaused(address account);

    /// @notice A token's rules changed. A limit of zero is none.
    event TokenPolicyChanged(address indexed token, bool enabled, uint256 payoutLimit, uint256 dayLimit);

    /// @notice An account was put on the denylist or taken off it.
    event DenylistChanged(address indexed account, bool denied, address indexed by);

    /// @notice A new risk signer (zero: none, payouts without approval) can be put in force in this window.
    event RiskSignerScheduled(address indexed signer, uint256 readyAt, uint256 expiresAt);

    /// @notice The scheduled risk signer was dropped.
    event RiskSignerScheduleCancelled(address indexed signer, address indexed by);

    /// @notice Another risk signer is in force; approvals are signed with this nonce from now on.
    event RiskSignerChanged(address indexed previous, address indexed current, uint256 nonce);

    /// @notice The risk signer was revoked and the vault paused; nothing is payable until there is a new one.
    event RiskSignerRevoked(address indexed signer, address indexed by, uint256 nonce);

    /// @notice Every approval signed with an earlier nonce is void.
    event ApprovalNonceRaised(uint256 nonce, address indexed by);

    /// @notice A withdrawal to the treasury can be carried out in this window, while the vault is paused.
    event EmergencyWithdrawalScheduled(address indexed token, uint256 amount, uint256 readyAt, uint256 expiresAt);

    /// @notice The scheduled withdrawal was dropped.
    event EmergencyWithdrawalCancelled(address indexed token, uint256 amount, address indexed by);

    /// @notice Tokens left for the treasury.
    event EmergencyWithdrawalExecuted(address indexed token, address indexed treasury, uint256 amount);

    /// @notice Tokens that were never payable left.
    event TokenSwept(address indexed token, address indexed to, uint256 amount);

    /// @notice The admin's role can be accepted by this account in this window.
    event AdminTransferScheduled(address indexed newAdmin, uint256 readyAt, uint256 expiresAt);

    /// @notice The hand-over was dropped.
    event AdminTransferCancelled(address indexed newAdmin);

    /// @notice The admin's role was handed over.
    event AdminTransferred(address indexed previous, address indexed current);
}
