// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IVaultErrors} from "./IVaultErrors.sol";
import {IVaultEvents} from "./IVaultEvents.sol";

/// @title ISettlementVault
/// @notice A vault that holds tokens and the chain's own coin, and pays each request at most once, within limits, while
/// it is not paused. Wherever a token is named, the zero address is the chain's coin.
/// Roles are those of OpenZeppelin's `IAccessControl`; the pause is read with `paused()`.
interface ISettlementVault is IVaultErrors, IVaultEvents {
    /// @notice What became of a request. `Paid` and `Cancelled` are ends.
    enum RequestState {
        Unknown,
        Paid,
        Cancelled
    }

    /// @notice What the vault remembers of a request.
    /// @param state what became of it; the rest is zero while that is `Unknown`.
    /// @param settledAt the block's time, in seconds since 1970.
    /// @param blockNumber the block whose logs hold the event. On a rollup whose contracts see another chain's block
    /// numbers, look for the event by time.
    /// @param to the recipient; of a cancelled request, what its canceller said.
    struct RequestRecord {
        RequestState state;
        uint40 settledAt;
        uint48 blockNumber;
        address to;
    }

    /// @notice One payout of a batch, whose token is the batch's.
    struct Payout {
        bytes32 requestId;
        address to;
        uint256 amount;
    }

    /// @notice The risk signer's consent to one payout.
    /// @param nonce the vault's `approvalNonce` when it was signed.
    /// @param deadline the last second in which it is good.
    /// @param signature over the typed data `PayoutApproval`: 65 bytes of a key, or whatever an EIP-1271 signer takes.
    struct Approval {
        uint256 nonce;
        uint256 deadline;
        bytes signature;
    }

    /// @notice A token's rules and the day's sum. A limit of zero is none.
    struct TokenPolicy {
        bool enabled;
        bool everEnabled;
        uint256 payoutLimit;
        uint256 dayLimit;
        uint256 spentToday;
    }

    /// @notice Pays a request without approval. Operators only, not while paused or while approvals are required.
    /// @param requestId names the request for ever; the vault refuses it a second time.
    function payout(bytes32 requestId, address token, address to, uint256 amount) external;

    /// @notice Pays a request that the risk signer approved. Operators only, not while paused.
    function payoutWithApproval(
        bytes32 requestId,
        address token,
        address to,
        uint256 amount,
        Approval calldata approval
    ) external;

    /// @notice Pays many requests in one token, all or none. Otherwise as `payout`.
    function payoutBatch(address token, Payout[] calldata payouts) external;

    /// @notice Pays many requests in one token, each with its approval, all or none. Otherwise as `payoutWithApproval`.
    function payoutBatchWithApprovals(address token, Payout[] calldata payouts, Approval[] calldata approvals) external;

    /// @notice Pays one or many requests in the chain's own coin, all or none. Otherwise as `payout`: its limits are those
    /// of the token `NATIVE_COIN_ADDRESS`.
    function payoutCoinBatch(Payout[] calldata payouts) external;

    /// @notice Pays one or many requests in the chain's own coin, each with its approval for the token `NATIVE_COIN_ADDRESS`, all
    /// or none. Otherwise as `payoutWithApproval`.
    function payoutCoinBatchWithApprovals(Payout[] calldata payouts, Approval[] calldata approvals) external;

    /// @notice Makes sure that a request is never paid. Guardians and the admin, also while paused.
    /// @param token what the request was for; with `to` and `amount` it goes into the event as it is, for those who read
    /// it, and may be zero when unknown.
    function cancelRequest(bytes32 requestId, address token, address to, uint256 amount) external;

    /// @notice What became of a request.
    function requestState(bytes32 requestId) external view returns (RequestRecord memory);

    /// @notice What became of each of these requests.
    function requestStates(bytes32[] calldata requestIds) external view returns (RequestRecord[] memory);

    /// @notice Makes a token, or the chain's own coin, payable or not, and sets both of its limits. Admin only.
    /// @param payoutLimit the most that one payout may move; zero for no limit.
    /// @param dayLimit the most that may leave in a UTC day; zero for no limit.
    function setToken(address token, bool enabled, uint256 payoutLimit, uint256 dayLimit) external;

    /// @notice A token's rules and what has left today.
    function tokenPolicy(address token) external view returns (TokenPolicy memory);

    /// @notice What payouts in this token have moved since midnight, UTC.
    function spentToday(address token) external view returns (uint256);

    /// @notice What the day's limit still allows; the largest number when there is no limit.
    function remainingToday(address token) external view returns (uint256);

    /// @notice What stands for the chain's own coin wherever a token is named: zero. A vault that does not answer this
    /// cannot pay the coin.
    function NATIVE_COIN_ADDRESS() external view returns (address);

    /// @notice The largest amount and the largest limit.
    function MAX_AMOUNT() external view returns (uint256);

    /// @notice The most payouts in one batch.
    function MAX_BATCH() external view returns (uint256);

    /// @notice Puts an account on the denylist. Guardians and the admin.
    function deny(address account) external;

    /// @notice Takes an account off the denylist. Admin only.
    function allow(address account) external;

    /// @notice Whether payouts to this account are refused.
    function isDenied(address account) external view returns (bool);

    /// @notice Stops payouts. Guardians and the admin.
    function pause() external;

    /// @notice Lets payouts go on. Admin only.
    function unpause() external;

    /// @notice Whether payouts are stopped.
    function paused() external view returns (bool);

    /// @notice Announces another risk signer, in place of any announced before; zero for payouts without approval.
    /// Admin only.
    function scheduleRiskSigner(address signer) external;

    /// @notice Drops the announced risk signer. Guardians and the admin.
    function cancelRiskSigner() external;

    /// @notice Puts the announced risk signer in force and raises the nonce, once the delay has passed. Admin only.
    function applyRiskSigner() external;

    /// @notice Takes the risk signer's power at once: voids its approvals and pauses. Guardians and the admin.
    function revokeRiskSigner() external;

    /// @notice Voids every outstanding approval. The risk signer itself, guardians and the admin.
    function raiseApprovalNonce() external;

    /// @notice The account whose approvals count; zero when there is none.
    function riskSigner() external view returns (address);

    /// @notice Whether payouts need an approval. Stays true when the risk signer is revoked.
    function approvalRequired() external view returns (bool);

    /// @notice The nonce with which approvals are signed now. It only grows: with every new signer, every revocation and
    /// every raise.
    function approvalNonce() external view returns (uint64);

    /// @notice The announced risk signer and the window to put it in force; a `readyAt` of zero means none.
    function pendingRiskSigner() external view returns (address signer, uint256 readyAt, uint256 expiresAt);

    /// @notice What the risk signer signs for a payout (EIP-712).
    function approvalDigest(
        bytes32 requestId,
        address token,
        address to,
        uint256 amount,
        uint256 deadline,
        uint256 nonce
    ) external view returns (bytes32);

    /// @notice Announces a withdrawal to the treasury, in place of any announced before for that token. Admin only, while
    /// paused.
    /// @param amount the largest number stands for whatever the vault holds when it is carried out.
    function scheduleEmergencyWithdrawal(address token, uint256 amount) external;

    /// @notice Drops an announced withdrawal. Guardians and the admin.
    function cancelEmergencyWithdrawal(address token) external;

    /// @notice Carries an announced withdrawal out, once the delay has passed. Admin only, while paused.
    function executeEmergencyWithdrawal(address token) external;

    /// @notice A token's announced withdrawal and its window; a `readyAt` of zero means none.
    function pendingEmergencyWithdrawal(address token)
        external
        view
        returns (uint256 amount, uint256 readyAt, uint256 expiresAt);

    /// @notice Sends on tokens that came here by mistake; never one that is or was payable, nor the chain's coin. Admin
    /// only.
    function sweep(address token, address to, uint256 amount) external;

    /// @notice Where emergency withdrawals go.
    function TREASURY() external view returns (address);

    /// @notice Seconds between announcing and carrying out a new signer, a withdrawal or a hand-over.
    function DELAY() external view returns (uint256);

    /// @notice The block of the deployment: no event is older.
    function DEPLOYED_AT_BLOCK() external view returns (uint256);

    /// @notice Who sets the rules.
    function ADMIN_ROLE() external view returns (bytes32);

    /// @notice Who pays.
    function OPERATOR_ROLE() external view returns (bytes32);

    /// @notice Who stops: a guardian can only make the vault stricter.
    function GUARDIAN_ROLE() external view returns (bytes32);

    /// @notice The one account with the admin's role.
    function admin() external view returns (address);

    /// @notice Announces a new admin, in place of any announced before. Admin only.
    function scheduleAdminTransfer(address account) external;

    /// @notice Drops the announced hand-over. Admin only.
    function cancelAdminTransfer() external;

    /// @notice Takes the admin's role over, once the delay has passed. The announced account only.
    function acceptAdminTransfer() external;

    /// @notice The announced admin and the window to accept; a `readyAt` of zero means none.
    function pendingAdmin() external view returns (address account, uint256 readyAt, uint256 expiresAt);
}
