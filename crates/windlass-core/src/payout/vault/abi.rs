//! What is used of the contract's interface, in its own words. The artifact is the truth:
//! a test holds every selector, topic and type against it.

use alloy_sol_types::sol;

sol! {
    enum RequestState { Unknown, Paid, Cancelled }

    struct RequestRecord {
        RequestState state;
        uint40 settledAt;
        uint48 blockNumber;
        address to;
    }

    struct Payout {
        bytes32 requestId;
        address to;
        uint256 amount;
    }

    struct Approval {
        uint256 nonce;
        uint256 deadline;
        bytes signature;
    }

    struct PayoutApproval {
        bytes32 requestId;
        address token;
        address to;
        uint256 amount;
        uint256 deadline;
        uint256 nonce;
    }

    interface SettlementVault {
        function payout(bytes32 requestId, address token, address to, uint256 amount) external;
        function payoutWithApproval(bytes32 requestId, address token, address to, uint256 amount, Approval approval) external;
        function payoutBatch(address token, Payout[] payouts) external;
        function payoutBatchWithApprovals(address token, Payout[] payouts, Approval[] approvals) external;
        function payoutCoinBatch(Payout[] payouts) external;
        function payoutCoinBatchWithApprovals(Payout[] payouts, Approval[] approvals) external;
        function NATIVE_COIN_ADDRESS() external view returns (address);
        function requestState(bytes32 requestId) external view returns (RequestRecord memory);
        function requestStates(bytes32[] requestIds) external view returns (RequestRecord[] memory list);
        function riskSigner() external view returns (address);
        function approvalRequired() external view returns (bool);
        function approvalNonce() external view returns (uint64);
        function paused() external view returns (bool);
        function DEPLOYED_AT_BLOCK() external view returns (uint256);
        function remainingToday(address token) external view returns (uint256);

        event PayoutExecuted(bytes32 indexed requestId, address indexed token, address indexed to, uint256 amount);
        event RequestCancelled(bytes32 indexed requestId, address indexed token, address indexed to, uint256 amount, address by);

        error EnforcedPause();
        error VaultBalanceTooLow(address token, uint256 balance, uint256 needed);
        error DayLimitExceeded(address token, uint256 amount, uint256 spentToday, uint256 limit);
        error ApprovalExpired(bytes32 requestId, uint256 deadline);
        error ApprovalNonceMismatch(bytes32 requestId, uint256 nonce, uint256 currentNonce);
        error RequestAlreadyPaid(bytes32 requestId, uint256 settledAt, uint256 blockNumber);
        error RequestAlreadyCancelled(bytes32 requestId, uint256 settledAt, uint256 blockNumber);
        error RequestIdIsZero();
        error AmountIsZero(bytes32 requestId);
        error InvalidRecipient(bytes32 requestId, address to);
        error RecipientDenied(bytes32 requestId, address to);
        error TokenNotPayable(address token);
        error PayoutLimitExceeded(bytes32 requestId, address token, uint256 amount, uint256 limit);
        error TransferNotExact(address token, address account, uint256 expectedBalance, uint256 balance);
        error BalanceUnknown(address token);
        error CoinTransferFailed(bytes32 requestId, address to, uint256 amount);
        error ApprovalRequired(bytes32 requestId);
        error RiskSignerNotSet();
        error ApprovalInvalid(bytes32 requestId, address riskSigner);
        error BatchSizeInvalid(uint256 size, uint256 max);
        error BatchApprovalsMismatch(uint256 payouts, uint256 approvals);
        error AccessControlUnauthorizedAccount(address account, bytes32 neededRole);
        error ReentrancyGuardReentrantCall();
        error SafeERC20FailedOperation(address token);
    }

    struct TokenPolicy {
        bool enabled;
        bool everEnabled;
        uint256 payoutLimit;
        uint256 dayLimit;
        uint256 spentToday;
    }

    /// The same contract, as those see it who set its rules. An interface of its own: what a
    /// payout can end with stays apart from what everything else can end with.
    interface VaultAdmin {
        function pause() external;
        function unpause() external;
        function setToken(address token, bool enabled, uint256 payoutLimit, uint256 dayLimit) external;
        function deny(address account) external;
        function allow(address account) external;
        function cancelRequest(bytes32 requestId, address token, address to, uint256 amount) external;
        function grantRole(bytes32 role, address account) external;
        function revokeRole(bytes32 role, address account) external;
        function scheduleRiskSigner(address signer) external;
        function cancelRiskSigner() external;
        function applyRiskSigner() external;
        function revokeRiskSigner() external;
        function scheduleAdminTransfer(address account) external;
        function cancelAdminTransfer() external;
        function acceptAdminTransfer() external;
        function sweep(address token, address to, uint256 amount) external;
        function scheduleEmergencyWithdrawal(address token, uint256 amount) external;
        function cancelEmergencyWithdrawal(address token) external;
        function executeEmergencyWithdrawal(address token) external;

        function admin() external view returns (address);
        function hasRole(bytes32 role, address account) external view returns (bool);
        function DELAY() external view returns (uint256);
        function TREASURY() external view returns (address);
        function tokenPolicy(address token) external view returns (TokenPolicy memory);
        function pendingAdmin() external view returns (address account, uint256 readyAt, uint256 expiresAt);
        function pendingRiskSigner() external view returns (address signer, uint256 readyAt, uint256 expiresAt);
        function pendingEmergencyWithdrawal(address token) external view returns (uint256 amount, uint256 readyAt, uint256 expiresAt);

        event RoleGranted(bytes32 indexed role, address indexed account, address indexed sender);
        event RoleRevoked(bytes32 indexed role, address indexed account, address indexed sender);
        event TokenPolicyChanged(address indexed token, bool enabled, uint256 payoutLimit, uint256 dayLimit);
        event DenylistChanged(address indexed account, bool denied, address indexed by);
        event EmergencyWithdrawalScheduled(address indexed token, uint256 amount, uint256 readyAt, uint256 expiresAt);

        error AccessControlUnauthorizedAccount(address account, bytes32 neededRole);
        error EnforcedPause();
        error AdminNeedsHandover();
        error DelayOutOfBounds(uint256 delay, uint256 min, uint256 max);
        error ExpectedPause();
        error InvalidAccount(address account);
        error InvalidRiskSigner(address signer);
        error LimitTooLarge(uint256 limit, uint256 max);
        error LimitTooPrecise(uint256 limit);
        error NotPendingAdmin(address caller, address pendingAdmin);
        error NothingScheduled();
        error OperationExpired(uint256 expiredAt);
        error OperationNotReady(uint256 readyAt);
        error TokenNotSweepable(address token);
        error WithdrawalIsZero(address token);
    }

    /// What is asked of a token.
    interface Token {
        function balanceOf(address owner) external view returns (uint256);
        function decimals() external view returns (uint8);
    }
}
