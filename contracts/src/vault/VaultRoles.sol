// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {ISettlementVault} from "./ISettlementVault.sol";
import {Timelock} from "./Timelock.sol";

/// @title VaultRoles
/// @notice Who may do what: the admin sets the rules, operators pay, guardians stop.
///
/// There is exactly one admin at any time. It changes by hand-over only, which takes a delay and the new admin's own
/// acceptance, so that a mistyped address cannot lose the vault and a stolen key cannot move it unseen. The default
/// admin role of OpenZeppelin is held by nobody, so no role but these three can ever be granted.
abstract contract VaultRoles is ISettlementVault, AccessControl {
    /// @inheritdoc ISettlementVault
    bytes32 public constant ADMIN_ROLE = keccak256("ADMIN_ROLE");
    /// @inheritdoc ISettlementVault
    bytes32 public constant OPERATOR_ROLE = keccak256("OPERATOR_ROLE");
    /// @inheritdoc ISettlementVault
    bytes32 public constant GUARDIAN_ROLE = keccak256("GUARDIAN_ROLE");

    /// @inheritdoc ISettlementVault
    uint256 public immutable DELAY;

    /// @inheritdoc ISettlementVault
    address public admin;
    Timelock.Nominee private nominatedAdmin;

    /// @dev The admin may do whatever a guardian may.
    modifier onlyGuardian() {
        if (!hasRole(GUARDIAN_ROLE, msg.sender)) _checkRole(ADMIN_ROLE);
        _;
    }

    /// @param admin_ the first admin.
    /// @param operator the first operator.
    /// @param guardian the first guardian, or zero for none.
    /// @param delay seconds that every timelocked operation waits.
    constructor(address admin_, address operator, address guardian, uint256 delay) {
        DELAY = Timelock.checkedDelay(delay);
        _setRoleAdmin(ADMIN_ROLE, ADMIN_ROLE);
        _setRoleAdmin(OPERATOR_ROLE, ADMIN_ROLE);
        _setRoleAdmin(GUARDIAN_ROLE, ADMIN_ROLE);
        admin = admin_;
        _grantRole(ADMIN_ROLE, admin_);
        emit AdminTransferred(address(0), admin_);
        _grantRole(OPERATOR_ROLE, operator);
        if (guardian != address(0)) _grantRole(GUARDIAN_ROLE, guardian);
    }

    /// @inheritdoc ISettlementVault
    function scheduleAdminTransfer(address account) external onlyRole(ADMIN_ROLE) {
        if (account == address(0) || account == admin) revert InvalidAccount(account);
        (uint48 readyAt, uint256 expiresAt) = Timelock.windowFrom(DELAY);
        nominatedAdmin = Timelock.Nominee({account: account, readyAt: readyAt});
        emit AdminTransferScheduled(account, readyAt, expiresAt);
    }

    /// @inheritdoc ISettlementVault
    function cancelAdminTransfer() external onlyRole(ADMIN_ROLE) {
        Timelock.requireScheduled(nominatedAdmin.readyAt);
        emit AdminTransferCancelled(nominatedAdmin.account);
        delete nominatedAdmin;
    }

    /// @inheritdoc ISettlementVault
    function acceptAdminTransfer() external {
        if (msg.sender != nominatedAdmin.account) revert NotPendingAdmin(msg.sender, nominatedAdmin.account);
        Timelock.requireReady(nominatedAdmin.readyAt);
        address previous = admin;
        admin = msg.sender;
        delete nominatedAdmin;
        _revokeRole(ADMIN_ROLE, previous);
        _grantRole(ADMIN_ROLE, msg.sender);
        emit AdminTransferred(previous, msg.sender);
    }

    /// @inheritdoc ISettlementVault
    function pendingAdmin() external view returns (address account, uint256 readyAt, uint256 expiresAt) {
        return (nominatedAdmin.account, nominatedAdmin.readyAt, Timelock.expiry(nominatedAdmin.readyAt));
    }

    /// @notice Grants a role that `ADMIN_ROLE` administers; not the admin's own.
    function grantRole(bytes32 role, address account) public override {
        _refuseAdminRole(role);
        super.grantRole(role, account);
    }

    /// @notice Takes a role away; not the admin's own.
    function revokeRole(bytes32 role, address account) public override {
        _refuseAdminRole(role);
        super.revokeRole(role, account);
    }

    /// @notice Gives up a role of the caller's; not the admin's, or nobody could unpause or rescue.
    function renounceRole(bytes32 role, address callerConfirmation) public override {
        _refuseAdminRole(role);
        super.renounceRole(role, callerConfirmation);
    }

    /// @dev Refuses the zero address; every grant passes here.
    function _grantRole(bytes32 role, address account) internal virtual override returns (bool) {
        if (account == address(0)) revert InvalidAccount(account);
        return super._grantRole(role, account);
    }

    /// @dev Reverts for the admin's role.
    function _refuseAdminRole(bytes32 role) private pure {
        if (role == ADMIN_ROLE) revert AdminNeedsHandover();
    }
}
