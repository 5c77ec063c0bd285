// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {CompactLimit} from "../../src/vault/CompactLimit.sol";
import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {TestBase} from "../support/TestBase.sol";

contract CompactLimitTest is TestBase {
    uint256 private constant TWELVE_DIGITS = 999_999_999_999;

    function test_KeepsRoundAndSmallNumbers() public pure {
        uint256[8] memory limits =
            [uint256(0), 1, TWELVE_DIGITS, type(uint40).max, 1_000_000e6, 1_000_000e18, TWELVE_DIGITS * 1e24, 1e36];
        for (uint256 i = 0; i < limits.length; ++i) {
            _assertKept(limits[i]);
        }
    }

    function testFuzz_KeepsAnyTwelveDigits(uint256 digits, uint256 zeros) public pure {
        _assertKept(upTo(digits, TWELVE_DIGITS) * 10 ** upTo(zeros, 24));
    }

    function testFuzz_KeepsOrRefuses(uint256 limit) public view {
        limit = upTo(limit, CompactLimit.MAX);
        try this.fold(limit) returns (uint256 folded) {
            assertEq(CompactLimit.unfold(folded), limit, "limit");
        } catch (bytes memory reason) {
            bytes memory refusal = abi.encodeWithSelector(IVaultErrors.LimitTooPrecise.selector, limit);
            assertEq(keccak256(reason), keccak256(refusal), "reason");
            assertTrue(limit > type(uint40).max, "small limits are kept");
        }
    }

    function testFuzz_RefusesWhatIsTooLarge(uint256 limit) public {
        limit = between(limit, CompactLimit.MAX + 1, type(uint256).max);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.LimitTooLarge.selector, limit, CompactLimit.MAX));
        this.fold(limit);
    }

    /// @dev From outside, so that a revert can be caught.
    function fold(uint256 limit) external pure returns (uint256) {
        return CompactLimit.fold(limit);
    }

    /// @dev Whatever stands above the 48 bits must not matter.
    function _assertKept(uint256 limit) private pure {
        uint256 folded = CompactLimit.fold(limit);
        assertTrue(folded <= type(uint48).max, "48 bits");
        assertEq(CompactLimit.unfold(folded | (type(uint256).max << 48)), limit, "limit");
    }
}
