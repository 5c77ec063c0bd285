// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {IVaultEvents} from "../../src/vault/IVaultEvents.sol";
import {RecipientFeeToken} from "./support/OddTokens.sol";
import {VaultBase} from "./support/VaultBase.sol";

contract EmergencyWithdrawalTest is VaultBase {
    uint256 private constant ALL = type(uint256).max;

    function _schedule(address token, uint256 amount) private {
        VM.prank(ADMIN);
        vault.scheduleEmergencyWithdrawal(token, amount);
    }

    function _execute(address token) private {
        VM.prank(ADMIN);
        vault.executeEmergencyWithdrawal(token);
    }

    function _assertPending(address token, uint256 amount, uint256 readyAt) private view {
        (uint256 pending, uint256 ready, uint256 expires) = vault.pendingEmergencyWithdrawal(token);
        assertEq(pending, amount, "announced amount");
        assertEq(ready, readyAt, "ready at");
        assertEq(expires, readyAt == 0 ? 0 : readyAt + GRACE, "expires at");
    }

    function test_GoesToTheTreasuryAfterPauseAndDelay() public {
        _pause();
        _expectEvent();
        emit IVaultEvents.EmergencyWithdrawalScheduled(address(usd), 500, START + DELAY, START + DELAY + GRACE);
        _schedule(address(usd), 500);
        _assertPending(address(usd), 500, START + DELAY);

        VM.warp(START + DELAY);
        _expectEvent();
        emit IVaultEvents.EmergencyWithdrawalExecuted(address(usd), TREASURY, 500);
        _execute(address(usd));
        _assertPaid(TREASURY, 500);
        _assertPending(address(usd), 0, 0);
    }

    function test_TheLargestAmountIsWhateverIsThere() public {
        _pause();
        _schedule(address(usd), ALL);
        usd.mint(address(vault), 7);
        VM.warp(START + DELAY);
        _execute(address(usd));
        assertEq(usd.balanceOf(TREASURY), FUNDS + 7, "received");
        assertEq(usd.balanceOf(address(vault)), 0, "left in the vault");
    }

    function test_TokensHaveAnnouncementsOfTheirOwn() public {
        _pause();
        _schedule(address(usd), 1);
        _schedule(address(eur), 2);
        VM.warp(START + DELAY);
        _execute(address(eur));
        _assertPending(address(usd), 1, START + DELAY);
        _assertPending(address(eur), 0, 0);
    }

    function test_RevertsUnlessPaused() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ExpectedPause.selector));
        _schedule(address(usd), 500);
        _pause();
        _schedule(address(usd), 500);
        _unpause();
        VM.warp(START + DELAY);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ExpectedPause.selector));
        _execute(address(usd));
    }

    function test_RevertsOnAnAmountOfZero() public {
        _pause();
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.WithdrawalIsZero.selector, address(usd)));
        _schedule(address(usd), 0);
    }

    function test_RevertsWhenTheVaultIsShort() public {
        _pause();
        _schedule(address(usd), FUNDS + 1);
        VM.warp(START + DELAY);
        VM.expectRevert(
            abi.encodeWithSelector(IVaultErrors.VaultBalanceTooLow.selector, address(usd), FUNDS, FUNDS + 1)
        );
        _execute(address(usd));
    }

    function test_IsDoneOnce() public {
        _pause();
        _schedule(address(usd), 500);
        VM.warp(START + DELAY);
        _execute(address(usd));
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.NothingScheduled.selector));
        _execute(address(usd));
    }

    function test_ASecondAnnouncementWaitsAnew() public {
        _pause();
        _schedule(address(usd), 500);
        VM.warp(START + DELAY);
        _schedule(address(usd), 600);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.OperationNotReady.selector, START + 2 * DELAY));
        _execute(address(usd));
    }

    function test_GuardiansAndTheAdminDropAnAnnouncement() public {
        _pause();
        address[2] memory callers = [GUARDIAN, ADMIN];
        for (uint256 i = 0; i < callers.length; ++i) {
            _schedule(address(usd), 500);
            _expectEvent();
            emit IVaultEvents.EmergencyWithdrawalCancelled(address(usd), 500, callers[i]);
            VM.prank(callers[i]);
            vault.cancelEmergencyWithdrawal(address(usd));
        }
        VM.warp(START + DELAY);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.NothingScheduled.selector));
        _execute(address(usd));
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.NothingScheduled.selector));
        VM.prank(ADMIN);
        vault.cancelEmergencyWithdrawal(address(usd));
    }

    function test_OnlyTheAdminAnnouncesAndExecutes() public {
        _pause();
        _schedule(address(usd), 500);
        VM.warp(START + DELAY);
        address[4] memory callers = [OPERATOR, GUARDIAN, STRANGER, TREASURY];
        for (uint256 i = 0; i < callers.length; ++i) {
            _expectNoRole(callers[i], adminRole);
            VM.prank(callers[i]);
            vault.scheduleEmergencyWithdrawal(address(usd), 500);
            _expectNoRole(callers[i], adminRole);
            VM.prank(callers[i]);
            vault.executeEmergencyWithdrawal(address(usd));
        }
        _expectNoRole(OPERATOR, adminRole);
        VM.prank(OPERATOR);
        vault.cancelEmergencyWithdrawal(address(usd));
    }

    function testFuzz_TheWindowIsExact(uint256 wait) public {
        _pause();
        _schedule(address(usd), 500);
        wait = _edgeOfWindow(wait);
        VM.warp(START + wait);
        if (wait < DELAY) {
            VM.expectRevert(abi.encodeWithSelector(IVaultErrors.OperationNotReady.selector, START + DELAY));
        } else if (wait > DELAY + GRACE) {
            VM.expectRevert(abi.encodeWithSelector(IVaultErrors.OperationExpired.selector, START + DELAY + GRACE));
        }
        _execute(address(usd));
    }

    /// @dev A token that the vault refuses to pay in can still be rescued.
    function test_RescuesATokenThatTakesAFee() public {
        RecipientFeeToken token = new RecipientFeeToken();
        token.mint(address(vault), 1000);
        _pause();
        _schedule(address(token), ALL);
        VM.warp(START + DELAY);
        _execute(address(token));
        assertEq(token.balanceOf(TREASURY), 990, "received");
    }
}
