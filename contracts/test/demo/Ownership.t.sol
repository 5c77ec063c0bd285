// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {FeeCollector} from "../../src/demo/FeeCollector.sol";
import {Ownership} from "../../src/demo/Ownership.sol";
import {FeeCollectorBase} from "./FeeCollectorBase.sol";

contract OwnershipTest is FeeCollectorBase {
    address private constant HEIR = address(0xE1F);

    function _propose(address heir) private {
        VM.prank(OWNER);
        collector.transferOwnership(heir);
    }

    function test_ProposalAloneChangesNothing() public {
        VM.expectEmit(true, true, true, true, address(collector));
        emit Ownership.OwnershipTransferRequested(OWNER, HEIR);
        _propose(HEIR);

        assertEq(collector.owner(), OWNER, "owner");
        assertEq(collector.pendingOwner(), HEIR, "pending owner");
    }

    function test_ConfirmationHandsOver() public {
        _propose(HEIR);
        VM.expectEmit(true, true, true, true, address(collector));
        emit Ownership.OwnershipTransferred(OWNER, HEIR);
        VM.prank(HEIR);
        collector.confirmOwnershipTransfer();

        assertEq(collector.owner(), HEIR, "owner");
        assertEq(collector.pendingOwner(), address(0), "pending owner");
        VM.expectRevert(abi.encodeWithSelector(Ownership.NotOwner.selector, OWNER));
        VM.prank(OWNER);
        collector.withdrawLifiFees(NATIVE);
    }

    function test_CancelledProposalCannotBeConfirmed() public {
        _propose(HEIR);
        VM.prank(OWNER);
        collector.cancelOwnershipTransfer();

        VM.expectRevert(abi.encodeWithSelector(Ownership.NotPendingOwner.selector, HEIR));
        VM.prank(HEIR);
        collector.confirmOwnershipTransfer();
    }

    function test_RevertsWhenThereIsNothingToCancel() public {
        VM.expectRevert(abi.encodeWithSelector(Ownership.NoPendingOwner.selector));
        VM.prank(OWNER);
        collector.cancelOwnershipTransfer();
    }

    function test_RevertsOnBadNewOwners() public {
        VM.expectRevert(abi.encodeWithSelector(Ownership.BadNewOwner.selector, address(0)));
        _propose(address(0));
        VM.expectRevert(abi.encodeWithSelector(Ownership.BadNewOwner.selector, OWNER));
        _propose(OWNER);
        VM.expectRevert(abi.encodeWithSelector(Ownership.BadNewOwner.selector, address(0)));
        new FeeCollector(address(0));
    }

    function testFuzz_OnlyTheOwnerProposesAndCancels(address caller) public {
        VM.assume(caller != OWNER);
        VM.startPrank(caller);
        VM.expectRevert(abi.encodeWithSelector(Ownership.NotOwner.selector, caller));
        collector.transferOwnership(HEIR);
        VM.expectRevert(abi.encodeWithSelector(Ownership.NotOwner.selector, caller));
        collector.cancelOwnershipTransfer();
        VM.stopPrank();
    }

    function testFuzz_OnlyTheProposedOwnerConfirms(address caller) public {
        VM.assume(caller != HEIR);
        _propose(HEIR);
        VM.expectRevert(abi.encodeWithSelector(Ownership.NotPendingOwner.selector, caller));
        VM.prank(caller);
        collector.confirmOwnershipTransfer();
    }
}
