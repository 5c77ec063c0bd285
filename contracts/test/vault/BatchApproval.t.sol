// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISettlementVault} from "../../src/vault/ISettlementVault.sol";
import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {BatchBase} from "./support/BatchBase.sol";

contract BatchApprovalTest is BatchBase {
    function test_PaysWhenEveryItemIsApproved() public {
        ISettlementVault.Payout[] memory payouts = _batch(5);
        _payApprovedBatch(payouts, _approvalsOf(payouts));
        _assertAllPaid(payouts);
    }

    function test_ApprovalsOfSingleItemsGoIntoAnyBatch() public {
        ISettlementVault.Payout[] memory all = _batch(4);
        ISettlementVault.Approval[] memory approvals = _approvalsOf(all);
        ISettlementVault.Payout[] memory two = new ISettlementVault.Payout[](2);
        ISettlementVault.Approval[] memory theirs = new ISettlementVault.Approval[](2);
        (two[0], two[1], theirs[0], theirs[1]) = (all[3], all[1], approvals[3], approvals[1]);
        _payApprovedBatch(two, theirs);
        _assertAllPaid(two);
        _payoutApproved(all[0].requestId, all[0].to, all[0].amount, approvals[0]);
    }

    function test_OneUnapprovedItemStopsAll() public {
        ISettlementVault.Payout[] memory payouts = _batch(3);
        ISettlementVault.Approval[] memory approvals = _approvalsOf(payouts);
        payouts[2].amount += 1;
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalInvalid.selector, payouts[2].requestId, signer));
        _payApprovedBatch(payouts, approvals);
        _assertState(payouts[0].requestId, ISettlementVault.RequestState.Unknown);
    }

    function test_RevertsOnApprovalsInAnotherOrder() public {
        ISettlementVault.Payout[] memory payouts = _batch(2);
        ISettlementVault.Approval[] memory approvals = _approvalsOf(payouts);
        (approvals[0], approvals[1]) = (approvals[1], approvals[0]);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalInvalid.selector, payouts[0].requestId, signer));
        _payApprovedBatch(payouts, approvals);
    }

    function test_RevertsOnExpiredApprovalsAndOldNonces() public {
        ISettlementVault.Payout[] memory payouts = _batch(2);
        ISettlementVault.Approval[] memory approvals = _approvalsOf(payouts);
        VM.warp(DEADLINE + 1);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalExpired.selector, payouts[0].requestId, DEADLINE));
        _payApprovedBatch(payouts, approvals);
        VM.warp(START);
        VM.prank(signer);
        vault.raiseApprovalNonce();
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalNonceMismatch.selector, payouts[0].requestId, 1, 2));
        _payApprovedBatch(payouts, approvals);
    }

    function test_RevertsUnlessThereIsOneApprovalForEachItem() public {
        ISettlementVault.Payout[] memory payouts = _batch(2);
        ISettlementVault.Approval[] memory approvals = _approvalsOf(_batch(3));
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.BatchApprovalsMismatch.selector, 2, 3));
        _payApprovedBatch(payouts, approvals);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.BatchSizeInvalid.selector, 0, 200));
        _payApprovedBatch(_batch(0), _approvalsOf(_batch(0)));
    }

    function test_RevertsWhilePausedForStrangersAndWithoutASigner() public {
        ISettlementVault.Payout[] memory payouts = _batch(1);
        ISettlementVault.Approval[] memory approvals = _approvalsOf(payouts);
        _expectNoRole(STRANGER, operatorRole);
        VM.prank(STRANGER);
        vault.payoutBatchWithApprovals(address(usd), payouts, approvals);
        VM.prank(GUARDIAN);
        vault.revokeRiskSigner();
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.EnforcedPause.selector));
        _payApprovedBatch(payouts, approvals);
        _unpause();
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RiskSignerNotSet.selector));
        _payApprovedBatch(payouts, approvals);
    }
}
