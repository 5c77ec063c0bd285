// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ISettlementVault} from "../../src/vault/ISettlementVault.sol";
import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {
    BlindToken,
    BonusToken,
    LyingToken,
    MintableToken,
    RecipientFeeToken,
    RefusingToken,
    SenderFeeToken,
    SilentToken
} from "./support/OddTokens.sol";
import {VaultBase} from "./support/VaultBase.sol";

/// @notice Tokens that do not behave, in single payouts and in batches.
contract OddTokenTest is VaultBase {
    function _enable(address token) private {
        MintableToken(token).mint(address(vault), 10_000);
        _setToken(token, true, 0, 0);
    }

    function _pay(address token) private {
        VM.prank(OPERATOR);
        vault.payout(ID, token, ALICE, 1000);
    }

    function _payBatch(address token) private {
        ISettlementVault.Payout[] memory payouts = new ISettlementVault.Payout[](2);
        payouts[0] = ISettlementVault.Payout(ID, ALICE, 1000);
        payouts[1] = ISettlementVault.Payout(OTHER_ID, BOB, 500);
        VM.prank(OPERATOR);
        vault.payoutBatch(token, payouts);
    }

    function _expectNotExact(address token, address account, uint256 expected, uint256 actual) private {
        VM.expectRevert(
            abi.encodeWithSelector(IVaultErrors.TransferNotExact.selector, token, account, expected, actual)
        );
    }

    function test_ATokenThatReturnsNothingIsPaid() public {
        SilentToken token = new SilentToken();
        _enable(address(token));
        _pay(address(token));
        assertEq(token.balanceOf(ALICE), 1000, "received");
    }

    function test_ATokenThatReturnsNothingIsPaidInABatch() public {
        SilentToken token = new SilentToken();
        _enable(address(token));
        _payBatch(address(token));
        assertEq(token.balanceOf(BOB), 500, "received");
    }

    function test_RevertsWhenTheTokenReturnsFalse() public {
        address token = address(new RefusingToken());
        _enable(token);
        VM.expectRevert(abi.encodeWithSelector(SafeERC20.SafeERC20FailedOperation.selector, token));
        _pay(token);
        VM.expectRevert(abi.encodeWithSelector(SafeERC20.SafeERC20FailedOperation.selector, token));
        _payBatch(token);
        _assertState(ID, ISettlementVault.RequestState.Unknown);
    }

    function test_RevertsWhenTheRecipientPaysAFee() public {
        address token = address(new RecipientFeeToken());
        _enable(token);
        _expectNotExact(token, ALICE, 1000, 990);
        _pay(token);
        _expectNotExact(token, ALICE, 1000, 990);
        _payBatch(token);
    }

    function test_RevertsWhenTheVaultPaysAFee() public {
        address token = address(new SenderFeeToken());
        _enable(token);
        _expectNotExact(token, address(vault), 9000, 8990);
        _pay(token);
        _expectNotExact(token, address(vault), 8500, 8485);
        _payBatch(token);
    }

    function test_RevertsWhenTheRecipientGetsMore() public {
        address token = address(new BonusToken());
        _enable(token);
        _expectNotExact(token, ALICE, 1000, 1001);
        _pay(token);
    }

    function test_RevertsWhenTheTokenOnlySaysYes() public {
        address token = address(new LyingToken());
        _enable(token);
        _expectNotExact(token, ALICE, 1000, 0);
        _pay(token);
        _expectNotExact(token, ALICE, 1000, 0);
        _payBatch(token);
    }

    function test_RevertsWhenTheTokenTellsNoBalances() public {
        address token = address(new BlindToken());
        _setToken(token, true, 0, 0);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.BalanceUnknown.selector, token));
        _pay(token);
    }

    function test_RevertsWhenTheTokenIsGone() public {
        VM.etch(address(usd), "");
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.BalanceUnknown.selector, address(usd)));
        _pay(address(usd));
    }

    function test_AFailedPayoutLeavesTheGuardOpen() public {
        address token = address(new RefusingToken());
        _enable(token);
        VM.expectRevert();
        _pay(token);
        _payout(ID, ALICE, 1);
    }
}
