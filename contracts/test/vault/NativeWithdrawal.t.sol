// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {ISettlementVault} from "../../src/vault/ISettlementVault.sol";
import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {IVaultEvents} from "../../src/vault/IVaultEvents.sol";
import {CallingReceiver, CountingReceiver} from "./support/CoinReceivers.sol";
import {NativeBase} from "./support/NativeBase.sol";

/// @notice The chain's own coin leaves for the treasury as tokens do: announced, paused, and after the delay.
contract NativeWithdrawalTest is NativeBase {
    uint256 private constant ALL = type(uint256).max;

    function _schedule(uint256 amount) private {
        VM.prank(ADMIN);
        vault.scheduleEmergencyWithdrawal(COIN, amount);
    }

    function _execute() private {
        VM.prank(ADMIN);
        vault.executeEmergencyWithdrawal(COIN);
    }

    function test_GoesToTheTreasuryAfterThePauseAndTheDelay() public {
        _pause();
        _expectEvent();
        emit IVaultEvents.EmergencyWithdrawalScheduled(COIN, 5 ether, START + DELAY, START + DELAY + GRACE);
        _schedule(5 ether);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.OperationNotReady.selector, START + DELAY));
        _execute();
        VM.warp(START + DELAY);
        _expectEvent();
        emit IVaultEvents.EmergencyWithdrawalExecuted(COIN, TREASURY, 5 ether);
        _execute();
        assertEq(TREASURY.balance, 5 ether, "received");
        assertEq(address(vault).balance, COINS - 5 ether, "left in the vault");
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.NothingScheduled.selector));
        _execute();
    }

    function test_TheLargestNumberIsWhateverIsThere() public {
        _pause();
        _schedule(ALL);
        VM.warp(START + DELAY);
        VM.deal(address(vault), COINS + 7);
        _execute();
        assertEq(TREASURY.balance, COINS + 7, "received");
    }

    function test_RevertsUnlessPausedAndForOthersThanTheAdmin() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ExpectedPause.selector));
        _schedule(1);
        _pause();
        _schedule(1);
        VM.warp(START + DELAY);
        _expectNoRole(GUARDIAN, adminRole);
        VM.prank(GUARDIAN);
        vault.executeEmergencyWithdrawal(COIN);
        _unpause();
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ExpectedPause.selector));
        _execute();
    }

    function test_RevertsWhenTheVaultIsShort() public {
        _pause();
        _schedule(COINS + 1);
        VM.warp(START + DELAY);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.VaultBalanceTooLow.selector, COIN, COINS, COINS + 1));
        _execute();
    }

    /// @dev A treasury that refuses loses nothing: the announcement stays.
    function test_ATreasuryThatRefusesLeavesTheCoinWhereItIs() public {
        CountingReceiver treasury = new CountingReceiver();
        VM.etch(TREASURY, address(treasury).code);
        CountingReceiver(payable(TREASURY)).refuse(true);
        _pause();
        _schedule(5);
        VM.warp(START + DELAY);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.CoinTransferFailed.selector, bytes32(0), TREASURY, 5));
        _execute();
        CountingReceiver(payable(TREASURY)).refuse(false);
        _execute();
        assertEq(TREASURY.balance, 5, "received");
    }

    /// @dev The treasury is an operator too, so that nothing but pause and guard stop it.
    function test_AWithdrawalIsNotEntered() public {
        VM.etch(TREASURY, address(new CallingReceiver()).code);
        VM.prank(ADMIN);
        vault.grantRole(operatorRole, TREASURY);
        CallingReceiver treasury = CallingReceiver(payable(TREASURY));
        treasury.onReceive(address(vault), abi.encodeCall(ISettlementVault.payoutCoinBatch, (_one(ID, BOB, 1))));
        _pause();
        _schedule(5);
        VM.warp(START + DELAY);
        _execute();
        assertTrue(treasury.called() && !treasury.succeeded(), "the call back was tried and refused");
        bytes memory refusal = abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector);
        assertEq(treasury.answer(), keccak256(refusal), "by the guard");
        assertEq(address(vault).balance, COINS - 5, "left in the vault");
    }

    function testFuzz_TheWindowIsExact(uint256 wait) public {
        _pause();
        _schedule(5);
        wait = _edgeOfWindow(wait);
        VM.warp(START + wait);
        if (wait < DELAY) {
            VM.expectRevert(abi.encodeWithSelector(IVaultErrors.OperationNotReady.selector, START + DELAY));
        } else if (wait > DELAY + GRACE) {
            VM.expectRevert(abi.encodeWithSelector(IVaultErrors.OperationExpired.selector, START + DELAY + GRACE));
        }
        _execute();
    }
}
