// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {FeeCollector} from "../../src/demo/FeeCollector.sol";

/// @notice An integrator that cannot be paid in the chain's coin.
contract Refuser {}

/// @notice An integrator that asks again while it is being paid.
contract Reentrant {
    FeeCollector private immutable COLLECTOR;
    uint256 public calls;

    constructor(FeeCollector collector) {
        COLLECTOR = collector;
    }

    function withdraw() external {
        COLLECTOR.withdrawIntegratorFees(address(0));
    }

    receive() external payable {
        ++calls;
        COLLECTOR.withdrawIntegratorFees(address(0));
    }
}
