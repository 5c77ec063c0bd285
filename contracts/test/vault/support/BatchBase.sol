// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISettlementVault} from "../../../src/vault/ISettlementVault.sol";
import {ApprovalBase} from "./ApprovalBase.sol";

/// @notice Batches of payouts in dollars, to recipients that hold none.
abstract contract BatchBase is ApprovalBase {
    function _batch(uint256 size) internal pure returns (ISettlementVault.Payout[] memory payouts) {
        payouts = new ISettlementVault.Payout[](size);
        for (uint256 i = 0; i < size; ++i) {
            payouts[i] = ISettlementVault.Payout({
                requestId: keccak256(abi.encode("batch", i)),
                to: address(uint160(uint256(keccak256(abi.encode("recipient", i))))),
                amount: 100 + i
            });
        }
    }

    function _payBatch(ISettlementVault.Payout[] memory payouts) internal {
        VM.prank(OPERATOR);
        vault.payoutBatch(address(usd), payouts);
    }

    function _approvalsOf(ISettlementVault.Payout[] memory payouts)
        internal
        view
        returns (ISettlementVault.Approval[] memory approvals)
    {
        approvals = new ISettlementVault.Approval[](payouts.length);
        for (uint256 i = 0; i < payouts.length; ++i) {
            approvals[i] = _approval(payouts[i].requestId, payouts[i].to, payouts[i].amount);
        }
    }

    /// @dev Approvals of a batch in any token, or in the chain's coin.
    function _approvalsIn(address token, ISettlementVault.Payout[] memory payouts)
        internal
        view
        returns (ISettlementVault.Approval[] memory approvals)
    {
        approvals = new ISettlementVault.Approval[](payouts.length);
        uint256 nonce = vault.approvalNonce();
        for (uint256 i = 0; i < payouts.length; ++i) {
            ISettlementVault.Payout memory item = payouts[i];
            bytes32 digest = _digest(item.requestId, token, item.to, item.amount, DEADLINE, nonce);
            approvals[i] = ISettlementVault.Approval(nonce, DEADLINE, _signature(SIGNER_KEY, digest));
        }
    }

    function _payApprovedBatch(ISettlementVault.Payout[] memory payouts, ISettlementVault.Approval[] memory approvals)
        internal
    {
        VM.prank(OPERATOR);
        vault.payoutBatchWithApprovals(address(usd), payouts, approvals);
    }

    function _sumOf(ISettlementVault.Payout[] memory payouts) internal pure returns (uint256 sum) {
        for (uint256 i = 0; i < payouts.length; ++i) {
            sum += payouts[i].amount;
        }
    }

    function _assertAllPaid(ISettlementVault.Payout[] memory payouts) internal view {
        for (uint256 i = 0; i < payouts.length; ++i) {
            assertEq(usd.balanceOf(payouts[i].to), payouts[i].amount, "received");
            _assertState(payouts[i].requestId, ISettlementVault.RequestState.Paid);
        }
        assertEq(usd.balanceOf(address(vault)), FUNDS - _sumOf(payouts), "left in the vault");
    }
}
