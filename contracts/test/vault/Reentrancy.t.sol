// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {ISettlementVault} from "../../src/vault/ISettlementVault.sol";
import {BatchBase} from "./support/BatchBase.sol";
import {IVault} from "./support/IVault.sol";
import {CallbackToken} from "./support/OddTokens.sol";

/// @notice A token that calls the vault back while it is being moved. It has every role it needs, so that nothing but
/// the guard and the order of things stops it.
contract ReentrancyTest is BatchBase {
    uint256 private constant HELD = 100_000;

    CallbackToken private token;

    function _useToken(address riskSigner) private {
        _useVault(riskSigner);
        token = new CallbackToken();
        token.mint(address(vault), HELD);
        _setToken(address(token), true, 0, 0);
        VM.startPrank(ADMIN);
        vault.grantRole(operatorRole, address(token));
        vault.grantRole(guardianRole, address(token));
        VM.stopPrank();
    }

    function _approvalFor(bytes32 requestId, address to, uint256 amount)
        private
        view
        returns (ISettlementVault.Approval memory)
    {
        bytes32 digest = _digest(requestId, address(token), to, amount, DEADLINE, 1);
        return ISettlementVault.Approval(1, DEADLINE, _signature(SIGNER_KEY, digest));
    }

    function _approvalsFor(ISettlementVault.Payout[] memory payouts)
        private
        view
        returns (ISettlementVault.Approval[] memory approvals)
    {
        approvals = new ISettlementVault.Approval[](payouts.length);
        for (uint256 i = 0; i < payouts.length; ++i) {
            approvals[i] = _approvalFor(payouts[i].requestId, payouts[i].to, payouts[i].amount);
        }
    }

    function _assertStopped() private view {
        assertTrue(token.called() && !token.succeeded(), "the call back was tried and refused");
        bytes memory refusal = abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector);
        assertEq(keccak256(token.answer()), keccak256(refusal), "by the guard");
        _assertState(OTHER_ID, ISettlementVault.RequestState.Unknown);
    }

    function test_APayoutIsNotEntered() public {
        _useToken(address(0));
        token.onTransfer(address(vault), abi.encodeCall(ISettlementVault.payout, (OTHER_ID, address(token), BOB, 1000)));
        VM.prank(OPERATOR);
        vault.payout(ID, address(token), ALICE, 1000);
        _assertStopped();
        assertEq(token.balanceOf(address(vault)), HELD - 1000, "left in the vault");
    }

    function test_ABatchIsNotEntered() public {
        _useToken(address(0));
        token.onTransfer(address(vault), abi.encodeCall(ISettlementVault.payout, (OTHER_ID, address(token), BOB, 1000)));
        ISettlementVault.Payout[] memory payouts = _batch(2);
        VM.prank(OPERATOR);
        vault.payoutBatch(address(token), payouts);
        _assertStopped();
    }

    function test_NoBatchEntersAPayout() public {
        _useToken(address(0));
        token.onTransfer(address(vault), abi.encodeCall(ISettlementVault.payoutBatch, (address(token), _batch(2))));
        VM.prank(OPERATOR);
        vault.payout(ID, address(token), ALICE, 1000);
        _assertStopped();
    }

    function test_AnApprovedPayoutIsNotEntered() public {
        _useToken(signer);
        ISettlementVault.Approval memory approval = _approvalFor(OTHER_ID, BOB, 1000);
        token.onTransfer(
            address(vault),
            abi.encodeCall(ISettlementVault.payoutWithApproval, (OTHER_ID, address(token), BOB, 1000, approval))
        );
        approval = _approvalFor(ID, ALICE, 1000);
        VM.prank(OPERATOR);
        vault.payoutWithApproval(ID, address(token), ALICE, 1000, approval);
        _assertStopped();
    }

    function test_AnApprovedBatchIsNotEntered() public {
        _useToken(signer);
        ISettlementVault.Payout[] memory inner = new ISettlementVault.Payout[](1);
        inner[0] = ISettlementVault.Payout(OTHER_ID, BOB, 1000);
        token.onTransfer(
            address(vault),
            abi.encodeCall(ISettlementVault.payoutBatchWithApprovals, (address(token), inner, _approvalsFor(inner)))
        );
        ISettlementVault.Payout[] memory outer = _batch(2);
        ISettlementVault.Approval[] memory approvals = _approvalsFor(outer);
        VM.prank(OPERATOR);
        vault.payoutBatchWithApprovals(address(token), outer, approvals);
        _assertStopped();
    }

    /// @dev A batch is written down before its first token moves: who may cancel comes too late for the last item.
    function test_WhatIsBeingPaidIsNotCancelled() public {
        _useToken(address(0));
        ISettlementVault.Payout[] memory payouts = _batch(2);
        bytes32 last = payouts[1].requestId;
        token.onTransfer(
            address(vault), abi.encodeCall(ISettlementVault.cancelRequest, (last, address(token), ALICE, 1))
        );
        VM.prank(OPERATOR);
        vault.payoutBatch(address(token), payouts);

        assertTrue(token.called() && !token.succeeded(), "the cancellation was tried and refused");
        _assertState(last, ISettlementVault.RequestState.Paid);
        assertEq(token.balanceOf(payouts[1].to), payouts[1].amount, "received");
    }

    /// @dev The day's sum, too, is written down before.
    function test_TheDaysSumIsKnownWhileTokensMove() public {
        _useToken(address(0));
        token.onTransfer(address(vault), abi.encodeCall(ISettlementVault.spentToday, (address(token))));
        VM.prank(OPERATOR);
        vault.payout(ID, address(token), ALICE, 1000);
        assertEq(abi.decode(token.answer(), (uint256)), 1000, "spent, as the token saw it");
    }

    /// @dev The token is the admin of a vault that holds it and was never enabled, so that it may sweep.
    function test_AWithdrawalIsNotEnteredBySweeping() public {
        token = new CallbackToken();
        IVault own = _deploy(address(token), OPERATOR, GUARDIAN, TREASURY, address(0), DELAY);
        token.mint(address(own), HELD);
        VM.prank(GUARDIAN);
        own.pause();
        VM.prank(address(token));
        own.scheduleEmergencyWithdrawal(address(token), 600);
        VM.warp(START + DELAY);
        token.onTransfer(address(own), abi.encodeCall(ISettlementVault.sweep, (address(token), STRANGER, 100)));
        VM.prank(address(token));
        own.executeEmergencyWithdrawal(address(token));
        _assertStopped();
        assertEq(token.balanceOf(address(own)), HELD - 600, "left in the vault");
    }

    function test_ASweepIsNotEnteredByWithdrawing() public {
        token = new CallbackToken();
        IVault own = _deploy(address(token), OPERATOR, GUARDIAN, TREASURY, address(0), DELAY);
        token.mint(address(own), HELD);
        VM.prank(GUARDIAN);
        own.pause();
        VM.prank(address(token));
        own.scheduleEmergencyWithdrawal(address(token), 600);
        VM.warp(START + DELAY);
        token.onTransfer(address(own), abi.encodeCall(ISettlementVault.executeEmergencyWithdrawal, (address(token))));
        VM.prank(address(token));
        own.sweep(address(token), STRANGER, 100);
        _assertStopped();
        assertEq(token.balanceOf(address(own)), HELD - 100, "left in the vault");
    }
}
