// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {DemoToken} from "../../src/demo/DemoToken.sol";
import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {IVaultEvents} from "../../src/vault/IVaultEvents.sol";
import {CoinToken} from "./support/OddTokens.sol";
import {VaultBase} from "./support/VaultBase.sol";

contract SweepTest is VaultBase {
    DemoToken private stray;

    function setUp() public override {
        super.setUp();
        stray = new DemoToken("Stray", "STRAY", 18);
        stray.mint(address(vault), 1000);
    }

    function _sweep(address token, address to, uint256 amount) private {
        VM.prank(ADMIN);
        vault.sweep(token, to, amount);
    }

    function test_SendsStrayTokensOn() public {
        _expectEvent();
        emit IVaultEvents.TokenSwept(address(stray), ALICE, 400);
        _sweep(address(stray), ALICE, 400);
        assertEq(stray.balanceOf(ALICE), 400, "received");
        assertEq(stray.balanceOf(address(vault)), 600, "left in the vault");
    }

    function test_RevertsOnAPayableToken() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.TokenNotSweepable.selector, address(usd)));
        _sweep(address(usd), ALICE, 1);
    }

    /// @dev Else who has the admin's key could disable a token and sweep it past the timelock.
    function test_RevertsOnATokenThatWasPayable() public {
        _setToken(address(usd), false, 0, 0);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.TokenNotSweepable.selector, address(usd)));
        _sweep(address(usd), ALICE, 1);
    }

    function test_ATokenWhoseRulesWereSetButNeverEnabledCanBeSwept() public {
        _setToken(address(stray), false, 10, 10);
        _sweep(address(stray), ALICE, 1000);
        assertEq(stray.balanceOf(ALICE), 1000, "received");
    }

    function test_RevertsOnBadRecipients() public {
        address[2] memory bad = [address(0), address(vault)];
        for (uint256 i = 0; i < bad.length; ++i) {
            VM.expectRevert(abi.encodeWithSelector(IVaultErrors.InvalidAccount.selector, bad[i]));
            _sweep(address(stray), bad[i], 1);
        }
    }

    function test_RevertsOnAnAmountOfZero() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.WithdrawalIsZero.selector, address(stray)));
        _sweep(address(stray), ALICE, 0);
    }

    function test_TheChainsCoinCannotBeSwept() public {
        VM.deal(address(vault), 5);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.TokenNotSweepable.selector, address(0)));
        _sweep(address(0), ALICE, 1);
    }

    /// @dev As on Polygon and Celo, where the coin has a contract too.
    function test_TheChainsCoinCannotBeSweptThroughAToken() public {
        CoinToken token = new CoinToken();
        VM.deal(address(vault), 5);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.TokenNotSweepable.selector, address(token)));
        _sweep(address(token), ALICE, 1);
    }

    function test_RevertsWhenThereIsNoToken() public {
        VM.expectRevert(abi.encodeWithSelector(SafeERC20.SafeERC20FailedOperation.selector, STRANGER));
        _sweep(STRANGER, ALICE, 1);
    }

    function test_OnlyTheAdminSweeps() public {
        address[3] memory callers = [OPERATOR, GUARDIAN, STRANGER];
        for (uint256 i = 0; i < callers.length; ++i) {
            _expectNoRole(callers[i], adminRole);
            VM.prank(callers[i]);
            vault.sweep(address(stray), ALICE, 1);
        }
    }
}
