// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IAccessControl} from "@openzeppelin/contracts/access/IAccessControl.sol";
import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {VaultBase} from "./support/VaultBase.sol";

contract RolesTest is VaultBase {
    function _grant(bytes32 role, address account) private {
        VM.prank(ADMIN);
        vault.grantRole(role, account);
    }

    function _revoke(bytes32 role, address account) private {
        VM.prank(ADMIN);
        vault.revokeRole(role, account);
    }

    function _assertPays(address caller, bytes32 requestId) private {
        VM.prank(caller);
        vault.payout(requestId, address(usd), ALICE, 1);
    }

    function _assertDoesNotPay(address caller) private {
        _expectNoRole(caller, operatorRole);
        VM.prank(caller);
        vault.payout(ID, address(usd), ALICE, 1);
    }

    function test_TheAdminAdministersEveryRole() public view {
        assertEq(vault.getRoleAdmin(adminRole), adminRole, "admin of the admin");
        assertEq(vault.getRoleAdmin(operatorRole), adminRole, "admin of operators");
        assertEq(vault.getRoleAdmin(guardianRole), adminRole, "admin of guardians");
        assertTrue(!vault.hasRole(bytes32(0), ADMIN), "nobody has the default admin role");
    }

    function test_OperatorsComeAndGo() public {
        _grant(operatorRole, BOB);
        _assertPays(BOB, keccak256("1"));
        _assertPays(OPERATOR, keccak256("2"));
        _revoke(operatorRole, OPERATOR);
        _assertDoesNotPay(OPERATOR);
        _assertPays(BOB, keccak256("3"));
        _revoke(operatorRole, BOB);
        _assertDoesNotPay(BOB);
        _grant(operatorRole, OPERATOR);
        _assertPays(OPERATOR, keccak256("4"));
    }

    function test_AnOperatorCanGiveItsRoleUp() public {
        VM.prank(OPERATOR);
        vault.renounceRole(operatorRole, OPERATOR);
        _assertDoesNotPay(OPERATOR);
        _assertDoesNotPay(address(0));
    }

    function test_GuardiansComeAndGo() public {
        _grant(guardianRole, BOB);
        VM.prank(BOB);
        vault.pause();
        _unpause();
        _revoke(guardianRole, BOB);
        _expectNoRole(BOB, adminRole);
        VM.prank(BOB);
        vault.pause();
    }

    function test_TheAdminsRoleIsNeitherGrantedNorRevokedNorRenounced() public {
        bytes memory refusal = abi.encodeWithSelector(IVaultErrors.AdminNeedsHandover.selector);
        VM.expectRevert(refusal);
        _grant(adminRole, BOB);
        VM.expectRevert(refusal);
        _revoke(adminRole, ADMIN);
        VM.expectRevert(refusal);
        VM.prank(ADMIN);
        vault.renounceRole(adminRole, ADMIN);
    }

    function test_NoOtherRoleCanBeGranted() public {
        _expectNoRole(ADMIN, bytes32(0));
        _grant(bytes32(0), ADMIN);
        _expectNoRole(ADMIN, bytes32(0));
        _grant(keccak256("SOME_ROLE"), ADMIN);
    }

    function test_RevertsOnGrantingToNobody() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.InvalidAccount.selector, address(0)));
        _grant(operatorRole, address(0));
    }

    function test_OnlyTheAdminGrantsAndRevokes() public {
        address[3] memory callers = [OPERATOR, GUARDIAN, STRANGER];
        for (uint256 i = 0; i < callers.length; ++i) {
            _expectNoRole(callers[i], adminRole);
            VM.prank(callers[i]);
            vault.grantRole(operatorRole, STRANGER);
            _expectNoRole(callers[i], adminRole);
            VM.prank(callers[i]);
            vault.revokeRole(operatorRole, OPERATOR);
        }
    }

    function test_NobodyRenouncesForAnother() public {
        VM.expectRevert(abi.encodeWithSelector(IAccessControl.AccessControlBadConfirmation.selector));
        VM.prank(STRANGER);
        vault.renounceRole(operatorRole, OPERATOR);
    }

    /// @dev One operator is remembered in the gate's word. Whatever is granted and revoked, who pays is who has the role.
    function testFuzz_WhoPaysIsWhoHasTheRole(uint8[24] memory steps) public {
        address[4] memory people = [OPERATOR, ALICE, BOB, STRANGER];
        for (uint256 i = 0; i < steps.length; ++i) {
            address who = people[steps[i] % 4];
            if (steps[i] % 3 == 0) {
                _grant(operatorRole, who);
            } else if (steps[i] % 3 == 1) {
                _revoke(operatorRole, who);
            } else {
                VM.prank(who);
                vault.renounceRole(operatorRole, who);
            }
            for (uint256 j = 0; j < people.length; ++j) {
                bytes32 requestId = keccak256(abi.encode(i, j));
                if (!vault.hasRole(operatorRole, people[j])) _expectNoRole(people[j], operatorRole);
                VM.prank(people[j]);
                vault.payout(requestId, address(usd), address(0xFEED), 1);
            }
            _assertDoesNotPay(address(0));
        }
    }
}
