// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {ISettlementVault} from "../../src/vault/ISettlementVault.sol";
import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {
    CallingReceiver,
    CountingReceiver,
    ForwardingReceiver,
    GasBurner,
    LongAnswerReceiver,
    ReturningReceiver
} from "./support/CoinReceivers.sol";
import {NativeBase} from "./support/NativeBase.sol";

/// @notice Recipients that are contracts: what they do when they are paid, and what it costs the others.
contract NativeReceiverTest is NativeBase {
    /// @dev A payout to a recipient without code costs less than this besides its recipient's own gas.
    uint256 private constant GAS_OF_ONE = 120_000;
    uint256 private constant RECIPIENT_GAS = 50_000 + 2_300;

    function _expectFailed(bytes32 requestId, address to, uint256 amount) private {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.CoinTransferFailed.selector, requestId, to, amount));
    }

    /// @dev One that fails is named, nothing is paid, and without it the others are.
    function _assertLeftOut(address bad) private {
        ISettlementVault.Payout[] memory payouts = _batch(3);
        (bytes32 id, address good) = (payouts[1].requestId, payouts[1].to);
        payouts[1].to = bad;
        _expectFailed(id, bad, payouts[1].amount);
        _payNative(payouts);
        _assertState(payouts[0].requestId, ISettlementVault.RequestState.Unknown);
        assertEq(vault.spentToday(COIN), 0, "spent");
        assertEq(payouts[0].to.balance, 0, "received");
        payouts[1].to = good;
        _payNative(payouts);
        _assertCoinsPaid(payouts);
    }

    function test_AContractIsPaid() public {
        CountingReceiver receiver = new CountingReceiver();
        _payNative(ID, address(receiver), 5);
        assertEq(address(receiver).balance, 5, "received");
        assertEq(receiver.count(), 1, "times");
    }

    function test_AContractThatPassesTheCoinOnIsPaid() public {
        _payNative(ID, address(new ForwardingReceiver(BOB)), 5);
        assertEq(BOB.balance, 5, "received");
    }

    function test_ARefusalNamesItsRequest() public {
        CountingReceiver receiver = new CountingReceiver();
        receiver.refuse(true);
        _expectFailed(ID, address(receiver), 5);
        _payNative(ID, address(receiver), 5);
        _assertLeftOut(address(receiver));
        receiver.refuse(false);
        _payNative(ID, address(receiver), 5);
        assertEq(address(receiver).balance, 5, "received once it takes the coin");
    }

    function test_AContractThatCannotBePaidIsNamed() public {
        _assertLeftOut(address(usd));
    }

    function test_ACoinThatIsSentBackIsNoPayment() public {
        _assertLeftOut(address(new ReturningReceiver(1)));
    }

    function test_NoRecipientGetsMoreGasThanItsShare() public {
        address burner = address(new GasBurner(false));
        ISettlementVault.Payout[] memory payouts = _one(ID, burner, 5);
        uint256 before = gasleft();
        _expectFailed(ID, burner, 5);
        _payNative(payouts);
        assertTrue(before - gasleft() < GAS_OF_ONE + RECIPIENT_GAS, "the burner's share at most");
        _assertLeftOut(burner);
    }

    function test_ABurnerThatTakesTheCoinCostsItsShareAtMost() public {
        ISettlementVault.Payout[] memory payouts = _batch(10);
        for (uint256 i = 0; i < payouts.length; ++i) {
            payouts[i].to = address(new GasBurner(true));
        }
        uint256 before = gasleft();
        _payNative(payouts);
        assertTrue(before - gasleft() < payouts.length * (GAS_OF_ONE + RECIPIENT_GAS), "their shares at most");
        _assertCoinsPaid(payouts);
    }

    function test_ALongAnswerIsNotCopied() public {
        address receiver = address(new LongAnswerReceiver());
        ISettlementVault.Payout[] memory payouts = _one(ID, receiver, 5);
        uint256 before = gasleft();
        _expectFailed(ID, receiver, 5);
        _payNative(payouts);
        assertTrue(before - gasleft() < GAS_OF_ONE + RECIPIENT_GAS, "gas");
    }

    function _caller() private returns (CallingReceiver receiver) {
        receiver = new CallingReceiver();
        VM.startPrank(ADMIN);
        vault.grantRole(operatorRole, address(receiver));
        vault.grantRole(guardianRole, address(receiver));
        VM.stopPrank();
    }

    function _assertNotEntered(bytes memory data) private {
        CallingReceiver receiver = _caller();
        receiver.onReceive(address(vault), data);
        ISettlementVault.Payout[] memory payouts = _batch(2);
        payouts[0].to = address(receiver);
        _payNative(payouts);
        _assertCoinsPaid(payouts);
        assertTrue(receiver.called() && !receiver.succeeded(), "the call back was tried and refused");
        bytes memory refusal = abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector);
        assertEq(receiver.answer(), keccak256(refusal), "by the guard");
        _assertState(OTHER_ID, ISettlementVault.RequestState.Unknown);
    }

    function test_NoPayoutOfTheCoinEntersAnother() public {
        _assertNotEntered(abi.encodeCall(ISettlementVault.payoutCoinBatch, (_one(OTHER_ID, BOB, 1))));
    }

    function test_NoPayoutOfATokenEntersOneOfTheCoin() public {
        _assertNotEntered(abi.encodeCall(ISettlementVault.payout, (OTHER_ID, address(usd), BOB, 1)));
        assertEq(usd.balanceOf(BOB), 0, "dollars");
    }

    function test_AnApprovedPayoutIsNotEntered() public {
        _useVaultWithCoins(signer);
        CallingReceiver receiver = _caller();
        ISettlementVault.Payout[] memory inner = _one(OTHER_ID, BOB, 1);
        receiver.onReceive(
            address(vault),
            abi.encodeCall(ISettlementVault.payoutCoinBatchWithApprovals, (inner, _approvalsIn(COIN, inner)))
        );
        ISettlementVault.Payout[] memory outer = _one(ID, address(receiver), 1);
        _payNativeApproved(outer, _approvalsIn(COIN, outer));
        assertTrue(receiver.called() && !receiver.succeeded(), "the call back was tried and refused");
        _assertState(OTHER_ID, ISettlementVault.RequestState.Unknown);
    }

    /// @dev A batch is written down before its first coin moves: who may cancel comes too late for the last item.
    function test_WhatIsBeingPaidIsNotCancelled() public {
        CallingReceiver receiver = _caller();
        ISettlementVault.Payout[] memory payouts = _batch(2);
        payouts[0].to = address(receiver);
        bytes memory cancel =
            abi.encodeCall(ISettlementVault.cancelRequest, (payouts[1].requestId, COIN, address(0), 0));
        receiver.onReceive(address(vault), cancel);
        _payNative(payouts);
        assertTrue(receiver.called() && !receiver.succeeded(), "the cancellation was tried and refused");
        _assertCoinsPaid(payouts);
    }

    function test_TheDaysSumIsKnownWhileCoinsMove() public {
        CallingReceiver receiver = _caller();
        receiver.onReceive(address(vault), abi.encodeCall(ISettlementVault.spentToday, (COIN)));
        _payNative(ID, address(receiver), 1000);
        assertEq(receiver.answer(), keccak256(abi.encode(1000)), "spent, as the recipient saw it");
    }

    function testFuzz_ABatchIsPaidExactlyWhenNoneOfItsRecipientsFails(uint8[6] memory kinds) public {
        ISettlementVault.Payout[] memory payouts = _batch(kinds.length);
        uint256 firstBad = kinds.length;
        for (uint256 i = kinds.length; i > 0; --i) {
            (address to, bool isPaid) = _recipient(kinds[i - 1] % 7, payouts[i - 1].to);
            payouts[i - 1].to = to;
            if (!isPaid) firstBad = i - 1;
        }
        if (firstBad < kinds.length) {
            _expectFailed(payouts[firstBad].requestId, payouts[firstBad].to, payouts[firstBad].amount);
        }
        _payNative(payouts);
        bool all = firstBad == kinds.length;
        assertEq(address(vault).balance, COINS - (all ? _sumOf(payouts) : 0), "left in the vault");
        assertEq(vault.spentToday(COIN), all ? _sumOf(payouts) : 0, "spent");
    }

    function _recipient(uint256 kind, address plain) private returns (address to, bool isPaid) {
        if (kind == 0) return (address(new GasBurner(false)), false);
        if (kind == 1) return (address(new LongAnswerReceiver()), false);
        if (kind == 2) return (address(new ReturningReceiver(1)), false);
        if (kind == 3) return (address(new GasBurner(true)), true);
        if (kind == 4) return (address(new CountingReceiver()), true);
        if (kind == 5) return (address(new ForwardingReceiver(BOB)), true);
        return (plain, true);
    }
}
