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
        error ApprovalRequired(bytes32 requestId);
        error RiskSignerNotSet();
        error ApprovalInvalid(bytes32 requestId, address riskSigner);
        error BatchSizeInvalid(uint256 size, uint256 max);
        error BatchApprovalsMismatch(uint256 payouts, uint256 approvals);
        error AccessControlUnauthorizedAccount(address account, bytes32 neededRole);
        error ReentrancyGuardReentrantCall();
        error SafeERC20FailedOperation(address token);
    }

    /// What is asked of a token.
    interface Token {
        function balanceOf(address owner) external view returns (uint256);
    }
}
