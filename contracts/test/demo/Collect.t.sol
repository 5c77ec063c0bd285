// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {FeeCollector} from "../../src/demo/FeeCollector.sol";
import {FeeCollectorBase} from "./FeeCollectorBase.sol";

contract CollectTest is FeeCollectorBase {
    function test_CollectsTokenFees() public {
        VM.expectEmit(true, true, true, true, address(collector));
        emit FeeCollector.FeesCollected(address(usd), INTEGRATOR, 700, 300);
        _collectToken(usd, 700, 300);

        _assertOwed(address(usd), 700, 300);
        assertEq(usd.balanceOf(address(collector)), 1000, "held");
        assertEq(usd.balanceOf(PAYER), FUNDS - 1000, "left with the payer");
    }

    function test_CollectsNativeFees() public {
        VM.expectEmit(true, true, true, true, address(collector));
        emit FeeCollector.FeesCollected(NATIVE, INTEGRATOR, 5 ether, 1 ether);
        _collectNative(6 ether, 5 ether, 1 ether);

        _assertOwed(NATIVE, 5 ether, 1 ether);
        assertEq(address(collector).balance, 6 ether, "held");
    }

    function test_ReturnsNativeSurplus() public {
        _collectNative(10 ether, 5 ether, 1 ether);

        assertEq(address(collector).balance, 6 ether, "held");
        assertEq(PAYER.balance, FUNDS - 6 ether, "left with the payer");
    }

    function test_RevertsOnTooLittleNative() public {
        VM.expectRevert(abi.encodeWithSelector(FeeCollector.NotEnoughNativeForFees.selector, 5, 6));
        _collectNative(5, 4, 2);
    }

    function test_RevertsWhenThePayerCannotPay() public {
        VM.prank(STRANGER);
        usd.approve(address(collector), 10);
        VM.expectRevert(abi.encodeWithSelector(IERC20Errors.ERC20InsufficientBalance.selector, STRANGER, 0, 10));
        VM.prank(STRANGER);
        collector.collectTokenFees(address(usd), 6, 4, INTEGRATOR);
    }

    /// @dev The event hashes that indexers of the public collector filter by.
    function test_EventsHaveThePublicSignatures() public pure {
        bytes32[3] memory expected = [
            bytes32(0x28a87b6059180e46de5fb9ab35eb043e8fe00ab45afcc7789e3934ecbbcde3ea),
            bytes32(0x5e110f8bc8a20b65dcc87f224bdf1cc039346e267118bae2739847f07321ffa8),
            bytes32(0xe0ac2a6b74759312758ae3b784411c8e2f3b8bd81fecff40b906d69030af4bfc)
        ];
        assertEq(uint256(FeeCollector.FeesCollected.selector), uint256(expected[0]), "FeesCollected");
        assertEq(uint256(FeeCollector.FeesWithdrawn.selector), uint256(expected[1]), "FeesWithdrawn");
        assertEq(uint256(FeeCollector.LiFiFeesWithdrawn.selector), uint256(expected[2]), "LiFiFeesWithdrawn");
    }

    function testFuzz_TokenFeesAddUp(uint256 first, uint256 second, uint256 share) public {
        first = upTo(first, FUNDS / 4);
        second = upTo(second, FUNDS / 4);
        share = upTo(share, first);

        _collectToken(usd, share, first - share);
        _collectToken(usd, 0, second);

        _assertOwed(address(usd), share, first - share + second);
        assertEq(usd.balanceOf(address(collector)), first + second, "held");
    }

    function testFuzz_NativeKeepsExactlyTheFees(uint256 value, uint256 integratorFee, uint256 lifiFee) public {
        value = upTo(value, FUNDS);
        integratorFee = upTo(integratorFee, value);
        lifiFee = upTo(lifiFee, value - integratorFee);

        _collectNative(value, integratorFee, lifiFee);

        _assertOwed(NATIVE, integratorFee, lifiFee);
        assertEq(address(collector).balance, integratorFee + lifiFee, "held");
        assertEq(PAYER.balance, FUNDS - integratorFee - lifiFee, "left with the payer");
    }
}
