// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISettlementVault} from "../../src/vault/ISettlementVault.sol";
import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {IVaultEvents} from "../../src/vault/IVaultEvents.sol";
import {VaultBase} from "./support/VaultBase.sol";

contract RequestsTest is VaultBase {
    function test_ARequestIsPaidOnce() public {
        _payout(ID, ALICE, 100);
        VM.warp(START + 7);
        VM.roll(1234);

        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RequestAlreadyPaid.selector, ID, START, 1000));
        _payout(ID, ALICE, 100);
        _assertPaid(ALICE, 100);
    }

    function test_ARequestIsPaidOnceWhateverElseIsAsked() public {
        _payout(ID, ALICE, 100);
        bytes memory refusal = abi.encodeWithSelector(IVaultErrors.RequestAlreadyPaid.selector, ID, START, 1000);
        VM.expectRevert(refusal);
        _payout(ID, BOB, 5);
        VM.expectRevert(refusal);
        VM.prank(OPERATOR);
        vault.payout(ID, address(eur), ALICE, 100);
    }

    function test_OtherRequestsArePaid() public {
        _payout(ID, ALICE, 100);
        _payout(OTHER_ID, ALICE, 100);
        _assertPaid(ALICE, 200);
    }

    function test_ACancelledRequestIsNeverPaid() public {
        _expectEvent();
        emit IVaultEvents.RequestCancelled(ID, address(usd), ALICE, 100, GUARDIAN);
        _cancel(ID);

        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RequestAlreadyCancelled.selector, ID, START, 1000));
        _payout(ID, ALICE, 100);
        _assertPaid(ALICE, 0);
    }

    function test_APaidRequestIsNotCancelled() public {
        _payout(ID, ALICE, 100);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RequestAlreadyPaid.selector, ID, START, 1000));
        _cancel(ID);
        _assertState(ID, ISettlementVault.RequestState.Paid);
    }

    function test_ARequestIsCancelledOnce() public {
        _cancel(ID);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RequestAlreadyCancelled.selector, ID, START, 1000));
        _cancel(ID);
    }

    function test_TheAdminCancelsToo_EvenWhilePaused() public {
        _pause();
        VM.prank(ADMIN);
        vault.cancelRequest(ID, address(0), address(0), 0);
        _assertState(ID, ISettlementVault.RequestState.Cancelled);
    }

    function test_OperatorsDoNotCancel() public {
        _expectNoRole(OPERATOR, adminRole);
        VM.prank(OPERATOR);
        vault.cancelRequest(ID, address(usd), ALICE, 100);
    }

    function test_RevertsOnCancellingZero() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RequestIdIsZero.selector));
        _cancel(bytes32(0));
    }

    function test_RecordsSayWhatHappenedWhenAndWhere() public {
        _payout(ID, ALICE, 100);
        VM.warp(START + 99);
        VM.roll(1007);
        _cancel(OTHER_ID);

        bytes32[] memory ids = new bytes32[](3);
        (ids[0], ids[1], ids[2]) = (ID, OTHER_ID, keccak256("unheard of"));
        ISettlementVault.RequestRecord[] memory records = vault.requestStates(ids);
        _assertRecord(records[0], ISettlementVault.RequestState.Paid, START, 1000, ALICE);
        _assertRecord(records[1], ISettlementVault.RequestState.Cancelled, START + 99, 1007, ALICE);
        _assertRecord(records[2], ISettlementVault.RequestState.Unknown, 0, 0, address(0));
        _assertRecord(vault.requestState(ID), ISettlementVault.RequestState.Paid, START, 1000, ALICE);
    }

    function testFuzz_RecordsHoldWhatWasSettled(bytes32 requestId, address to, uint32 time, uint32 height) public {
        VM.assume(requestId != bytes32(0));
        VM.assume(to != address(0) && to != address(vault) && to != address(usd));
        VM.warp(time);
        VM.roll(height);
        _payout(requestId, to, 1);
        _assertRecord(vault.requestState(requestId), ISettlementVault.RequestState.Paid, time, height, to);
    }

    function _assertRecord(
        ISettlementVault.RequestRecord memory record,
        ISettlementVault.RequestState state,
        uint256 settledAt,
        uint256 blockNumber,
        address to
    ) private pure {
        assertEq(uint256(record.state), uint256(state), "state");
        assertEq(record.settledAt, settledAt, "time");
        assertEq(record.blockNumber, blockNumber, "block");
        assertEq(record.to, to, "recipient");
    }
}
