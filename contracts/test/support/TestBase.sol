// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Vm} from "./Vm.sol";

/// @notice What every test contract needs: the cheatcodes, comparisons that show both sides, and bounded inputs.
abstract contract TestBase {
    /// @dev The address at which forge answers cheatcodes.
    Vm internal constant VM = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    error NotEqual(string what, uint256 left, uint256 right);
    error NotEqualAddress(string what, address left, address right);
    error NotEqualBytes32(string what, bytes32 left, bytes32 right);
    error NotSo(string what);

    function assertEq(uint256 left, uint256 right, string memory what) internal pure {
        if (left != right) revert NotEqual(what, left, right);
    }

    function assertEq(address left, address right, string memory what) internal pure {
        if (left != right) revert NotEqualAddress(what, left, right);
    }

    function assertEq(bytes32 left, bytes32 right, string memory what) internal pure {
        if (left != right) revert NotEqualBytes32(what, left, right);
    }

    function assertTrue(bool so, string memory what) internal pure {
        if (!so) revert NotSo(what);
    }

    /// @dev Folds a fuzzed number into [0, max].
    function upTo(uint256 value, uint256 max) internal pure returns (uint256) {
        return max == type(uint256).max ? value : value % (max + 1);
    }

    /// @dev Folds a fuzzed number into [min, max].
    function between(uint256 value, uint256 min, uint256 max) internal pure returns (uint256) {
        return min + upTo(value, max - min);
    }
}
