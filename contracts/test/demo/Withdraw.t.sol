// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {FeeCollector} from "../../src/demo/FeeCollector.sol";
import {Ownership} from "../../src/demo/Ownership.sol";
import {Reentrant, Refuser} from "../support/Receivers.sol";
import {FeeCollectorBase} from "./FeeCollectorBase.sol";

contract WithdrawTest is FeeCollectorBase {
    function setUp() public override {
        super.setUp();
        _collectToken(usd, 700, 300);
        _collectNative(60, 50, 10);
    }

    function test_IntegratorWithdrawsOneToken() public {
        VM.expectEmit(true, true, true, true, address(collector));
        emit FeeCollector.FeesWithdrawn(address(usd), INTEGRATOR, 700);
        VM.prank(INTEGRATOR);
        collector.withdrawIntegratorFees(address(usd));

        _assertOwed(address(usd), 0, 300);
        assertEq(usd.balanceOf(INTEGRATOR), 700, "received");
    }

    function test_IntegratorWithdrawsNative() public {
        VM.prank(INTEGRATOR);
        collector.withdrawIntegratorFees(NATIVE);

        _assertOwed(NATIVE, 0, 10);
        assertEq(INTEGRATOR.balance, 50, "received");
    }

    function test_IntegratorWithdrawsABatch() public {
        VM.prank(INTEGRATOR);
        collector.batchWithdrawIntegratorFees(_three(address(usd), NATIVE, address(eur)));

        assertEq(usd.balanceOf(INTEGRATOR), 700, "dollars received");
        assertEq(INTEGRATOR.balance, 50, "coins received");
        assertEq(eur.balanceOf(INTEGRATOR), 0, "euros received");
    }

    function test_TokenNamedTwiceInABatchIsPaidOnce() public {
        VM.prank(INTEGRATOR);
        collector.batchWithdrawIntegratorFees(_three(address(usd), address(usd), address(usd)));

        assertEq(usd.balanceOf(INTEGRATOR), 700, "received");
        assertEq(usd.balanceOf(address(collector)), 300, "held for the protocol");
    }

    function test_OwnerWithdrawsOneToken() public {
        VM.expectEmit(true, true, true, true, address(collector));
        emit FeeCollector.LiFiFeesWithdrawn(address(usd), OWNER, 300);
        VM.prank(OWNER);
        collector.withdrawLifiFees(address(usd));

        _assertOwed(address(usd), 700, 0);
        assertEq(usd.balanceOf(OWNER), 300, "received");
    }

    function test_OwnerWithdrawsABatchWithAnEventForEachToken() public {
        VM.expectEmit(true, true, true, true, address(collector));
        emit FeeCollector.LiFiFeesWithdrawn(address(usd), OWNER, 300);
        VM.expectEmit(true, true, true, true, address(collector));
        emit FeeCollector.LiFiFeesWithdrawn(NATIVE, OWNER, 10);
        VM.expectEmit(true, true, true, true, address(collector));
        emit FeeCollector.LiFiFeesWithdrawn(address(eur), OWNER, 0);
        VM.prank(OWNER);
        collector.batchWithdrawLifiFees(_three(address(usd), NATIVE, address(eur)));

        assertEq(usd.balanceOf(OWNER), 300, "dollars received");
        assertEq(OWNER.balance, 10, "coins received");
    }

    function test_StrangerWithdrawsNothing() public {
        VM.prank(STRANGER);
        collector.withdrawIntegratorFees(address(usd));

        _assertOwed(address(usd), 700, 300);
        assertEq(usd.balanceOf(STRANGER), 0, "received");
    }

    function test_RevertsWhenANonOwnerWithdrawsProtocolFees() public {
        VM.expectRevert(abi.encodeWithSelector(Ownership.NotOwner.selector, INTEGRATOR));
        VM.prank(INTEGRATOR);
        collector.withdrawLifiFees(address(usd));
    }

    function test_RevertsWhenANonOwnerWithdrawsABatchOfProtocolFees() public {
        VM.expectRevert(abi.encodeWithSelector(Ownership.NotOwner.selector, STRANGER));
        VM.prank(STRANGER);
        collector.batchWithdrawLifiFees(_three(address(usd), NATIVE, address(eur)));
    }

    function test_RevertsWhenTheReceiverRefusesCoins() public {
        address refuser = address(new Refuser());
        VM.prank(PAYER);
        collector.collectNativeFees{value: 9}(9, 0, refuser);

        VM.expectRevert(abi.encodeWithSelector(FeeCollector.NativeTransferFailed.selector, refuser, 9));
        VM.prank(refuser);
        collector.withdrawIntegratorFees(NATIVE);
    }

    function test_ReentrantReceiverIsPaidOnce() public {
        Reentrant thief = new Reentrant(collector);
        VM.prank(PAYER);
        collector.collectNativeFees{value: 9}(9, 0, address(thief));

        thief.withdraw();

        assertEq(thief.calls(), 1, "times paid");
        assertEq(address(thief).balance, 9, "received");
        assertEq(address(collector).balance, 60, "left for the others");
    }

    function testFuzz_EveryoneGetsTheirShareInAnyOrder(uint256 integratorFee, uint256 lifiFee, bool ownerFirst) public {
        integratorFee = upTo(integratorFee, FUNDS / 2);
        lifiFee = upTo(lifiFee, FUNDS / 2);
        _collectToken(eur, integratorFee, lifiFee);

        address[2] memory order = ownerFirst ? [OWNER, INTEGRATOR] : [INTEGRATOR, OWNER];
        for (uint256 i = 0; i < order.length; ++i) {
            VM.prank(order[i]);
            if (order[i] == OWNER) collector.withdrawLifiFees(address(eur));
            else collector.withdrawIntegratorFees(address(eur));
        }

        assertEq(eur.balanceOf(INTEGRATOR), integratorFee, "integrator received");
        assertEq(eur.balanceOf(OWNER), lifiFee, "owner received");
        assertEq(eur.balanceOf(address(collector)), 0, "held");
    }
}
