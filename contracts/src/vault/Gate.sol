// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISettlementVault} from "./ISettlementVault.sol";
import {VaultRoles} from "./VaultRoles.sol";

/// @title Gate
/// @notice What every payout passes first: whether the caller may pay, whether now, and whether to that recipient.
///
/// The usual answers stand in one storage word, because each word more costs a payout 2,100 gas (which is why the pause
/// is not OpenZeppelin's, though it is named as theirs). From its lowest bits on: whether the vault is paused (8 bits),
/// whether payouts need an approval (8), and two shortcuts that spare a look-up but never decide against it:
/// - The deny filter (80) has a bit for each denied account, which one account in eighty shares. A recipient whose bit
///   is not set is not denied; any other is looked up. Bits are never cleared.
/// - One account that is an operator (160), or the vault's own address, which never calls. Any other caller is looked up.
abstract contract Gate is ISettlementVault, VaultRoles {
    uint256 private constant PAUSED = 1;
    uint256 private constant APPROVAL_REQUIRED = 1 << 8;
    uint256 private constant FILTER_FIRST_BIT = 1 << 16;
    uint256 private constant FILTER_BITS = 80;
    uint256 private constant OPERATOR_SHIFT = 96;
    uint256 private constant OPERATOR_MASK = type(uint256).max << OPERATOR_SHIFT;

    uint256 private gate;

    /// @inheritdoc ISettlementVault
    mapping(address account => bool) public isDenied;

    /// @dev Reverts unless the vault is paused.
    modifier whenPaused() {
        if (!paused()) revert ExpectedPause();
        _;
    }

    /// @inheritdoc ISettlementVault
    function pause() external onlyGuardian {
        if (paused()) revert EnforcedPause();
        _pause();
    }

    /// @inheritdoc ISettlementVault
    function unpause() external onlyRole(ADMIN_ROLE) whenPaused {
        gate &= ~PAUSED;
        emit Unpaused(msg.sender);
    }

    /// @inheritdoc ISettlementVault
    function deny(address account) external onlyGuardian {
        if (account == address(0)) revert InvalidAccount(account);
        gate |= _filterBit(account);
        isDenied[account] = true;
        emit DenylistChanged(account, true, msg.sender);
    }

    /// @inheritdoc ISettlementVault
    function allow(address account) external onlyRole(ADMIN_ROLE) {
        if (account == address(0)) revert InvalidAccount(account);
        isDenied[account] = false;
        emit DenylistChanged(account, false, msg.sender);
    }

    /// @inheritdoc ISettlementVault
    function paused() public view returns (bool) {
        return gate & PAUSED != 0;
    }

    /// @inheritdoc ISettlementVault
    function approvalRequired() external view returns (bool) {
        return gate & APPROVAL_REQUIRED != 0;
    }

    /// @dev Lets an operator in while the vault is not paused, and returns the word for the questions to come.
    function _enter() internal view returns (uint256 word) {
        word = gate;
        if (msg.sender != _knownOperator(word)) _checkRole(OPERATOR_ROLE);
        if (word & PAUSED != 0) revert EnforcedPause();
    }

    /// @dev Reverts when payouts need an approval.
    function _requireNoApproval(uint256 word, bytes32 requestId) internal pure {
        if (word & APPROVAL_REQUIRED != 0) revert ApprovalRequired(requestId);
    }

    /// @dev Reverts when the recipient is on the denylist.
    function _requireNotDenied(uint256 word, bytes32 requestId, address to) internal view {
        if (word & _filterBit(to) != 0) {
            if (isDenied[to]) revert RecipientDenied(requestId, to);
        }
    }

    /// @dev Stops payouts, whether they were stopped before or not.
    function _pause() internal {
        gate |= PAUSED;
        emit Paused(msg.sender);
    }

    /// @dev Sets whether payouts need an approval.
    function _setApprovalRequired(bool required) internal {
        gate = required ? gate | APPROVAL_REQUIRED : gate & ~APPROVAL_REQUIRED;
    }

    /// @dev Every grant of a role passes here.
    function _grantRole(bytes32 role, address account) internal override returns (bool) {
        if (role == OPERATOR_ROLE) {
            address known = _knownOperator(gate);
            if (known == address(0) || known == address(this)) _setKnownOperator(account);
        }
        return super._grantRole(role, account);
    }

    /// @dev Every loss of a role passes here.
    function _revokeRole(bytes32 role, address account) internal override returns (bool) {
        if (role == OPERATOR_ROLE && account == _knownOperator(gate)) _setKnownOperator(address(this));
        return super._revokeRole(role, account);
    }

    /// @dev Remembers an operator, or with the vault's own address none.
    function _setKnownOperator(address account) private {
        gate = (gate & ~OPERATOR_MASK) | (uint256(uint160(account)) << OPERATOR_SHIFT);
    }

    /// @dev The operator in the gate's word.
    function _knownOperator(uint256 word) private pure returns (address) {
        return address(uint160(word >> OPERATOR_SHIFT));
    }

    /// @dev The bit of the deny filter that an account has with others.
    function _filterBit(address account) private pure returns (uint256) {
        return FILTER_FIRST_BIT << (uint160(account) % FILTER_BITS);
    }
}
