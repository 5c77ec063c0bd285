// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISettlementVault} from "./ISettlementVault.sol";

/// @title Requests
/// @notice What became of each request. A request is settled once, as paid or as cancelled, and stays so for ever.
///
/// A record is one storage word, from its lowest bits on: the state (8 bits), the time (40), the block (48) and the
/// recipient (160). It is zero as long as the request is unknown, and only `_settle` writes it.
abstract contract Requests is ISettlementVault {
    uint256 private constant TIME_SHIFT = 8;
    uint256 private constant BLOCK_SHIFT = 48;
    uint256 private constant TO_SHIFT = 96;

    /// @dev A struct, so that its place is worked out once for reading and writing.
    struct Record {
        uint256 word;
    }

    mapping(bytes32 requestId => Record) private records;

    /// @inheritdoc ISettlementVault
    function requestState(bytes32 requestId) external view returns (RequestRecord memory) {
        return _unpack(records[requestId].word);
    }

    /// @inheritdoc ISettlementVault
    function requestStates(bytes32[] calldata requestIds) external view returns (RequestRecord[] memory list) {
        list = new RequestRecord[](requestIds.length);
        for (uint256 i = 0; i < requestIds.length; ++i) {
            list[i] = _unpack(records[requestIds[i]].word);
        }
    }

    /// @dev The replay guard: settles a request that nobody has settled, and reverts for any other.
    function _settle(bytes32 requestId, RequestState state, address to) internal {
        if (requestId == bytes32(0)) revert RequestIdIsZero();
        Record storage record = records[requestId];
        if (record.word != 0) _revertSettled(requestId, record.word);
        record.word = uint256(state) | (block.timestamp << TIME_SHIFT) | (block.number << BLOCK_SHIFT)
            | (uint256(uint160(to)) << TO_SHIFT);
    }

    /// @dev Says what became of the request.
    function _revertSettled(bytes32 requestId, uint256 word) private pure {
        RequestRecord memory record = _unpack(word);
        if (record.state == RequestState.Paid) {
            revert RequestAlreadyPaid(requestId, record.settledAt, record.blockNumber);
        }
        revert RequestAlreadyCancelled(requestId, record.settledAt, record.blockNumber);
    }

    /// @dev A record's word in parts.
    function _unpack(uint256 word) private pure returns (RequestRecord memory) {
        return RequestRecord({
            state: RequestState(uint8(word)),
            settledAt: uint40(word >> TIME_SHIFT),
            blockNumber: uint48(word >> BLOCK_SHIFT),
            to: address(uint160(word >> TO_SHIFT))
        });
    }
}
