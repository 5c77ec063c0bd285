// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {IVaultEvents} from "../../src/vault/IVaultEvents.sol";
import {VaultBase} from "./support/VaultBase.sol";

contract PauseTest is VaultBase {
    function test_GuardiansAndTheAdminPause() public {
        _expectEvent();
        emit IVaultEvents.Paused(GUARDIAN);
        _pause();
        assertTrue(vault.paused(), "paused");

        _expectEvent();
        emit IVaultEvents.Unpaused(ADMIN);
        _unpause();
        assertTrue(!vault.paused(), "not paused");

        VM.prank(ADMIN);
        vault.pause();
        assertTrue(vault.paused(), "paused by the admin");
    }

    function test_GuardiansDoNotUnpause() public {
        _pause();
        _expectNoRole(GUARDIAN, adminRole);
        VM.prank(GUARDIAN);
        vault.unpause();
    }

    function test_OthersNeitherPauseNorUnpause() public {
        address[2] memory callers = [OPERATOR, STRANGER];
        for (uint256 i = 0; i < callers.length; ++i) {
            _expectNoRole(callers[i], adminRole);
            VM.prank(callers[i]);
            vault.pause();
            _expectNoRole(callers[i], adminRole);
            VM.prank(callers[i]);
            vault.unpause();
        }
    }

    function test_RevertsOnPausingTwice() public {
        _pause();
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.EnforcedPause.selector));
        _pause();
    }

    function test_RevertsOnUnpausingWhatIsNotPaused() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ExpectedPause.selector));
        _unpause();
    }

    /// @dev The pause shares its storage word with the denylist's filter, the operator and the approvals.
    function test_PausingTouchesNothingElse() public {
        VM.prank(GUARDIAN);
        vault.deny(BOB);
        _pause();
        _unpause();

        _payout(ID, ALICE, 1);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RecipientDenied.selector, OTHER_ID, BOB));
        _payout(OTHER_ID, BOB, 1);
        assertTrue(!vault.approvalRequired(), "no approvals");
    }
}
