// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IVaultEvents} from "../../../src/vault/IVaultEvents.sol";
import {TestBase} from "../../support/TestBase.sol";
import {Vm} from "../../support/Vm.sol";
import {IVault} from "./IVault.sol";

/// @notice Books that are kept from the vault's events alone, as a worker that knows nothing else would keep them.
abstract contract EventLedger is TestBase {
    IVault internal immutable VAULT;

    mapping(bytes32 requestId => uint256 count) public paid;
    mapping(bytes32 requestId => uint256 count) public cancelled;
    mapping(address token => uint256 amount) public paidOut;
    mapping(address token => uint256 amount) public withdrawn;
    mapping(address token => mapping(uint256 day => uint256 amount)) public paidOnDay;
    uint256 public payouts;
    uint256 public cancellations;
    uint256 public withdrawals;
    uint256 public paidWhilePaused;
    uint256 public overDayLimit;

    constructor(IVault vault) {
        VAULT = vault;
    }

    /// @dev Calls the vault and books what it did. Events of a call that failed are none, though forge records them.
    function _callBooked(address caller, bytes memory data) internal returns (bool happened, bytes memory answer) {
        bool wasPaused = VAULT.paused();
        VM.recordLogs();
        VM.prank(caller);
        (happened, answer) = address(VAULT).call(data);
        Vm.Log[] memory logs = VM.getRecordedLogs();
        for (uint256 i = 0; happened && i < logs.length; ++i) {
            if (logs[i].emitter == address(VAULT)) _book(logs[i], wasPaused);
        }
    }

    function _book(Vm.Log memory log, bool wasPaused) private {
        bytes32 kind = log.topics[0];
        if (kind == IVaultEvents.PayoutExecuted.selector) {
            _bookPayout(log.topics[1], _account(log.topics[2]), abi.decode(log.data, (uint256)));
            if (wasPaused) ++paidWhilePaused;
        } else if (kind == IVaultEvents.RequestCancelled.selector) {
            ++cancelled[log.topics[1]];
            ++cancellations;
        } else if (kind == IVaultEvents.EmergencyWithdrawalExecuted.selector) {
            withdrawn[_account(log.topics[1])] += abi.decode(log.data, (uint256));
            ++withdrawals;
        }
    }

    function _bookPayout(bytes32 requestId, address token, uint256 amount) private {
        uint256 day = block.timestamp / 1 days;
        ++payouts;
        ++paid[requestId];
        paidOut[token] += amount;
        paidOnDay[token][day] += amount;
        uint256 limit = VAULT.tokenPolicy(token).dayLimit;
        if (limit != 0 && paidOnDay[token][day] > limit) ++overDayLimit;
    }

    function _account(bytes32 topic) private pure returns (address) {
        return address(uint160(uint256(topic)));
    }
}
