// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISettlementVault} from "../../../src/vault/ISettlementVault.sol";
import {BatchBase} from "./BatchBase.sol";

/// @notice A vault that holds the chain's own coin and may pay it, with or without approvals.
abstract contract NativeBase is BatchBase {
    address internal constant COIN = address(0);
    uint256 internal constant COINS = 1000 ether;

    function setUp() public virtual override {
        super.setUp();
        _useVaultWithCoins(address(0));
    }

    function _useVaultWithCoins(address riskSigner) internal {
        _useVault(riskSigner);
        VM.deal(address(vault), COINS);
        _setToken(COIN, true, 0, 0);
    }

    function _one(bytes32 requestId, address to, uint256 amount)
        internal
        pure
        returns (ISettlementVault.Payout[] memory payouts)
    {
        payouts = new ISettlementVault.Payout[](1);
        payouts[0] = ISettlementVault.Payout(requestId, to, amount);
    }

    function _payNative(ISettlementVault.Payout[] memory payouts) internal {
        VM.prank(OPERATOR);
        vault.payoutCoinBatch(payouts);
    }

    function _payNative(bytes32 requestId, address to, uint256 amount) internal {
        _payNative(_one(requestId, to, amount));
    }

    function _payNativeApproved(ISettlementVault.Payout[] memory payouts, ISettlementVault.Approval[] memory approvals)
        internal
    {
        VM.prank(OPERATOR);
        vault.payoutCoinBatchWithApprovals(payouts, approvals);
    }

    function _assertCoinsPaid(ISettlementVault.Payout[] memory payouts) internal view {
        for (uint256 i = 0; i < payouts.length; ++i) {
            assertEq(payouts[i].to.balance, payouts[i].amount, "received");
            _assertState(payouts[i].requestId, ISettlementVault.RequestState.Paid);
        }
        assertEq(address(vault).balance, COINS - _sumOf(payouts), "left in the vault");
        assertEq(vault.spentToday(COIN), _sumOf(payouts), "spent today");
    }
}
