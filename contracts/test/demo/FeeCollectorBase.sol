// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {DemoToken} from "../../src/demo/DemoToken.sol";
import {FeeCollector} from "../../src/demo/FeeCollector.sol";
import {TestBase} from "../support/TestBase.sol";

/// @notice A collector, two tokens, and the people around it.
abstract contract FeeCollectorBase is TestBase {
    address internal constant NATIVE = address(0);
    address internal constant OWNER = address(0xA11CE);
    address internal constant INTEGRATOR = address(0xB0B);
    address internal constant PAYER = address(0xCAFE);
    address internal constant STRANGER = address(0xBAD);
    uint256 internal constant FUNDS = type(uint128).max;

    FeeCollector internal collector;
    DemoToken internal usd;
    DemoToken internal eur;

    function setUp() public virtual {
        collector = new FeeCollector(OWNER);
        usd = _fundedToken("Demo Dollar", "DUSD");
        eur = _fundedToken("Demo Euro", "DEUR");
        VM.deal(PAYER, FUNDS);
    }

    function _fundedToken(string memory name, string memory symbol) internal returns (DemoToken token) {
        token = new DemoToken(name, symbol, 6);
        token.mint(PAYER, FUNDS);
        VM.prank(PAYER);
        token.approve(address(collector), type(uint256).max);
    }

    function _collectToken(DemoToken token, uint256 integratorFee, uint256 lifiFee) internal {
        VM.prank(PAYER);
        collector.collectTokenFees(address(token), integratorFee, lifiFee, INTEGRATOR);
    }

    function _collectNative(uint256 value, uint256 integratorFee, uint256 lifiFee) internal {
        VM.prank(PAYER);
        collector.collectNativeFees{value: value}(integratorFee, lifiFee, INTEGRATOR);
    }

    function _assertOwed(address token, uint256 integratorOwed, uint256 lifiOwed) internal view {
        assertEq(collector.getTokenBalance(INTEGRATOR, token), integratorOwed, "owed to the integrator");
        assertEq(collector.getLifiTokenBalance(token), lifiOwed, "owed to the protocol");
    }

    function _three(address a, address b, address c) internal pure returns (address[] memory list) {
        list = new address[](3);
        (list[0], list[1], list[2]) = (a, b, c);
    }
}
