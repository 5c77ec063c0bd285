// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISettlementVault} from "../../src/vault/ISettlementVault.sol";
import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {IVaultEvents} from "../../src/vault/IVaultEvents.sol";
import {ApprovalBase} from "./support/ApprovalBase.sol";

contract RiskSignerTest is ApprovalBase {
    address private other;

    function setUp() public override {
        super.setUp();
        other = VM.addr(OTHER_KEY);
    }

    function _schedule(address newSigner) private {
        VM.prank(ADMIN);
        vault.scheduleRiskSigner(newSigner);
    }

    function _apply() private {
        VM.prank(ADMIN);
        vault.applyRiskSigner();
    }

    function _revoke(address by) private {
        VM.prank(by);
        vault.revokeRiskSigner();
    }

    function _assertPending(address account, uint256 readyAt) private view {
        (address pending, uint256 ready, uint256 expires) = vault.pendingRiskSigner();
        assertEq(pending, account, "announced signer");
        assertEq(ready, readyAt, "ready at");
        assertEq(expires, readyAt == 0 ? 0 : readyAt + GRACE, "expires at");
    }

    function test_ANewSignerWaitsForTheDelay() public {
        _expectEvent();
        emit IVaultEvents.RiskSignerScheduled(other, START + DELAY, START + DELAY + GRACE);
        _schedule(other);
        _assertPending(other, START + DELAY);
        assertEq(vault.riskSigner(), signer, "signer meanwhile");

        VM.warp(START + DELAY - 1);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.OperationNotReady.selector, START + DELAY));
        _apply();

        VM.warp(START + DELAY);
        _expectEvent();
        emit IVaultEvents.RiskSignerChanged(signer, other, 2);
        _apply();
        assertEq(vault.riskSigner(), other, "signer");
        _assertPending(address(0), 0);
    }

    function test_AnAnnouncementExpires() public {
        _schedule(other);
        uint256 expiresAt = START + DELAY + GRACE;
        VM.warp(expiresAt + 1);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.OperationExpired.selector, expiresAt));
        _apply();
        VM.warp(expiresAt);
        _apply();
        assertEq(vault.riskSigner(), other, "signer in the last second");
    }

    function test_AnAnnouncementIsGoodOnce() public {
        _rotateTo(other);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.NothingScheduled.selector));
        _apply();
    }

    function test_ASecondAnnouncementReplacesTheFirstAndWaitsAnew() public {
        _schedule(other);
        VM.warp(START + DELAY);
        _schedule(BOB);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.OperationNotReady.selector, START + 2 * DELAY));
        _apply();
        VM.warp(START + 2 * DELAY);
        _apply();
        assertEq(vault.riskSigner(), BOB, "signer");
    }

    function test_GuardiansAndTheAdminDropAnAnnouncement() public {
        address[2] memory callers = [GUARDIAN, ADMIN];
        for (uint256 i = 0; i < callers.length; ++i) {
            _schedule(other);
            _expectEvent();
            emit IVaultEvents.RiskSignerScheduleCancelled(other, callers[i]);
            VM.prank(callers[i]);
            vault.cancelRiskSigner();
            _assertPending(address(0), 0);
        }
        VM.warp(START + DELAY);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.NothingScheduled.selector));
        _apply();
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.NothingScheduled.selector));
        VM.prank(ADMIN);
        vault.cancelRiskSigner();
    }

    function test_ApprovalsOfTheOldSignerAreVoid() public {
        VM.warp(DEADLINE - DELAY);
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 100);
        _rotateTo(other);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalNonceMismatch.selector, ID, 1, 2));
        _payoutApproved(ID, ALICE, 100, approval);
        _payoutApproved(ID, ALICE, 100, _approvalOf(OTHER_KEY, ID, ALICE, 100));
    }

    function test_ASignerThatComesBackFindsItsOldApprovalsVoid() public {
        VM.warp(DEADLINE - 2 * DELAY);
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 100);
        _rotateTo(other);
        _rotateTo(signer);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalNonceMismatch.selector, ID, 1, 3));
        _payoutApproved(ID, ALICE, 100, approval);
    }

    function test_RevokingIsImmediateAndPauses() public {
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 100);
        _expectEvent();
        emit IVaultEvents.RiskSignerRevoked(signer, GUARDIAN, 2);
        _revoke(GUARDIAN);

        assertTrue(vault.paused(), "paused");
        assertEq(vault.riskSigner(), address(0), "signer");
        assertEq(vault.approvalNonce(), 2, "nonce");
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.EnforcedPause.selector));
        _payoutApproved(ID, ALICE, 100, approval);
    }

    /// @dev Else who has the admin's key could revoke, unpause and pay without approval.
    function test_RevokingDoesNotOpenTheVault() public {
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 100);
        _revoke(ADMIN);
        _unpause();

        assertTrue(vault.approvalRequired(), "approvals are still required");
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalRequired.selector, ID));
        _payout(ID, ALICE, 100);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RiskSignerNotSet.selector));
        _payoutApproved(ID, ALICE, 100, approval);
    }

    function test_RevokingWhilePausedWorksToo() public {
        _pause();
        _revoke(GUARDIAN);
        assertTrue(vault.paused(), "paused");
        assertEq(vault.riskSigner(), address(0), "signer");
    }

    function test_RevertsOnRevokingNobody() public {
        _revoke(GUARDIAN);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RiskSignerNotSet.selector));
        _revoke(GUARDIAN);
    }

    function test_PayoutsWithoutApprovalComeBackThroughTheTimelockOnly() public {
        _revoke(GUARDIAN);
        _unpause();
        _rotateTo(address(0));
        assertTrue(!vault.approvalRequired(), "no approvals");
        _payout(ID, ALICE, 100);
    }

    function test_ASignerCanBeSetOnAVaultWithoutOne() public {
        _useVault(address(0));
        _payout(ID, ALICE, 1);
        _rotateTo(signer);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalRequired.selector, OTHER_ID));
        _payout(OTHER_ID, ALICE, 1);
    }

    function test_RevertsOnTheVaultAsItsOwnSigner() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.InvalidRiskSigner.selector, address(vault)));
        _schedule(address(vault));
    }

    function test_OnlyTheAdminAnnouncesAndApplies() public {
        _schedule(other);
        VM.warp(START + DELAY);
        address[4] memory callers = [OPERATOR, GUARDIAN, STRANGER, signer];
        for (uint256 i = 0; i < callers.length; ++i) {
            _expectNoRole(callers[i], adminRole);
            VM.prank(callers[i]);
            vault.scheduleRiskSigner(STRANGER);
            _expectNoRole(callers[i], adminRole);
            VM.prank(callers[i]);
            vault.applyRiskSigner();
        }
    }

    function test_OperatorsAndSignersDoNotRevokeOrDrop() public {
        _schedule(other);
        address[3] memory callers = [OPERATOR, STRANGER, signer];
        for (uint256 i = 0; i < callers.length; ++i) {
            _expectNoRole(callers[i], adminRole);
            _revoke(callers[i]);
            _expectNoRole(callers[i], adminRole);
            VM.prank(callers[i]);
            vault.cancelRiskSigner();
        }
    }

    function testFuzz_TheWindowIsExact(uint256 wait) public {
        _schedule(other);
        wait = _edgeOfWindow(wait);
        VM.warp(START + wait);
        if (wait < DELAY) {
            VM.expectRevert(abi.encodeWithSelector(IVaultErrors.OperationNotReady.selector, START + DELAY));
        } else if (wait > DELAY + GRACE) {
            VM.expectRevert(abi.encodeWithSelector(IVaultErrors.OperationExpired.selector, START + DELAY + GRACE));
        }
        _apply();
    }
}
