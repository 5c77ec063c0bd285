// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {IVaultEvents} from "../../src/vault/IVaultEvents.sol";
import {IVault} from "./support/IVault.sol";
import {VaultBase} from "./support/VaultBase.sol";

contract ConstructionTest is VaultBase {
    function test_RolesAreHandedOut() public view {
        assertTrue(vault.hasRole(adminRole, ADMIN), "the admin is admin");
        assertTrue(vault.hasRole(operatorRole, OPERATOR), "the operator is operator");
        assertTrue(vault.hasRole(guardianRole, GUARDIAN), "the guardian is guardian");
        assertEq(vault.admin(), ADMIN, "admin");
        assertTrue(!vault.hasRole(operatorRole, ADMIN), "the admin is no operator");
    }

    function test_RoleHashesAreTheKnownOnes() public view {
        assertEq(
            adminRole, 0xa49807205ce4d355092ef5a8a18f56e8913cf4a201fbe287825b095693c21775, "hash of the admin's role"
        );
        assertEq(
            operatorRole,
            0x97667070c54ef182b0f5858b034beac1b6f3089aa2d3188bb1e8929f4fa9b929,
            "hash of the operator's role"
        );
    }

    function test_SettingsAreReadable() public view {
        assertEq(vault.TREASURY(), TREASURY, "treasury");
        assertEq(vault.DELAY(), DELAY, "delay");
        assertEq(vault.DEPLOYED_AT_BLOCK(), 1000, "block of the deployment");
        assertEq(vault.riskSigner(), address(0), "risk signer");
        assertTrue(!vault.approvalRequired(), "no approvals");
        assertEq(vault.approvalNonce(), 0, "nonce");
        assertTrue(!vault.paused(), "not paused");
    }

    function test_AFirstRiskSignerIsInForceAtOnce() public {
        _useVault(ALICE);
        assertEq(vault.riskSigner(), ALICE, "risk signer");
        assertTrue(vault.approvalRequired(), "approvals");
        assertEq(vault.approvalNonce(), 1, "nonce");
    }

    function test_AVaultCanDoWithoutAGuardian() public {
        IVault lonely = _deploy(ADMIN, OPERATOR, address(0), TREASURY, address(0), DELAY);
        assertTrue(!lonely.hasRole(guardianRole, address(0)), "nobody is no guardian");
        VM.prank(ADMIN);
        lonely.pause();
        assertTrue(lonely.paused(), "paused by the admin");
    }

    function test_RevertsOnZeroAddresses() public {
        bytes memory refusal = abi.encodeWithSelector(IVaultErrors.InvalidAccount.selector, address(0));
        VM.expectRevert(refusal);
        this.deploy(address(0), OPERATOR, TREASURY, DELAY);
        VM.expectRevert(refusal);
        this.deploy(ADMIN, address(0), TREASURY, DELAY);
        VM.expectRevert(refusal);
        this.deploy(ADMIN, OPERATOR, address(0), DELAY);
    }

    function test_TheDelayHasBounds() public {
        this.deploy(ADMIN, OPERATOR, TREASURY, 1 hours);
        this.deploy(ADMIN, OPERATOR, TREASURY, 30 days);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.DelayOutOfBounds.selector, 1 hours - 1, 1 hours, 30 days));
        this.deploy(ADMIN, OPERATOR, TREASURY, 1 hours - 1);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.DelayOutOfBounds.selector, 30 days + 1, 1 hours, 30 days));
        this.deploy(ADMIN, OPERATOR, TREASURY, 30 days + 1);
    }

    /// @dev No chain takes more code than EIP-170 allows.
    function test_TheCodeIsWithinTheLimitOfChains() public view {
        assertTrue(address(vault).code.length <= 24_576, "size of the code");
    }

    /// @dev Also within the 2,300 gas that old contracts give.
    function test_TheVaultTakesCoins() public {
        VM.deal(address(this), 3);
        (bool taken,) = address(vault).call{value: 1}("");
        assertTrue(taken, "coins are taken");
        payable(address(vault)).transfer(2);
        assertEq(address(vault).balance, 3, "balance");
        (taken,) = address(vault).call{value: 0}(hex"12345678");
        assertTrue(!taken, "a function that is not there is no deposit");
    }

    /// @dev The event hashes that workers filter by.
    function test_EventsHaveTheirSignatures() public pure {
        assertEq(
            IVaultEvents.PayoutExecuted.selector,
            keccak256("PayoutExecuted(bytes32,address,address,uint256)"),
            "PayoutExecuted"
        );
        assertEq(
            IVaultEvents.RequestCancelled.selector,
            keccak256("RequestCancelled(bytes32,address,address,uint256,address)"),
            "RequestCancelled"
        );
    }

    /// @dev From outside, so that a revert of the constructor is a revert of a call.
    function deploy(address admin, address operator, address treasury, uint256 delay) external {
        _deploy(admin, operator, GUARDIAN, treasury, address(0), delay);
    }
}
