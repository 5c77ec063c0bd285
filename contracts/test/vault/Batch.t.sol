// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISettlementVault} from "../../src/vault/ISettlementVault.sol";
import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {IVaultEvents} from "../../src/vault/IVaultEvents.sol";
import {BatchBase} from "./support/BatchBase.sol";

contract BatchTest is BatchBase {
    function setUp() public override {
        super.setUp();
        _useVault(address(0));
    }

    function test_PaysEveryItemAndTellsSo() public {
        ISettlementVault.Payout[] memory payouts = _batch(3);
        for (uint256 i = 0; i < payouts.length; ++i) {
            _expectEvent();
            emit IVaultEvents.PayoutExecuted(payouts[i].requestId, address(usd), payouts[i].to, payouts[i].amount);
        }
        _payBatch(payouts);
        _assertAllPaid(payouts);
    }

    function test_PaysTheSameRecipientTwice() public {
        ISettlementVault.Payout[] memory payouts = _batch(2);
        payouts[1].to = payouts[0].to;
        _payBatch(payouts);
        assertEq(usd.balanceOf(payouts[0].to), payouts[0].amount + payouts[1].amount, "received");
    }

    function test_OneBadItemStopsAll() public {
        VM.prank(GUARDIAN);
        vault.deny(BOB);
        _setToken(address(usd), true, 1000, 0);
        ISettlementVault.Payout[] memory payouts = _batch(3);
        bytes32 last = payouts[2].requestId;

        payouts[2].to = BOB;
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RecipientDenied.selector, last, BOB));
        _payBatch(payouts);
        payouts[2].to = address(0);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.InvalidRecipient.selector, last, address(0)));
        _payBatch(payouts);
        (payouts[2].to, payouts[2].amount) = (ALICE, 1001);
        VM.expectRevert(
            abi.encodeWithSelector(IVaultErrors.PayoutLimitExceeded.selector, last, address(usd), 1001, 1000)
        );
        _payBatch(payouts);
        payouts[2].amount = 0;
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.AmountIsZero.selector, last));
        _payBatch(payouts);

        _assertPaid(payouts[0].to, 0);
        _assertState(payouts[0].requestId, ISettlementVault.RequestState.Unknown);
    }

    function test_ARequestIsPaidOnceAlsoWithinABatch() public {
        ISettlementVault.Payout[] memory payouts = _batch(3);
        payouts[2].requestId = payouts[0].requestId;
        VM.expectRevert(
            abi.encodeWithSelector(IVaultErrors.RequestAlreadyPaid.selector, payouts[0].requestId, START, 1000)
        );
        _payBatch(payouts);
    }

    function test_ARequestIsPaidOnceAcrossBatches() public {
        ISettlementVault.Payout[] memory payouts = _batch(2);
        _payout(payouts[1].requestId, ALICE, 1);
        VM.expectRevert(
            abi.encodeWithSelector(IVaultErrors.RequestAlreadyPaid.selector, payouts[1].requestId, START, 1000)
        );
        _payBatch(payouts);
    }

    function test_TheDaysLimitCountsTheSum() public {
        ISettlementVault.Payout[] memory payouts = _batch(3);
        uint256 sum = _sumOf(payouts);
        _setToken(address(usd), true, 0, sum + 4);
        _payout(ID, ALICE, 5);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.DayLimitExceeded.selector, address(usd), sum, 5, sum + 4));
        _payBatch(payouts);
        _setToken(address(usd), true, 0, sum + 5);
        _payBatch(payouts);
        assertEq(vault.spentToday(address(usd)), sum + 5, "spent");
    }

    function test_HugeAmountsDoNotWrapAround() public {
        ISettlementVault.Payout[] memory payouts = _batch(2);
        (payouts[0].amount, payouts[1].amount) = (type(uint256).max, 2);
        uint256 max = vault.MAX_AMOUNT();
        VM.expectRevert(
            abi.encodeWithSelector(
                IVaultErrors.PayoutLimitExceeded.selector, payouts[0].requestId, address(usd), type(uint256).max, max
            )
        );
        _payBatch(payouts);
        (payouts[0].amount, payouts[1].amount) = (max, max);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.DayLimitExceeded.selector, address(usd), 2 * max, 0, max));
        _payBatch(payouts);
    }

    function test_RevertsWhenTheVaultIsShortOfTheSum() public {
        ISettlementVault.Payout[] memory payouts = _batch(2);
        (payouts[0].amount, payouts[1].amount) = (FUNDS, 1);
        VM.expectRevert(
            abi.encodeWithSelector(IVaultErrors.VaultBalanceTooLow.selector, address(usd), FUNDS, FUNDS + 1)
        );
        _payBatch(payouts);
    }

    function test_TheSizeHasBounds() public {
        uint256 max = vault.MAX_BATCH();
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.BatchSizeInvalid.selector, 0, max));
        _payBatch(_batch(0));
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.BatchSizeInvalid.selector, max + 1, max));
        _payBatch(_batch(max + 1));
        ISettlementVault.Payout[] memory payouts = _batch(max);
        _payBatch(payouts);
        _assertAllPaid(payouts);
    }

    function test_RevertsWhilePausedForStrangersAndForOtherTokens() public {
        ISettlementVault.Payout[] memory payouts = _batch(1);
        _expectNoRole(STRANGER, operatorRole);
        VM.prank(STRANGER);
        vault.payoutBatch(address(usd), payouts);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.TokenNotPayable.selector, STRANGER));
        VM.prank(OPERATOR);
        vault.payoutBatch(STRANGER, payouts);
        _pause();
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.EnforcedPause.selector));
        _payBatch(payouts);
    }

    function test_RevertsWhenApprovalsAreRequired() public {
        _useVault(signer);
        ISettlementVault.Payout[] memory payouts = _batch(2);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalRequired.selector, payouts[0].requestId));
        _payBatch(payouts);
    }

    function testFuzz_ABatchDoesWhatItsItemsWouldDo(uint256 size, uint256 seed) public {
        ISettlementVault.Payout[] memory payouts = _batch(between(size, 1, 20));
        for (uint256 i = 0; i < payouts.length; ++i) {
            payouts[i].amount = between(uint256(keccak256(abi.encode(seed, i))), 1, FUNDS / 20);
        }
        _payBatch(payouts);
        _assertAllPaid(payouts);
        assertEq(vault.spentToday(address(usd)), _sumOf(payouts), "spent");
    }
}
