// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISettlementVault} from "../../src/vault/ISettlementVault.sol";
import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {IVaultEvents} from "../../src/vault/IVaultEvents.sol";
import {NativeBase} from "./support/NativeBase.sol";

/// @notice Payouts of the chain's own coin that a risk signer has approved: for the coin, and for nothing else.
contract NativeApprovalTest is NativeBase {
    function setUp() public override {
        super.setUp();
        _useVaultWithCoins(signer);
    }

    function _expectInvalid(bytes32 requestId) private {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalInvalid.selector, requestId, signer));
    }

    function test_PaysWhatWasApproved() public {
        ISettlementVault.Payout[] memory payouts = _batch(3);
        ISettlementVault.Approval[] memory approvals = _approvalsIn(COIN, payouts);
        for (uint256 i = 0; i < payouts.length; ++i) {
            _expectEvent();
            emit IVaultEvents.PayoutExecuted(payouts[i].requestId, COIN, payouts[i].to, payouts[i].amount);
        }
        _payNativeApproved(payouts, approvals);
        _assertCoinsPaid(payouts);
    }

    function test_RevertsWithoutAnApproval() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalRequired.selector, ID));
        _payNative(ID, ALICE, 1);
    }

    function test_AnApprovalOfATokenDoesNotPayTheCoin() public {
        ISettlementVault.Payout[] memory payouts = _one(ID, ALICE, 1);
        ISettlementVault.Approval[] memory approvals = _approvalsIn(address(usd), payouts);
        _expectInvalid(ID);
        _payNativeApproved(payouts, approvals);
    }

    function test_AnApprovalOfTheCoinDoesNotPayAToken() public {
        ISettlementVault.Approval[] memory approvals = _approvalsIn(COIN, _one(ID, ALICE, 1));
        _expectInvalid(ID);
        _payoutApproved(ID, ALICE, 1, approvals[0]);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.BalanceUnknown.selector, COIN));
        VM.prank(OPERATOR);
        vault.payoutWithApproval(ID, COIN, ALICE, 1, approvals[0]);
    }

    function test_AnApprovalIsOfOneAmountAndOneRecipient() public {
        ISettlementVault.Payout[] memory payouts = _one(ID, ALICE, 1);
        ISettlementVault.Approval[] memory approvals = _approvalsIn(COIN, payouts);
        payouts[0].amount = 2;
        _expectInvalid(ID);
        _payNativeApproved(payouts, approvals);
        (payouts[0].amount, payouts[0].to) = (1, BOB);
        _expectInvalid(ID);
        _payNativeApproved(payouts, approvals);
        payouts[0].to = ALICE;
        _payNativeApproved(payouts, approvals);
    }

    function test_AnApprovalExpires() public {
        ISettlementVault.Payout[] memory payouts = _one(ID, ALICE, 1);
        ISettlementVault.Approval[] memory approvals = _approvalsIn(COIN, payouts);
        VM.warp(DEADLINE + 1);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalExpired.selector, ID, DEADLINE));
        _payNativeApproved(payouts, approvals);
    }

    function test_RaisingTheNonceVoidsApprovals() public {
        ISettlementVault.Payout[] memory payouts = _one(ID, ALICE, 1);
        ISettlementVault.Approval[] memory approvals = _approvalsIn(COIN, payouts);
        VM.prank(GUARDIAN);
        vault.raiseApprovalNonce();
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalNonceMismatch.selector, ID, 1, 2));
        _payNativeApproved(payouts, approvals);
    }

    function test_EachPayoutOfABatchHasItsApproval() public {
        ISettlementVault.Payout[] memory payouts = _batch(2);
        ISettlementVault.Approval[] memory approvals = _approvalsIn(COIN, payouts);
        ISettlementVault.Approval[] memory one = new ISettlementVault.Approval[](1);
        one[0] = approvals[0];
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.BatchApprovalsMismatch.selector, 2, 1));
        _payNativeApproved(payouts, one);
        (approvals[0], approvals[1]) = (approvals[1], approvals[0]);
        _expectInvalid(payouts[0].requestId);
        _payNativeApproved(payouts, approvals);
    }

    function test_RevertsWhilePausedAndForStrangers() public {
        ISettlementVault.Payout[] memory payouts = _one(ID, ALICE, 1);
        ISettlementVault.Approval[] memory approvals = _approvalsIn(COIN, payouts);
        _expectNoRole(STRANGER, operatorRole);
        VM.prank(STRANGER);
        vault.payoutCoinBatchWithApprovals(payouts, approvals);
        _pause();
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.EnforcedPause.selector));
        _payNativeApproved(payouts, approvals);
    }
}
