// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {DemoToken} from "../../src/demo/DemoToken.sol";
import {FeeCollector} from "../../src/demo/FeeCollector.sol";
import {TestBase} from "../support/TestBase.sol";

/// @notice What the fuzzer may do: collect and withdraw, in two tokens and the coin, for three integrators.
contract CollectorHandler is TestBase {
    uint256 private constant MAX_FEE = type(uint64).max;

    FeeCollector public immutable COLLECTOR;
    address public immutable OWNER;
    address[3] public tokens;
    address[3] public integrators = [address(0xB0B1), address(0xB0B2), address(0xB0B3)];

    constructor(FeeCollector collector, address owner, DemoToken a, DemoToken b) {
        COLLECTOR = collector;
        OWNER = owner;
        tokens = [address(0), address(a), address(b)];
    }

    function collect(uint256 token, uint256 who, uint256 integratorFee, uint256 lifiFee, uint256 surplus) external {
        address asset = tokens[token % 3];
        integratorFee = upTo(integratorFee, MAX_FEE);
        lifiFee = upTo(lifiFee, MAX_FEE);
        uint256 total = integratorFee + lifiFee;
        if (asset == address(0)) {
            _collectNative(integratorFee, lifiFee, integrators[who % 3], total + upTo(surplus, MAX_FEE));
        } else {
            DemoToken(asset).mint(address(this), total);
            DemoToken(asset).approve(address(COLLECTOR), total);
            COLLECTOR.collectTokenFees(asset, integratorFee, lifiFee, integrators[who % 3]);
        }
    }

    function withdrawIntegrator(uint256 token, uint256 who) external {
        VM.prank(integrators[who % 3]);
        COLLECTOR.withdrawIntegratorFees(tokens[token % 3]);
    }

    function withdrawLifi(uint256 token) external {
        VM.prank(OWNER);
        COLLECTOR.withdrawLifiFees(tokens[token % 3]);
    }

    function withdrawEverything(uint256 who) external {
        address[] memory list = new address[](3);
        for (uint256 i = 0; i < 3; ++i) {
            list[i] = tokens[i];
        }
        VM.prank(integrators[who % 3]);
        COLLECTOR.batchWithdrawIntegratorFees(list);
        VM.prank(OWNER);
        COLLECTOR.batchWithdrawLifiFees(list);
    }

    function _collectNative(uint256 integratorFee, uint256 lifiFee, address integrator, uint256 value) private {
        VM.deal(address(this), value);
        COLLECTOR.collectNativeFees{value: value}(integratorFee, lifiFee, integrator);
    }

    receive() external payable {}
}

contract SolvencyTest is TestBase {
    address private constant OWNER = address(0xA11CE);

    FeeCollector private collector;
    CollectorHandler private handler;

    function setUp() public {
        collector = new FeeCollector(OWNER);
        handler = new CollectorHandler(collector, OWNER, new DemoToken("A", "A", 18), new DemoToken("B", "B", 6));
    }

    /// @dev Read by forge: only the handler is called.
    function targetContracts() external view returns (address[] memory list) {
        list = new address[](1);
        list[0] = address(handler);
    }

    function invariant_HoldsExactlyWhatItOwes() public view {
        for (uint256 t = 0; t < 3; ++t) {
            address token = handler.tokens(t);
            uint256 owed = collector.getLifiTokenBalance(token);
            for (uint256 i = 0; i < 3; ++i) {
                owed += collector.getTokenBalance(handler.integrators(i), token);
            }
            assertEq(_held(token), owed, "held and owed");
        }
    }

    function _held(address token) private view returns (uint256) {
        return token == address(0) ? address(collector).balance : DemoToken(token).balanceOf(address(collector));
    }
}
