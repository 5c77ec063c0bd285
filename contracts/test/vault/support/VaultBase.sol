// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IAccessControl} from "@openzeppelin/contracts/access/IAccessControl.sol";
import {DemoToken} from "../../../src/demo/DemoToken.sol";
import {ISettlementVault} from "../../../src/vault/ISettlementVault.sol";
import {TestBase} from "../../support/TestBase.sol";
import {IVault} from "./IVault.sol";

/// @notice A vault with two payable tokens, and the people around it. It needs no approvals unless a test says so.
abstract contract VaultBase is TestBase {
    address internal constant ADMIN = address(0xA11CE);
    address internal constant OPERATOR = address(0x0B0B);
    address internal constant GUARDIAN = address(0x6A4D);
    address internal constant TREASURY = address(0x7EA5);
    address internal constant STRANGER = address(0xBAD);
    address internal constant ALICE = address(0xA1);
    address internal constant BOB = address(0xB2);

    bytes32 internal constant ID = keccak256("first request");
    bytes32 internal constant OTHER_ID = keccak256("second request");

    uint256 internal constant FUNDS = 1_000_000e6;
    uint256 internal constant DELAY = 2 days;
    uint256 internal constant GRACE = 7 days;
    /// @dev Eight o'clock in the morning of a day in 2027.
    uint256 internal constant START = 1_800_000_000;
    uint256 internal constant NEXT_DAY = (START / 1 days + 1) * 1 days;

    IVault internal vault;
    DemoToken internal usd;
    DemoToken internal eur;
    bytes32 internal adminRole;
    bytes32 internal operatorRole;
    bytes32 internal guardianRole;

    function setUp() public virtual {
        VM.warp(START);
        VM.roll(1000);
        _useVault(address(0));
    }

    /// @dev Deploys the vault under test, with this risk signer or none, and funds it.
    function _useVault(address riskSigner) internal {
        vault = _deploy(ADMIN, OPERATOR, GUARDIAN, TREASURY, riskSigner, DELAY);
        (adminRole, operatorRole, guardianRole) = (vault.ADMIN_ROLE(), vault.OPERATOR_ROLE(), vault.GUARDIAN_ROLE());
        usd = _payableToken("Demo Dollar", "DUSD");
        eur = _payableToken("Demo Euro", "DEUR");
    }

    function _deploy(
        address admin,
        address operator,
        address guardian,
        address treasury,
        address riskSigner,
        uint256 delay
    ) internal returns (IVault) {
        bytes memory arguments = abi.encode(admin, operator, guardian, treasury, riskSigner, delay);
        return IVault(VM.deployCode("SettlementVault.sol:SettlementVault", arguments));
    }

    function _payableToken(string memory name, string memory symbol) private returns (DemoToken token) {
        token = new DemoToken(name, symbol, 6);
        token.mint(address(vault), FUNDS);
        _setToken(address(token), true, 0, 0);
    }

    function _setToken(address token, bool enabled, uint256 payoutLimit, uint256 dayLimit) internal {
        VM.prank(ADMIN);
        vault.setToken(token, enabled, payoutLimit, dayLimit);
    }

    function _payout(bytes32 requestId, address to, uint256 amount) internal {
        VM.prank(OPERATOR);
        vault.payout(requestId, address(usd), to, amount);
    }

    function _cancel(bytes32 requestId) internal {
        VM.prank(GUARDIAN);
        vault.cancelRequest(requestId, address(usd), ALICE, 100);
    }

    function _pause() internal {
        VM.prank(GUARDIAN);
        vault.pause();
    }

    function _unpause() internal {
        VM.prank(ADMIN);
        vault.unpause();
    }

    /// @dev A time to wait for a timelock: any, but mostly right before or after one end of its window.
    function _edgeOfWindow(uint256 seed) internal pure returns (uint256) {
        uint256[5] memory waits =
            [DELAY - 1, DELAY, DELAY + GRACE, DELAY + GRACE + 1, upTo(seed / 5, 2 * (DELAY + GRACE))];
        return waits[seed % 5];
    }

    function _expectEvent() internal {
        VM.expectEmit(true, true, true, true, address(vault));
    }

    function _expectNoRole(address caller, bytes32 role) internal {
        VM.expectRevert(abi.encodeWithSelector(IAccessControl.AccessControlUnauthorizedAccount.selector, caller, role));
    }

    function _state(bytes32 requestId) internal view returns (ISettlementVault.RequestState) {
        return vault.requestState(requestId).state;
    }

    function _assertState(bytes32 requestId, ISettlementVault.RequestState expected) internal view {
        assertEq(uint256(_state(requestId)), uint256(expected), "state of the request");
    }

    /// @dev Balances of the vault and of one recipient in dollars.
    function _assertPaid(address to, uint256 amount) internal view {
        assertEq(usd.balanceOf(to), amount, "received");
        assertEq(usd.balanceOf(address(vault)), FUNDS - amount, "left in the vault");
    }
}
