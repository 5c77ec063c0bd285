// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISettlementVault} from "../../src/vault/ISettlementVault.sol";
import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {IVaultEvents} from "../../src/vault/IVaultEvents.sol";
import {VaultBase} from "./support/VaultBase.sol";

contract PayoutTest is VaultBase {
    function test_PaysAndTellsSo() public {
        _expectEvent();
        emit IVaultEvents.PayoutExecuted(ID, address(usd), ALICE, 100e6);
        _payout(ID, ALICE, 100e6);

        _assertPaid(ALICE, 100e6);
        assertEq(vault.spentToday(address(usd)), 100e6, "spent today");
    }

    function test_PaysInEachPayableToken() public {
        _payout(ID, ALICE, 100);
        VM.prank(OPERATOR);
        vault.payout(OTHER_ID, address(eur), ALICE, 200);

        assertEq(usd.balanceOf(ALICE), 100, "dollars");
        assertEq(eur.balanceOf(ALICE), 200, "euros");
        assertEq(vault.spentToday(address(usd)), 100, "dollars spent");
        assertEq(vault.spentToday(address(eur)), 200, "euros spent");
    }

    function test_PaysTheLastToken() public {
        _payout(ID, ALICE, FUNDS);
        _assertPaid(ALICE, FUNDS);
    }

    function test_RevertsWhenTheVaultIsShort() public {
        VM.expectRevert(
            abi.encodeWithSelector(IVaultErrors.VaultBalanceTooLow.selector, address(usd), FUNDS, FUNDS + 1)
        );
        _payout(ID, ALICE, FUNDS + 1);

        _assertState(ID, ISettlementVault.RequestState.Unknown);
        usd.mint(address(vault), 1);
        _payout(ID, ALICE, FUNDS + 1);
    }

    function test_RevertsOnBadRecipients() public {
        address[3] memory bad = [address(0), address(vault), address(usd)];
        for (uint256 i = 0; i < bad.length; ++i) {
            VM.expectRevert(abi.encodeWithSelector(IVaultErrors.InvalidRecipient.selector, ID, bad[i]));
            _payout(ID, bad[i], 1);
        }
    }

    function test_RevertsOnAnAmountOfZero() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.AmountIsZero.selector, ID));
        _payout(ID, ALICE, 0);
    }

    function test_RevertsOnARequestIdOfZero() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RequestIdIsZero.selector));
        _payout(bytes32(0), ALICE, 1);
    }

    function test_RevertsOnATokenThatIsNotPayable() public {
        _setToken(address(usd), false, 0, 0);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.TokenNotPayable.selector, address(usd)));
        _payout(ID, ALICE, 1);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.TokenNotPayable.selector, STRANGER));
        VM.prank(OPERATOR);
        vault.payout(ID, STRANGER, ALICE, 1);
    }

    function test_RevertsUnlessTheCallerIsAnOperator() public {
        address[4] memory callers = [ADMIN, GUARDIAN, STRANGER, address(0)];
        for (uint256 i = 0; i < callers.length; ++i) {
            _expectNoRole(callers[i], operatorRole);
            VM.prank(callers[i]);
            vault.payout(ID, address(usd), ALICE, 1);
        }
    }

    function test_RevertsWhilePaused() public {
        _pause();
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.EnforcedPause.selector));
        _payout(ID, ALICE, 1);

        _unpause();
        _payout(ID, ALICE, 1);
    }

    function testFuzz_MovesExactlyTheAmount(bytes32 requestId, address to, uint256 amount) public {
        VM.assume(requestId != bytes32(0));
        VM.assume(to != address(0) && to != address(vault) && to != address(usd));
        amount = between(amount, 1, FUNDS);
        _payout(requestId, to, amount);

        _assertPaid(to, amount);
        _assertState(requestId, ISettlementVault.RequestState.Paid);
    }
}
