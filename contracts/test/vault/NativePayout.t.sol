// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISettlementVault} from "../../src/vault/ISettlementVault.sol";
import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {IVaultEvents} from "../../src/vault/IVaultEvents.sol";
import {NativeBase} from "./support/NativeBase.sol";

/// @notice The chain's own coin under every guard that payouts of tokens have.
contract NativePayoutTest is NativeBase {
    function test_PaysOneAndTellsSo() public {
        ISettlementVault.Payout[] memory payouts = _one(ID, ALICE, 3 ether);
        _expectEvent();
        emit IVaultEvents.PayoutExecuted(ID, COIN, ALICE, 3 ether);
        _payNative(payouts);
        _assertCoinsPaid(payouts);
    }

    function test_PaysManyAndTellsSo() public {
        ISettlementVault.Payout[] memory payouts = _batch(vault.MAX_BATCH());
        for (uint256 i = 0; i < payouts.length; ++i) {
            _expectEvent();
            emit IVaultEvents.PayoutExecuted(payouts[i].requestId, COIN, payouts[i].to, payouts[i].amount);
        }
        _payNative(payouts);
        _assertCoinsPaid(payouts);
    }

    function test_TheCoinIsTheTokenZero() public view {
        assertEq(vault.NATIVE_COIN_ADDRESS(), COIN, "what stands for the coin");
    }

    function test_ARequestIsPaidOnce() public {
        _payNative(ID, ALICE, 1);
        bytes memory refusal = abi.encodeWithSelector(IVaultErrors.RequestAlreadyPaid.selector, ID, START, 1000);
        VM.expectRevert(refusal);
        _payNative(ID, ALICE, 1);
        VM.expectRevert(refusal);
        _payout(ID, ALICE, 1);
        ISettlementVault.Payout[] memory payouts = _batch(2);
        payouts[1].requestId = payouts[0].requestId;
        VM.expectRevert(
            abi.encodeWithSelector(IVaultErrors.RequestAlreadyPaid.selector, payouts[0].requestId, START, 1000)
        );
        _payNative(payouts);
    }

    function test_ARequestThatWasPaidInATokenIsNotPaidInTheCoin() public {
        _payout(ID, ALICE, 1);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RequestAlreadyPaid.selector, ID, START, 1000));
        _payNative(ID, ALICE, 1);
    }

    function test_ACancelledRequestIsNotPaid() public {
        _cancel(ID);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RequestAlreadyCancelled.selector, ID, START, 1000));
        _payNative(ID, ALICE, 1);
        _payNative(OTHER_ID, ALICE, 1);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RequestAlreadyPaid.selector, OTHER_ID, START, 1000));
        _cancel(OTHER_ID);
    }

    function test_RevertsWhilePaused() public {
        _pause();
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.EnforcedPause.selector));
        _payNative(ID, ALICE, 1);
        _unpause();
        _payNative(ID, ALICE, 1);
    }

    function test_RevertsUnlessTheCallerIsAnOperator() public {
        ISettlementVault.Payout[] memory payouts = _one(ID, ALICE, 1);
        address[3] memory callers = [ADMIN, GUARDIAN, STRANGER];
        for (uint256 i = 0; i < callers.length; ++i) {
            _expectNoRole(callers[i], operatorRole);
            VM.prank(callers[i]);
            vault.payoutCoinBatch(payouts);
        }
    }

    function test_RevertsToADeniedRecipient() public {
        VM.prank(GUARDIAN);
        vault.deny(ALICE);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RecipientDenied.selector, ID, ALICE));
        _payNative(ID, ALICE, 1);
    }

    function test_RevertsOnBadRecipients() public {
        address[2] memory bad = [address(0), address(vault)];
        for (uint256 i = 0; i < bad.length; ++i) {
            VM.expectRevert(abi.encodeWithSelector(IVaultErrors.InvalidRecipient.selector, ID, bad[i]));
            _payNative(ID, bad[i], 1);
        }
    }

    function test_RevertsOnAnAmountOrAnIdOfZero() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.AmountIsZero.selector, ID));
        _payNative(ID, ALICE, 0);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RequestIdIsZero.selector));
        _payNative(bytes32(0), ALICE, 1);
    }

    function test_TheSizeHasBounds() public {
        uint256 max = vault.MAX_BATCH();
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.BatchSizeInvalid.selector, 0, max));
        _payNative(_batch(0));
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.BatchSizeInvalid.selector, max + 1, max));
        _payNative(_batch(max + 1));
    }

    function test_RevertsUnlessTheCoinIsPayable() public {
        _setToken(COIN, false, 0, 0);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.TokenNotPayable.selector, COIN));
        _payNative(ID, ALICE, 1);
        _useVault(address(0));
        VM.deal(address(vault), COINS);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.TokenNotPayable.selector, COIN));
        _payNative(ID, ALICE, 1);
    }

    function test_RevertsAboveTheLimitOfAPayout() public {
        _setToken(COIN, true, 2 ether, 0);
        _payNative(ID, ALICE, 2 ether);
        VM.expectRevert(
            abi.encodeWithSelector(IVaultErrors.PayoutLimitExceeded.selector, OTHER_ID, COIN, 2 ether + 1, 2 ether)
        );
        _payNative(OTHER_ID, ALICE, 2 ether + 1);
    }

    function test_RevertsAboveTheLimitOfADay() public {
        _setToken(COIN, true, 0, 5 ether);
        _payNative(ID, ALICE, 4 ether);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.DayLimitExceeded.selector, COIN, 2 ether, 4 ether, 5 ether));
        _payNative(OTHER_ID, ALICE, 2 ether);
        assertEq(vault.remainingToday(COIN), 1 ether, "remaining");
        VM.warp(NEXT_DAY);
        _payNative(OTHER_ID, ALICE, 2 ether);
    }

    /// @dev The coin's limits are its own.
    function test_TokensAndTheCoinDoNotCountTogether() public {
        _setToken(COIN, true, 10, 10);
        _setToken(address(usd), true, 20, 20);
        _payNative(ID, ALICE, 10);
        _payout(OTHER_ID, ALICE, 20);
        assertEq(vault.spentToday(COIN), 10, "coins spent");
        assertEq(vault.spentToday(address(usd)), 20, "dollars spent");
    }

    function test_RevertsWhenTheVaultIsShort() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.VaultBalanceTooLow.selector, COIN, COINS, COINS + 1));
        _payNative(ID, ALICE, COINS + 1);
        VM.deal(address(vault), COINS + 1);
        _payNative(ID, ALICE, COINS + 1);
        assertEq(ALICE.balance, COINS + 1, "received");
    }

    function test_RevertsWhenTheVaultIsShortOfTheSum() public {
        ISettlementVault.Payout[] memory payouts = _batch(2);
        (payouts[0].amount, payouts[1].amount) = (COINS, 1);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.VaultBalanceTooLow.selector, COIN, COINS, COINS + 1));
        _payNative(payouts);
    }

    /// @dev The functions of tokens do not pay the coin, though it has rules like a token.
    function test_TheFunctionsOfTokensDoNotPayTheCoin() public {
        VM.startPrank(OPERATOR);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.BalanceUnknown.selector, COIN));
        vault.payout(ID, COIN, ALICE, 1);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.BalanceUnknown.selector, COIN));
        vault.payoutBatch(COIN, _batch(2));
        VM.stopPrank();
        assertEq(ALICE.balance, 0, "received");
        _assertState(ID, ISettlementVault.RequestState.Unknown);
    }

    function test_NoFunctionOfAPayoutTakesCoins() public {
        VM.deal(OPERATOR, 1);
        bytes memory data = abi.encodeCall(ISettlementVault.payoutCoinBatch, (_one(ID, ALICE, 1)));
        VM.prank(OPERATOR);
        (bool done,) = address(vault).call{value: 1}(data);
        assertTrue(!done, "refused");
    }

    function testFuzz_MovesExactlyTheAmount(bytes32 requestId, uint256 recipient, uint256 amount) public {
        VM.assume(requestId != bytes32(0));
        address to = VM.addr(between(recipient, 1, type(uint128).max));
        amount = between(amount, 1, COINS);
        ISettlementVault.Payout[] memory payouts = _one(requestId, to, amount);
        _payNative(payouts);
        _assertCoinsPaid(payouts);
    }

    function testFuzz_ABatchDoesWhatItsItemsWouldDo(uint256 size, uint256 seed) public {
        ISettlementVault.Payout[] memory payouts = _batch(between(size, 1, 20));
        for (uint256 i = 0; i < payouts.length; ++i) {
            payouts[i].amount = between(uint256(keccak256(abi.encode(seed, i))), 1, COINS / 20);
        }
        _payNative(payouts);
        _assertCoinsPaid(payouts);
    }

    function testFuzz_TheDaysSumStaysWithinItsLimit(uint256 limit, uint256[8] memory amounts, uint16[8] memory waits)
        public
    {
        limit = between(limit, 1, 1e12);
        _setToken(COIN, true, 0, limit);
        (uint256 sum, uint256 day) = (0, block.timestamp / 1 days);
        for (uint256 i = 0; i < amounts.length; ++i) {
            VM.warp(block.timestamp + waits[i]);
            if (block.timestamp / 1 days != day) (day, sum) = (block.timestamp / 1 days, 0);
            uint256 amount = between(amounts[i], 1, 2e11);
            if (sum + amount > limit) {
                VM.expectRevert(
                    abi.encodeWithSelector(IVaultErrors.DayLimitExceeded.selector, COIN, amount, sum, limit)
                );
            } else {
                sum += amount;
            }
            _payNative(bytes32(i + 1), ALICE, amount);
            assertEq(vault.spentToday(COIN), sum, "spent");
        }
    }
}
