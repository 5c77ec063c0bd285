// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice The few cheatcodes that our tests use.
interface Vm {
    /// @notice An event, as `getRecordedLogs` gives it.
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    /// @notice What a call cost, as `lastCallGas` gives it.
    struct Gas {
        uint64 gasLimit;
        uint64 gasTotalUsed;
        uint64 gasMemoryUsed;
        int64 gasRefunded;
        uint64 gasRemaining;
    }

    function prank(address caller) external;
    function startPrank(address caller) external;
    function stopPrank() external;
    function deal(address account, uint256 balance) external;
    function expectRevert(bytes calldata data) external;
    function expectRevert() external;
    function expectEmit(bool topic1, bool topic2, bool topic3, bool data, address emitter) external;
    function assume(bool condition) external;
    function warp(uint256 time) external;
    function roll(uint256 blockNumber) external;
    function etch(address account, bytes calldata code) external;
    function chainId(uint256 id) external;
    function addr(uint256 privateKey) external pure returns (address);
    function sign(uint256 privateKey, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);
    function deployCode(string calldata artifact, bytes calldata arguments) external returns (address);
    function lastCallGas() external view returns (Gas memory);
    function readFile(string calldata path) external view returns (string memory);
    function toString(uint256 value) external pure returns (string memory);
    function contains(string calldata subject, string calldata search) external pure returns (bool);
}
