// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {DemoToken} from "../../src/demo/DemoToken.sol";
import {ISettlementVault} from "../../src/vault/ISettlementVault.sol";
import {VaultBase} from "./support/VaultBase.sol";
import {VaultHandler} from "./support/VaultHandler.sol";

/// @notice What holds whatever is done to a vault, with and without approvals. All of it is looked at in one campaign: a
/// campaign for each would, with the same seed, do the same things again.
abstract contract InvariantBase is VaultBase {
    VaultHandler internal handler;

    function _useHandler(address riskSigner) internal {
        vault = _deploy(ADMIN, OPERATOR, GUARDIAN, TREASURY, riskSigner, DELAY);
        DemoToken[2] memory tokens = [new DemoToken("A", "A", 6), new DemoToken("B", "B", 18)];
        handler = new VaultHandler(vault, ADMIN, OPERATOR, GUARDIAN, tokens);
        for (uint256 i = 0; i < handler.ASSETS(); ++i) {
            _setToken(handler.assets(i), true, 0, 5000);
        }
    }

    /// @dev Read by forge: only the handler is called.
    function targetContracts() external view returns (address[] memory list) {
        list = new address[](1);
        list[0] = address(handler);
    }

    function invariant_TheBooksAreInOrder() public view {
        _eachRequestIsSettledAtMostOnce();
        _theDaysSumIsWithinItsLimit();
        _whatLeftIsWhatTheEventsSay();
        _nothingWasPaidWhilePaused();
    }

    function _eachRequestIsSettledAtMostOnce() private view {
        for (uint256 i = 0; i < handler.IDS(); ++i) {
            bytes32 id = handler.idOf(i);
            (uint256 paid, uint256 cancelled) = (handler.paid(id), handler.cancelled(id));
            assertTrue(paid + cancelled <= 1, "paid or cancelled, once");
            ISettlementVault.RequestState state = vault.requestState(id).state;
            assertTrue((state == ISettlementVault.RequestState.Paid) == (paid == 1), "paid is paid");
            assertTrue((state == ISettlementVault.RequestState.Cancelled) == (cancelled == 1), "cancelled is cancelled");
        }
    }

    function _theDaysSumIsWithinItsLimit() private view {
        assertEq(handler.overDayLimit(), 0, "payouts over the day's limit");
        for (uint256 i = 0; i < handler.ASSETS(); ++i) {
            address token = handler.assets(i);
            assertEq(vault.spentToday(token), handler.paidOnDay(token, block.timestamp / 1 days), "spent today");
        }
    }

    function _whatLeftIsWhatTheEventsSay() private view {
        for (uint256 i = 0; i < handler.ASSETS(); ++i) {
            address asset = handler.assets(i);
            uint256 left = handler.deposited(asset) - handler.balanceOf(asset, address(vault));
            assertEq(left, handler.paidOut(asset) + handler.withdrawn(asset), "left the vault");
            assertEq(handler.balanceOf(asset, TREASURY), handler.withdrawn(asset), "reached the treasury");
        }
    }

    function _nothingWasPaidWhilePaused() private view {
        assertEq(handler.paidWhilePaused(), 0, "payouts while paused");
    }

    /// @dev The books would be in order also if nothing were ever done with the coin.
    function test_TheCoinIsPaidAndWithdrawn() public {
        handler.pay(1, 2, 0, 5, false);
        handler.payBatch(2, 7, 2, 0, 5);
        assertTrue(handler.paidOut(address(0)) > 0, "paid");
        handler.togglePause(0);
        handler.withdraw(2, 5, DELAY);
        assertTrue(handler.withdrawn(address(0)) > 0, "withdrawn");
        invariant_TheBooksAreInOrder();
    }

    /// @dev Called by forge after each run: a long one in which nothing was paid would prove nothing.
    function afterInvariant() public view {
        assertTrue(handler.tries() < 20 || handler.payouts() > 0, "something was paid");
    }
}

contract InvariantTest is InvariantBase {
    function setUp() public override {
        super.setUp();
        _useHandler(address(0));
    }
}

contract ApprovalInvariantTest is InvariantBase {
    function setUp() public override {
        super.setUp();
        _useHandler(VM.addr(0x5157));
    }
}
