// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IAccessControl} from "@openzeppelin/contracts/access/IAccessControl.sol";
import {DemoToken} from "../../src/demo/DemoToken.sol";
import {ISettlementVault} from "../../src/vault/ISettlementVault.sol";
import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {IVaultEvents} from "../../src/vault/IVaultEvents.sol";
import {ApprovalBase} from "./support/ApprovalBase.sol";

/// @notice The cases to which the vault whose work this one takes over is held, each under its name. Where it answers
/// with a string, this one has an error; where it has one asset, this one has a token for each payout.
contract ConformanceTest is ApprovalBase {
    function setUp() public override {
        super.setUp();
        _useVault(address(0));
    }

    function _expectInvalid(bytes32 requestId) private {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalInvalid.selector, requestId, vault.riskSigner()));
    }

    function test_case_replay() public {
        _payout(ID, ALICE, 1000);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RequestAlreadyPaid.selector, ID, START, 1000));
        _payout(ID, ALICE, 1000);
    }

    function test_case_paused() public {
        _pause();
        VM.expectRevert(abi.encodeWithSignature("EnforcedPause()"));
        _payout(ID, ALICE, 1000);
    }

    function test_case_role_admin() public view {
        assertEq(vault.getRoleAdmin(operatorRole), adminRole, "admin of operators");
        assertEq(vault.getRoleAdmin(adminRole), adminRole, "admin of the admin");
        assertTrue(!vault.hasRole(bytes32(0), ADMIN), "nobody has the default admin role");
    }

    function test_case_events() public {
        _expectEvent();
        emit IVaultEvents.PayoutExecuted(ID, address(usd), ALICE, 1000);
        _payout(ID, ALICE, 1000);
        _expectEvent();
        emit IAccessControl.RoleGranted(operatorRole, BOB, ADMIN);
        VM.prank(ADMIN);
        vault.grantRole(operatorRole, BOB);
        _expectEvent();
        emit IAccessControl.RoleRevoked(operatorRole, BOB, ADMIN);
        VM.prank(ADMIN);
        vault.revokeRole(operatorRole, BOB);
    }

    function test_case_zero_operator() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.InvalidAccount.selector, address(0)));
        VM.prank(ADMIN);
        vault.grantRole(operatorRole, address(0));
    }

    function test_case_sweep_rules() public {
        DemoToken stray = new DemoToken("Stray", "STRAY", 18);
        stray.mint(address(vault), 500);
        VM.startPrank(ADMIN);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.TokenNotSweepable.selector, address(usd)));
        vault.sweep(address(usd), ALICE, 1);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.InvalidAccount.selector, address(0)));
        vault.sweep(address(stray), address(0), 1);
        VM.expectRevert();
        vault.sweep(address(0), ALICE, 1);
        vault.sweep(address(stray), ALICE, 500);
        VM.stopPrank();
        assertEq(stray.balanceOf(ALICE), 500, "swept");
    }

    function test_case_approval_signature_ok() public {
        _useVault(signer);
        _payoutApproved(ID, ALICE, 1000, _approval(ID, ALICE, 1000));
        _assertPaid(ALICE, 1000);
    }

    function test_case_approval_wrong_signer() public {
        _useVault(signer);
        ISettlementVault.Approval memory approval = _approvalOf(OTHER_KEY, ID, ALICE, 1000);
        _expectInvalid(ID);
        _payoutApproved(ID, ALICE, 1000, approval);
    }

    function test_case_approval_tampered_amount() public {
        _useVault(signer);
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 1000);
        _expectInvalid(ID);
        _payoutApproved(ID, ALICE, 1001, approval);
    }

    function test_case_gate_payout_needs_approval() public {
        _useVault(signer);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalRequired.selector, ID));
        _payout(ID, ALICE, 1000);
    }

    function test_case_gate_approval_needs_signer() public {
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 1000);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RiskSignerNotSet.selector));
        _payoutApproved(ID, ALICE, 1000, approval);
    }

    function test_case_signer_rotation() public {
        _useVault(signer);
        VM.warp(DEADLINE - DELAY);
        _rotateTo(VM.addr(OTHER_KEY));
        ISettlementVault.Approval memory old = _approvalOf(SIGNER_KEY, ID, ALICE, 1000);
        _expectInvalid(ID);
        _payoutApproved(ID, ALICE, 1000, old);
        _payoutApproved(ID, ALICE, 1000, _approvalOf(OTHER_KEY, ID, ALICE, 1000));
    }

    function test_case_replay_with_approval() public {
        _useVault(signer);
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 1000);
        _payoutApproved(ID, ALICE, 1000, approval);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RequestAlreadyPaid.selector, ID, START, 1000));
        _payoutApproved(ID, ALICE, 1000, approval);
    }

    function test_case_per_payout_limit_boundary() public {
        _setToken(address(usd), true, 1000, 0);
        _payout(ID, ALICE, 1000);
        VM.expectRevert(
            abi.encodeWithSelector(IVaultErrors.PayoutLimitExceeded.selector, OTHER_ID, address(usd), 1001, 1000)
        );
        _payout(OTHER_ID, ALICE, 1001);
    }

    function test_case_daily_limit_boundary() public {
        _setToken(address(usd), true, 0, 2000);
        _payout(ID, ALICE, 1500);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.DayLimitExceeded.selector, address(usd), 501, 1500, 2000));
        _payout(OTHER_ID, ALICE, 501);
        _payout(OTHER_ID, ALICE, 500);
    }

    function test_case_denylist_toggle() public {
        VM.prank(ADMIN);
        vault.deny(ALICE);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RecipientDenied.selector, ID, ALICE));
        _payout(ID, ALICE, 1000);
        VM.prank(ADMIN);
        vault.allow(ALICE);
        _payout(ID, ALICE, 1000);
    }

    function test_case_cancel() public {
        VM.prank(ADMIN);
        vault.cancelRequest(ID, address(usd), ALICE, 1000);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RequestAlreadyCancelled.selector, ID, START, 1000));
        _payout(ID, ALICE, 1000);
    }

    function test_case_cancel_after_payout() public {
        _payout(ID, ALICE, 1000);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RequestAlreadyPaid.selector, ID, START, 1000));
        _cancel(ID);
    }

    /// @dev Different on purpose: it takes a pause and a delay, and goes to the treasury only.
    function test_case_emergency_withdraw() public {
        _pause();
        VM.prank(ADMIN);
        vault.scheduleEmergencyWithdrawal(address(usd), FUNDS);
        VM.warp(START + DELAY);
        VM.prank(ADMIN);
        vault.executeEmergencyWithdrawal(address(usd));
        _assertPaid(TREASURY, FUNDS);
    }

    function test_case_constructor_zero_checks() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.InvalidAccount.selector, address(0)));
        this.deploy(address(0), OPERATOR);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.InvalidAccount.selector, address(0)));
        this.deploy(ADMIN, address(0));
    }

    function test_case_balances() public {
        _payout(ID, ALICE, 1000);
        _payout(OTHER_ID, BOB, 500);
        assertEq(usd.balanceOf(ALICE), 1000, "first recipient");
        assertEq(usd.balanceOf(BOB), 500, "second recipient");
        assertEq(usd.balanceOf(address(vault)), FUNDS - 1500, "left in the vault");
    }

    function test_case_removed_operator() public {
        VM.prank(ADMIN);
        vault.revokeRole(operatorRole, OPERATOR);
        _expectNoRole(OPERATOR, operatorRole);
        _payout(ID, ALICE, 1000);
    }

    function test_case_double_pause_and_unpause() public {
        _pause();
        VM.expectRevert(abi.encodeWithSignature("EnforcedPause()"));
        _pause();
        _unpause();
        VM.expectRevert(abi.encodeWithSignature("ExpectedPause()"));
        _unpause();
    }

    function test_case_insufficient_balance() public {
        VM.expectRevert(
            abi.encodeWithSelector(IVaultErrors.VaultBalanceTooLow.selector, address(usd), FUNDS, FUNDS + 1)
        );
        _payout(ID, ALICE, FUNDS + 1);
    }

    /// @dev From outside, so that a revert of the constructor is a revert of a call.
    function deploy(address admin, address operator) external {
        _deploy(admin, operator, GUARDIAN, TREASURY, address(0), DELAY);
    }
}
