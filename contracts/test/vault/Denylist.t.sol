// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {IVaultEvents} from "../../src/vault/IVaultEvents.sol";
import {VaultBase} from "./support/VaultBase.sol";

contract DenylistTest is VaultBase {
    function _deny(address account) private {
        VM.prank(GUARDIAN);
        vault.deny(account);
    }

    function _expectDenied(bytes32 requestId, address to) private {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RecipientDenied.selector, requestId, to));
    }

    function test_ADeniedRecipientIsNotPaid() public {
        _expectEvent();
        emit IVaultEvents.DenylistChanged(ALICE, true, GUARDIAN);
        _deny(ALICE);

        assertTrue(vault.isDenied(ALICE), "denied");
        _expectDenied(ID, ALICE);
        _payout(ID, ALICE, 1);
        _payout(ID, BOB, 1);
    }

    function test_AnAllowedRecipientIsPaidAgain() public {
        _deny(ALICE);
        _expectEvent();
        emit IVaultEvents.DenylistChanged(ALICE, false, ADMIN);
        VM.prank(ADMIN);
        vault.allow(ALICE);

        assertTrue(!vault.isDenied(ALICE), "allowed");
        _payout(ID, ALICE, 1);
        _deny(ALICE);
        _expectDenied(OTHER_ID, ALICE);
        _payout(OTHER_ID, ALICE, 1);
    }

    function test_GuardiansDenyButDoNotAllow() public {
        _deny(ALICE);
        _expectNoRole(GUARDIAN, adminRole);
        VM.prank(GUARDIAN);
        vault.allow(ALICE);
    }

    function test_OthersNeitherDenyNorAllow() public {
        address[2] memory callers = [OPERATOR, STRANGER];
        for (uint256 i = 0; i < callers.length; ++i) {
            _expectNoRole(callers[i], adminRole);
            VM.prank(callers[i]);
            vault.deny(ALICE);
            _expectNoRole(callers[i], adminRole);
            VM.prank(callers[i]);
            vault.allow(ALICE);
        }
    }

    function test_RevertsOnTheZeroAddress() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.InvalidAccount.selector, address(0)));
        _deny(address(0));
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.InvalidAccount.selector, address(0)));
        VM.prank(ADMIN);
        vault.allow(address(0));
    }

    /// @dev The list is behind a filter that accounts share: nobody may be denied for another's sake, and nobody missed.
    function testFuzz_TheListIsExact(address[12] memory denied, uint256 allowed, address[12] memory others) public {
        for (uint256 i = 0; i < denied.length; ++i) {
            if (denied[i] != address(0)) _deny(denied[i]);
        }
        address forgiven = denied[allowed % denied.length];
        if (forgiven != address(0)) {
            VM.prank(ADMIN);
            vault.allow(forgiven);
        }
        for (uint256 i = 0; i < denied.length; ++i) {
            _tryPayout(bytes32(i + 1), denied[i]);
            _tryPayout(bytes32(i + 101), others[i]);
            _tryPayout(bytes32(i + 201), address(uint160(denied[i]) ^ 1));
        }
    }

    /// @dev As many accounts as the filter has bits, and some more.
    function test_TheListIsExactWhenTheFilterIsFull() public {
        for (uint160 i = 1; i <= 100; ++i) {
            _deny(address(i * 0x10001));
        }
        for (uint160 i = 1; i <= 100; ++i) {
            _tryPayout(bytes32(uint256(i)), address(i * 0x10001));
            _tryPayout(bytes32(uint256(i) + 1000), address(i * 0x10001 + 0x100000));
        }
    }

    function _tryPayout(bytes32 requestId, address to) private {
        if (to == address(0) || to == address(vault) || to == address(usd)) return;
        if (vault.isDenied(to)) _expectDenied(requestId, to);
        _payout(requestId, to, 1);
    }
}
