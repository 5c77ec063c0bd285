// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISettlementVault} from "../../src/vault/ISettlementVault.sol";
import {BatchBase} from "./support/BatchBase.sol";

/// @notice What payouts cost, as transactions of their own: with limits in force, three accounts on the denylist, a vault
/// that has paid before, and the recipient of a single payout already a holder of the token. Each row stands in
/// contracts/README.md, and the two that have an aim keep it.
/// forge-config: default.isolate = true
contract GasTest is BatchBase {
    uint256 private constant AIM_SINGLE = 75_000;
    uint256 private constant AIM_BATCHED = 54_000;
    uint256 private constant BATCH = 50;
    uint256 private constant AMOUNT = 1_234_567;
    address private constant HOLDER = address(0x1234567890123456789012345678901234567890);
    /// @dev Shares its bit of the deny filter with a denied account: eighty apart.
    address private constant LOOKED_UP = address(uint160(HOLDER) + 1);

    address private constant COIN = address(0);

    error ReadmeDiffers(string wantedRow);
    error AboveTheAim(uint256 gas, uint256 aim);

    function _useFor(address riskSigner) private {
        _useVault(riskSigner);
        _setToken(address(usd), true, 25_000e6, 100_000e6);
        VM.startPrank(GUARDIAN);
        vault.deny(address(uint160(LOOKED_UP) + 80));
        vault.deny(address(uint160(LOOKED_UP) + 160));
        vault.deny(address(uint160(LOOKED_UP) + 240));
        VM.stopPrank();
        usd.mint(HOLDER, 1);
        usd.mint(LOOKED_UP, 1);
        VM.deal(address(vault), 1000 ether);
        VM.deal(HOLDER, 1);
        _setToken(COIN, true, 25 ether, 100 ether);
    }

    function _payFirst() private {
        _useFor(address(0));
        _payout(keccak256("earlier"), HOLDER, AMOUNT);
    }

    function _payFirstApproved() private {
        _useFor(signer);
        _payoutApproved(keccak256("earlier"), HOLDER, AMOUNT, _approval(keccak256("earlier"), HOLDER, AMOUNT));
    }

    function _batchOf50() private pure returns (ISettlementVault.Payout[] memory payouts) {
        payouts = _batch(BATCH);
        for (uint256 i = 0; i < BATCH; ++i) {
            payouts[i].amount = AMOUNT + i;
        }
    }

    function _lastGas() private view returns (uint256) {
        return VM.lastCallGas().gasTotalUsed;
    }

    function test_APlainTransfer() public {
        _payFirst();
        VM.prank(HOLDER);
        assertTrue(usd.transfer(LOOKED_UP, AMOUNT - 1), "transferred");
        _assertRow("plain transfer of the token", _lastGas());
    }

    function test_APayout() public {
        _payFirst();
        _payout(ID, HOLDER, AMOUNT);
        _assertAim(_lastGas(), AIM_SINGLE);
        _assertRow("`payout`", _lastGas());
    }

    function test_APayoutWhoseRecipientIsLookedUp() public {
        _payFirst();
        _payout(ID, LOOKED_UP, AMOUNT);
        _assertRow("`payout`, recipient looked up in the denylist", _lastGas());
    }

    function test_APayoutByAnotherOperator() public {
        _payFirst();
        VM.prank(ADMIN);
        vault.grantRole(operatorRole, BOB);
        VM.prank(BOB);
        vault.payout(ID, address(usd), HOLDER, AMOUNT);
        _assertRow("`payout`, by another than the first operator", _lastGas());
    }

    function test_APayoutWithApproval() public {
        _payFirstApproved();
        ISettlementVault.Approval memory approval = _approval(ID, HOLDER, AMOUNT);
        _payoutApproved(ID, HOLDER, AMOUNT, approval);
        _assertRow("`payoutWithApproval`", _lastGas());
    }

    function test_ABatch() public {
        _payFirst();
        _payBatch(_batchOf50());
        _assertAim(_lastGas() / BATCH, AIM_BATCHED);
        _assertRow("`payoutBatch`, each of 50 to new recipients", _lastGas() / BATCH);
    }

    function test_ABatchWithApprovals() public {
        _payFirstApproved();
        ISettlementVault.Payout[] memory payouts = _batchOf50();
        ISettlementVault.Approval[] memory approvals = _approvalsOf(payouts);
        _payApprovedBatch(payouts, approvals);
        _assertRow("`payoutBatchWithApprovals`, each of 50 to new recipients", _lastGas() / BATCH);
    }

    function _payNative(ISettlementVault.Payout[] memory payouts) private {
        VM.prank(OPERATOR);
        vault.payoutCoinBatch(payouts);
    }

    function _payNativeApproved(ISettlementVault.Payout[] memory payouts) private {
        ISettlementVault.Approval[] memory approvals = _approvalsIn(COIN, payouts);
        VM.prank(OPERATOR);
        vault.payoutCoinBatchWithApprovals(payouts, approvals);
    }

    function _one(bytes32 requestId) private pure returns (ISettlementVault.Payout[] memory payouts) {
        payouts = new ISettlementVault.Payout[](1);
        payouts[0] = ISettlementVault.Payout(requestId, HOLDER, AMOUNT);
    }

    function test_APayoutOfTheCoin() public {
        _useFor(address(0));
        _payNative(_one(keccak256("earlier")));
        _payNative(_one(ID));
        _assertRow("`payoutCoinBatch`, one", _lastGas());
    }

    function test_APayoutOfTheCoinWithApproval() public {
        _useFor(signer);
        _payNativeApproved(_one(keccak256("earlier")));
        _payNativeApproved(_one(ID));
        _assertRow("`payoutCoinBatchWithApprovals`, one", _lastGas());
    }

    function test_ABatchOfTheCoin() public {
        _useFor(address(0));
        _payNative(_one(keccak256("earlier")));
        _payNative(_batchOf50());
        _assertRow("`payoutCoinBatch`, each of 50 to new recipients", _lastGas() / BATCH);
    }

    function test_ABatchOfTheCoinWithApprovals() public {
        _useFor(signer);
        _payNativeApproved(_one(keccak256("earlier")));
        _payNativeApproved(_batchOf50());
        _assertRow("`payoutCoinBatchWithApprovals`, each of 50 to new recipients", _lastGas() / BATCH);
    }

    function test_ACancellation() public {
        _payFirst();
        _cancel(ID);
        _assertRow("`cancelRequest`", _lastGas());
    }

    function _assertAim(uint256 gas, uint256 aim) private pure {
        if (gas > aim) revert AboveTheAim(gas, aim);
    }

    function _assertRow(string memory what, uint256 gas) private view {
        string memory row = string.concat("| ", what, " | ", _thousands(gas), " |");
        if (!VM.contains(VM.readFile("contracts/README.md"), row)) revert ReadmeDiffers(row);
    }

    /// @dev A number up to 999,999 with a comma.
    function _thousands(uint256 number) private pure returns (string memory) {
        string memory rest = VM.toString(1000 + number % 1000);
        bytes memory digits = bytes(rest);
        digits[0] = ",";
        return string.concat(VM.toString(number / 1000), string(digits));
    }
}
