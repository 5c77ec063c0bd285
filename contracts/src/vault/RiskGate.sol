// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {Gate} from "./Gate.sol";
import {ISettlementVault} from "./ISettlementVault.sol";
import {Timelock} from "./Timelock.sol";

/// @title RiskGate
/// @notice The second key, whose approval each payout needs.
///
/// Once there is a risk signer, the way back to payouts without approval is the timelock. Revoking the signer does not
/// open it: the vault then pays nothing, so that a thief of the admin's key gains nothing by revoking.
///
/// Approvals are signed with a nonce that is the vault's, not the signer's, so that it grows when signers change too:
/// a signer that comes back finds its old approvals void.
abstract contract RiskGate is ISettlementVault, EIP712, Gate {
    bytes32 private constant APPROVAL_TYPEHASH = keccak256(
        "PayoutApproval(bytes32 requestId,address token,address to,uint256 amount,uint256 deadline,uint256 nonce)"
    );

    /// @inheritdoc ISettlementVault
    uint64 public approvalNonce;
    /// @inheritdoc ISettlementVault
    address public riskSigner;

    Timelock.Nominee private nominatedSigner;

    /// @param signer the first risk signer, or zero for payouts without approval.
    constructor(address signer) EIP712("SettlementVault", "1") {
        if (signer != address(0)) _setSigner(signer);
    }

    /// @inheritdoc ISettlementVault
    function scheduleRiskSigner(address signer) external onlyRole(ADMIN_ROLE) {
        if (signer == address(this)) revert InvalidRiskSigner(signer);
        (uint48 readyAt, uint256 expiresAt) = Timelock.windowFrom(DELAY);
        nominatedSigner = Timelock.Nominee({account: signer, readyAt: readyAt});
        emit RiskSignerScheduled(signer, readyAt, expiresAt);
    }

    /// @inheritdoc ISettlementVault
    function cancelRiskSigner() external onlyGuardian {
        Timelock.requireScheduled(nominatedSigner.readyAt);
        emit RiskSignerScheduleCancelled(nominatedSigner.account, msg.sender);
        delete nominatedSigner;
    }

    /// @inheritdoc ISettlementVault
    function applyRiskSigner() external onlyRole(ADMIN_ROLE) {
        Timelock.requireReady(nominatedSigner.readyAt);
        address signer = nominatedSigner.account;
        delete nominatedSigner;
        _setSigner(signer);
    }

    /// @inheritdoc ISettlementVault
    function revokeRiskSigner() external onlyGuardian {
        address signer = riskSigner;
        if (signer == address(0)) revert RiskSignerNotSet();
        riskSigner = address(0);
        emit RiskSignerRevoked(signer, msg.sender, ++approvalNonce);
        if (!paused()) _pause();
    }

    /// @inheritdoc ISettlementVault
    function raiseApprovalNonce() external {
        if (msg.sender != riskSigner && !hasRole(GUARDIAN_ROLE, msg.sender)) _checkRole(ADMIN_ROLE);
        emit ApprovalNonceRaised(++approvalNonce, msg.sender);
    }

    /// @inheritdoc ISettlementVault
    function pendingRiskSigner() external view returns (address signer, uint256 readyAt, uint256 expiresAt) {
        (signer, readyAt) = (nominatedSigner.account, nominatedSigner.readyAt);
        expiresAt = Timelock.expiry(nominatedSigner.readyAt);
    }

    /// @inheritdoc ISettlementVault
    function approvalDigest(
        bytes32 requestId,
        address token,
        address to,
        uint256 amount,
        uint256 deadline,
        uint256 nonce
    ) public view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(APPROVAL_TYPEHASH, requestId, token, to, amount, deadline, nonce)));
    }

    /// @dev Reverts unless the risk signer approved exactly this payout, for now.
    function _requireApproval(bytes32 requestId, address token, address to, uint256 amount, Approval calldata approval)
        internal
        view
    {
        address signer = riskSigner;
        if (signer == address(0)) revert RiskSignerNotSet();
        if (approval.nonce != approvalNonce) revert ApprovalNonceMismatch(requestId, approval.nonce, approvalNonce);
        if (block.timestamp > approval.deadline) revert ApprovalExpired(requestId, approval.deadline);
        bytes32 digest = approvalDigest(requestId, token, to, amount, approval.deadline, approval.nonce);
        if (!SignatureChecker.isValidSignatureNowCalldata(signer, digest, approval.signature)) {
            revert ApprovalInvalid(requestId, signer);
        }
    }

    /// @dev Puts a signer in force, or with zero none, and voids every approval.
    function _setSigner(address signer) private {
        address previous = riskSigner;
        riskSigner = signer;
        _setApprovalRequired(signer != address(0));
        emit RiskSignerChanged(previous, signer, ++approvalNonce);
    }
}
