// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISettlementVault} from "../../src/vault/ISettlementVault.sol";
import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {IVaultEvents} from "../../src/vault/IVaultEvents.sol";
import {VaultBase} from "./support/VaultBase.sol";

contract LimitsTest is VaultBase {
    uint256 private nextId = 1;

    function _pay(uint256 amount) private {
        _payout(bytes32(nextId++), ALICE, amount);
    }

    function _expectDayLimit(uint256 amount, uint256 spent, uint256 limit) private {
        VM.expectRevert(
            abi.encodeWithSelector(IVaultErrors.DayLimitExceeded.selector, address(usd), amount, spent, limit)
        );
    }

    function test_RulesAreReadable() public {
        _expectEvent();
        emit IVaultEvents.TokenPolicyChanged(address(usd), true, 1000, 5000);
        _setToken(address(usd), true, 1000, 5000);
        _pay(300);

        ISettlementVault.TokenPolicy memory policy = vault.tokenPolicy(address(usd));
        assertTrue(policy.enabled && policy.everEnabled, "enabled");
        assertEq(policy.payoutLimit, 1000, "limit of a payout");
        assertEq(policy.dayLimit, 5000, "limit of a day");
        assertEq(policy.spentToday, 300, "spent");
        assertEq(vault.remainingToday(address(usd)), 4700, "remaining");
    }

    function test_ATokenThatWasPayableIsRemembered() public {
        _setToken(address(usd), false, 7, 8);
        ISettlementVault.TokenPolicy memory policy = vault.tokenPolicy(address(usd));
        assertTrue(!policy.enabled && policy.everEnabled, "enabled once");
        policy = vault.tokenPolicy(STRANGER);
        assertTrue(!policy.enabled && !policy.everEnabled, "never enabled");
    }

    function test_ChangingTheRulesKeepsTheDaysSum() public {
        _pay(300);
        _setToken(address(usd), false, 0, 0);
        _setToken(address(usd), true, 0, 1000);
        assertEq(vault.spentToday(address(usd)), 300, "spent");
        _expectDayLimit(701, 300, 1000);
        _pay(701);
        _pay(700);
    }

    function test_ALimitSetInTheMiddleOfADayCountsTheWholeDay() public {
        _pay(900);
        _setToken(address(usd), true, 0, 800);
        assertEq(vault.remainingToday(address(usd)), 0, "remaining");
        _expectDayLimit(1, 900, 800);
        _pay(1);
    }

    function test_ADayEndsAtMidnightUtc() public {
        _setToken(address(usd), true, 0, 1000);
        VM.warp(NEXT_DAY - 1);
        _pay(1000);
        _expectDayLimit(1, 1000, 1000);
        _pay(1);

        VM.warp(NEXT_DAY);
        assertEq(vault.spentToday(address(usd)), 0, "spent on the new day");
        assertEq(vault.remainingToday(address(usd)), 1000, "remaining on the new day");
        _pay(1000);
        _expectDayLimit(1, 1000, 1000);
        _pay(1);
    }

    function test_ZeroIsNoLimit() public {
        _pay(FUNDS);
        assertEq(vault.remainingToday(address(usd)), vault.MAX_AMOUNT() - FUNDS, "remaining");
    }

    function test_TokensHaveLimitsOfTheirOwn() public {
        _setToken(address(usd), true, 100, 100);
        _pay(100);
        VM.prank(OPERATOR);
        vault.payout(ID, address(eur), ALICE, 5000);
        assertEq(vault.spentToday(address(eur)), 5000, "euros spent");
    }

    function test_WithoutLimitsAmountsStillFitTheBooks() public {
        uint256 max = vault.MAX_AMOUNT();
        usd.mint(address(vault), max);
        VM.expectRevert(
            abi.encodeWithSelector(IVaultErrors.PayoutLimitExceeded.selector, ID, address(usd), max + 1, max)
        );
        _payout(ID, ALICE, max + 1);
        _pay(max);
        _expectDayLimit(1, max, max);
        _pay(1);
    }

    function test_RevertsOnLimitsThatDoNotFit() public {
        uint256 max = vault.MAX_AMOUNT();
        bytes memory tooLarge = abi.encodeWithSelector(IVaultErrors.LimitTooLarge.selector, max + 1, max);
        VM.expectRevert(tooLarge);
        _setToken(address(usd), true, max + 1, 0);
        VM.expectRevert(tooLarge);
        _setToken(address(usd), true, 0, max + 1);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.LimitTooPrecise.selector, 1_234_567_890_123));
        _setToken(address(usd), true, 1_234_567_890_123, 0);
    }

    function test_RevertsOnAddressesThatAreNoToken() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.InvalidAccount.selector, address(vault)));
        _setToken(address(vault), true, 0, 0);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.InvalidAccount.selector, STRANGER));
        _setToken(STRANGER, true, 0, 0);
    }

    function test_ATokenThatIsGoneCanBeDisabled() public {
        VM.etch(address(usd), "");
        _setToken(address(usd), false, 0, 0);
        assertTrue(!vault.tokenPolicy(address(usd)).enabled, "disabled");
    }

    function test_OnlyTheAdminSetsRules() public {
        address[3] memory callers = [OPERATOR, GUARDIAN, STRANGER];
        for (uint256 i = 0; i < callers.length; ++i) {
            _expectNoRole(callers[i], adminRole);
            VM.prank(callers[i]);
            vault.setToken(address(usd), true, 0, 0);
        }
    }

    function testFuzz_AmountsUpToTheLimitPass(uint256 limit, uint256 amount) public {
        limit = between(limit, 1, FUNDS);
        amount = between(amount, 1, FUNDS);
        _setToken(address(usd), true, limit, 0);
        if (amount > limit) {
            VM.expectRevert(
                abi.encodeWithSelector(IVaultErrors.PayoutLimitExceeded.selector, ID, address(usd), amount, limit)
            );
        }
        _payout(ID, ALICE, amount);
    }

    function testFuzz_TheDaysSumStaysWithinItsLimit(uint256 limit, uint256[8] memory amounts, uint16[8] memory waits)
        public
    {
        limit = between(limit, 1, FUNDS);
        _setToken(address(usd), true, 0, limit);
        uint256 sum = 0;
        uint256 day = block.timestamp / 1 days;
        for (uint256 i = 0; i < amounts.length; ++i) {
            VM.warp(block.timestamp + waits[i]);
            if (block.timestamp / 1 days != day) (day, sum) = (block.timestamp / 1 days, 0);
            uint256 amount = between(amounts[i], 1, FUNDS / 8);
            if (sum + amount > limit) _expectDayLimit(amount, sum, limit);
            else sum += amount;
            _pay(amount);
            assertEq(vault.spentToday(address(usd)), sum, "spent");
            assertEq(vault.remainingToday(address(usd)), limit - sum, "remaining");
        }
    }
}
