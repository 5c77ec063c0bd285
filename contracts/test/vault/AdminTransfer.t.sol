// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {IVaultEvents} from "../../src/vault/IVaultEvents.sol";
import {VaultBase} from "./support/VaultBase.sol";

contract AdminTransferTest is VaultBase {
    address private constant HEIR = address(0xE1F);

    function _schedule(address heir) private {
        VM.prank(ADMIN);
        vault.scheduleAdminTransfer(heir);
    }

    function _accept(address heir) private {
        VM.prank(heir);
        vault.acceptAdminTransfer();
    }

    function test_AnAnnouncementAloneChangesNothing() public {
        _expectEvent();
        emit IVaultEvents.AdminTransferScheduled(HEIR, START + DELAY, START + DELAY + GRACE);
        _schedule(HEIR);

        (address pending, uint256 readyAt, uint256 expiresAt) = vault.pendingAdmin();
        assertEq(pending, HEIR, "announced admin");
        assertEq(readyAt, START + DELAY, "ready at");
        assertEq(expiresAt, START + DELAY + GRACE, "expires at");
        assertEq(vault.admin(), ADMIN, "admin");
        assertTrue(!vault.hasRole(adminRole, HEIR), "the heir has no role yet");
    }

    function test_AcceptingHandsOver() public {
        _schedule(HEIR);
        VM.warp(START + DELAY);
        _expectEvent();
        emit IVaultEvents.AdminTransferred(ADMIN, HEIR);
        _accept(HEIR);

        assertEq(vault.admin(), HEIR, "admin");
        assertTrue(vault.hasRole(adminRole, HEIR), "the heir has the role");
        assertTrue(!vault.hasRole(adminRole, ADMIN), "the old admin has not");
        (address pending, uint256 readyAt,) = vault.pendingAdmin();
        assertEq(pending, address(0), "announced admin");
        assertEq(readyAt, 0, "ready at");
        _expectNoRole(ADMIN, adminRole);
        _setToken(address(usd), true, 1, 1);
        VM.prank(HEIR);
        vault.setToken(address(usd), true, 1, 1);
    }

    function test_TheOldAdminCannotTakeItBack() public {
        _schedule(HEIR);
        VM.warp(START + DELAY);
        _accept(HEIR);
        _expectNoRole(ADMIN, adminRole);
        _schedule(ADMIN);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.NotPendingAdmin.selector, ADMIN, address(0)));
        _accept(ADMIN);
    }

    function test_OnlyTheHeirAccepts() public {
        _schedule(HEIR);
        VM.warp(START + DELAY);
        address[3] memory callers = [ADMIN, GUARDIAN, STRANGER];
        for (uint256 i = 0; i < callers.length; ++i) {
            VM.expectRevert(abi.encodeWithSelector(IVaultErrors.NotPendingAdmin.selector, callers[i], HEIR));
            _accept(callers[i]);
        }
    }

    function test_NobodyIsTheHeirOfNothing() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.NothingScheduled.selector));
        _accept(address(0));
    }

    function test_TheAdminCanCallItOff() public {
        _schedule(HEIR);
        _expectEvent();
        emit IVaultEvents.AdminTransferCancelled(HEIR);
        VM.prank(ADMIN);
        vault.cancelAdminTransfer();
        VM.warp(START + DELAY);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.NotPendingAdmin.selector, HEIR, address(0)));
        _accept(HEIR);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.NothingScheduled.selector));
        VM.prank(ADMIN);
        vault.cancelAdminTransfer();
    }

    function test_ASecondAnnouncementReplacesTheFirst() public {
        _schedule(HEIR);
        VM.warp(START + DELAY);
        _schedule(BOB);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.NotPendingAdmin.selector, HEIR, BOB));
        _accept(HEIR);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.OperationNotReady.selector, START + 2 * DELAY));
        _accept(BOB);
    }

    function test_RevertsOnBadHeirs() public {
        address[2] memory bad = [address(0), ADMIN];
        for (uint256 i = 0; i < bad.length; ++i) {
            VM.expectRevert(abi.encodeWithSelector(IVaultErrors.InvalidAccount.selector, bad[i]));
            _schedule(bad[i]);
        }
    }

    function test_OnlyTheAdminAnnouncesAndCallsOff() public {
        _schedule(HEIR);
        address[4] memory callers = [OPERATOR, GUARDIAN, STRANGER, HEIR];
        for (uint256 i = 0; i < callers.length; ++i) {
            _expectNoRole(callers[i], adminRole);
            VM.prank(callers[i]);
            vault.scheduleAdminTransfer(STRANGER);
            _expectNoRole(callers[i], adminRole);
            VM.prank(callers[i]);
            vault.cancelAdminTransfer();
        }
    }

    function testFuzz_TheWindowIsExact(uint256 wait) public {
        _schedule(HEIR);
        wait = _edgeOfWindow(wait);
        VM.warp(START + wait);
        if (wait < DELAY) {
            VM.expectRevert(abi.encodeWithSelector(IVaultErrors.OperationNotReady.selector, START + DELAY));
        } else if (wait > DELAY + GRACE) {
            VM.expectRevert(abi.encodeWithSelector(IVaultErrors.OperationExpired.selector, START + DELAY + GRACE));
        }
        _accept(HEIR);
    }
}
