// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {DemoToken} from "../../../src/demo/DemoToken.sol";
import {ISettlementVault} from "../../../src/vault/ISettlementVault.sol";
import {CallingReceiver, CountingReceiver, GasBurner, ReturningReceiver} from "./CoinReceivers.sol";
import {EventLedger} from "./EventLedger.sol";
import {IVault} from "./IVault.sol";

/// @notice What the fuzzer may do, with two tokens and the chain's own coin. Every payout is foretold from the vault's own
/// reads and from what is known of recipients, as a worker foretells it: it must go through exactly when they say so.
contract VaultHandler is EventLedger {
    uint256 public constant IDS = 24;
    uint256 public constant ASSETS = 3;
    address private constant COIN = address(0);
    uint256 private constant MAX_AMOUNT = 1000;
    uint256 private constant KEY = 0x5157;

    address private immutable ADMIN;
    address private immutable OPERATOR;
    address private immutable GUARDIAN;
    address[ASSETS] public assets;
    mapping(address asset => uint256 amount) public deposited;
    uint256 public tries;
    address[9] private people;
    mapping(address account => bool) private refusesCoins;

    error ForetoldWrongly(bool foretold, bool happened, bytes answer);

    constructor(IVault vault, address admin, address operator, address guardian, DemoToken[2] memory tokens)
        EventLedger(vault)
    {
        (ADMIN, OPERATOR, GUARDIAN) = (admin, operator, guardian);
        assets = [address(tokens[0]), address(tokens[1]), COIN];
        (address burner, address returning) = (address(new GasBurner(false)), address(new ReturningReceiver(1)));
        (refusesCoins[burner], refusesCoins[returning]) = (true, true);
        people = [
            address(0xA1),
            address(0xB2),
            address(0xC3),
            address(0xD4),
            address(0xE5),
            burner,
            returning,
            address(new CountingReceiver()),
            address(_reentrant())
        ];
        for (uint256 i = 0; i < ASSETS; ++i) {
            deposit(i, type(uint256).max);
        }
    }

    /// @dev A recipient that tries to have itself paid once more.
    function _reentrant() private returns (CallingReceiver receiver) {
        receiver = new CallingReceiver();
        ISettlementVault.Payout[] memory more = new ISettlementVault.Payout[](1);
        more[0] = ISettlementVault.Payout(keccak256("once more"), address(receiver), 1);
        receiver.onReceive(address(VAULT), abi.encodeCall(ISettlementVault.payoutCoinBatch, (more)));
    }

    function idOf(uint256 seed) public pure returns (bytes32) {
        return keccak256(abi.encode("request", seed % IDS));
    }

    /// @dev What somebody has of a token or of the coin.
    function balanceOf(address asset, address account) public view returns (uint256) {
        return asset == COIN ? account.balance : DemoToken(asset).balanceOf(account);
    }

    function deposit(uint256 asset, uint256 amount) public {
        address chosen = assets[asset % ASSETS];
        amount = upTo(amount, 10 * MAX_AMOUNT);
        deposited[chosen] += amount;
        if (chosen != COIN) return DemoToken(chosen).mint(address(VAULT), amount);
        VM.deal(address(this), amount);
        (bool taken,) = address(VAULT).call{value: amount}("");
        assertTrue(taken, "the vault takes coins");
    }

    function pay(uint256 id, uint256 asset, uint256 to, uint256 amount, bool stale) external {
        ISettlementVault.Payout[] memory items = new ISettlementVault.Payout[](1);
        items[0] = _item(id, to, amount);
        _pay(assets[asset % ASSETS], items, stale, true);
    }

    function payBatch(uint256 size, uint256 id, uint256 asset, uint256 to, uint256 amount) external {
        ISettlementVault.Payout[] memory items = new ISettlementVault.Payout[](1 + size % 4);
        for (uint256 i = 0; i < items.length; ++i) {
            uint256 seed = uint256(keccak256(abi.encode(id, to, amount, i)));
            items[i] = _item(seed, seed >> 32, seed >> 64);
        }
        _pay(assets[asset % ASSETS], items, false, false);
    }

    function cancel(uint256 id) external {
        bool unknown = VAULT.requestState(idOf(id)).state == ISettlementVault.RequestState.Unknown;
        bytes memory data = abi.encodeCall(ISettlementVault.cancelRequest, (idOf(id), address(0), address(0), 0));
        _call(GUARDIAN, data, unknown);
    }

    function setRules(uint256 asset, uint256 payoutLimit, uint256 dayLimit, uint256 enabled) external {
        VM.prank(ADMIN);
        VAULT.setToken(
            assets[asset % ASSETS], enabled % 8 != 0, upTo(payoutLimit, MAX_AMOUNT), upTo(dayLimit, 5 * MAX_AMOUNT)
        );
    }

    function togglePause(uint256 likelihood) external {
        if (VAULT.paused()) {
            VM.prank(ADMIN);
            VAULT.unpause();
        } else if (likelihood % 3 == 0) {
            VM.prank(GUARDIAN);
            VAULT.pause();
        }
    }

    function toggleDenied(uint256 who) external {
        address account = people[who % people.length];
        bool denied = VAULT.isDenied(account);
        VM.prank(ADMIN);
        denied ? VAULT.allow(account) : VAULT.deny(account);
    }

    function raiseNonce() external {
        VM.prank(GUARDIAN);
        VAULT.raiseApprovalNonce();
    }

    function wait(uint256 time) external {
        VM.warp(block.timestamp + upTo(time, 12 hours));
    }

    /// @dev Also tries to get ahead of the timelock, and past the pause.
    function withdraw(uint256 asset, uint256 amount, uint256 time) external {
        address chosen = assets[asset % ASSETS];
        amount = between(amount, 1, MAX_AMOUNT);
        time = upTo(time, 2 * VAULT.DELAY());
        bool paused = VAULT.paused();
        _call(ADMIN, abi.encodeCall(ISettlementVault.scheduleEmergencyWithdrawal, (chosen, amount)), paused);
        VM.warp(block.timestamp + time);
        bool ready = paused && time >= VAULT.DELAY() && balanceOf(chosen, address(VAULT)) >= amount;
        _call(ADMIN, abi.encodeCall(ISettlementVault.executeEmergencyWithdrawal, (chosen)), ready);
    }

    /// @dev Nothing that is or was payable can be swept, and the coin never.
    function sweep(uint256 asset, uint256 amount) external {
        address chosen = assets[asset % ASSETS];
        amount = between(amount, 1, MAX_AMOUNT);
        _call(ADMIN, abi.encodeCall(ISettlementVault.sweep, (chosen, ADMIN, amount)), false);
    }

    function _item(uint256 id, uint256 to, uint256 amount) private view returns (ISettlementVault.Payout memory) {
        return ISettlementVault.Payout(idOf(id), people[to % people.length], between(amount, 1, MAX_AMOUNT));
    }

    function _pay(address asset, ISettlementVault.Payout[] memory items, bool stale, bool single) private {
        ++tries;
        bool foretold = _foretold(asset, items);
        if (!VAULT.approvalRequired()) return _call(OPERATOR, _plain(asset, items, single), foretold);
        if (single) _call(OPERATOR, _plain(asset, items, true), false);
        uint256 nonce = VAULT.approvalNonce() - (stale ? 1 : 0);
        ISettlementVault.Approval[] memory approvals = new ISettlementVault.Approval[](items.length);
        for (uint256 i = 0; i < items.length; ++i) {
            approvals[i] = _sign(asset, items[i], nonce);
        }
        _call(OPERATOR, _approved(asset, items, approvals, single), !stale && foretold);
    }

    function _plain(address asset, ISettlementVault.Payout[] memory items, bool single)
        private
        pure
        returns (bytes memory)
    {
        ISettlementVault.Payout memory item = items[0];
        if (asset == COIN) return abi.encodeCall(ISettlementVault.payoutCoinBatch, (items));
        if (!single) return abi.encodeCall(ISettlementVault.payoutBatch, (asset, items));
        return abi.encodeCall(ISettlementVault.payout, (item.requestId, asset, item.to, item.amount));
    }

    function _approved(
        address asset,
        ISettlementVault.Payout[] memory items,
        ISettlementVault.Approval[] memory approvals,
        bool single
    ) private pure returns (bytes memory) {
        ISettlementVault.Payout memory item = items[0];
        if (asset == COIN) return abi.encodeCall(ISettlementVault.payoutCoinBatchWithApprovals, (items, approvals));
        if (!single) return abi.encodeCall(ISettlementVault.payoutBatchWithApprovals, (asset, items, approvals));
        return abi.encodeCall(
            ISettlementVault.payoutWithApproval, (item.requestId, asset, item.to, item.amount, approvals[0])
        );
    }

    function _sign(address asset, ISettlementVault.Payout memory item, uint256 nonce)
        private
        view
        returns (ISettlementVault.Approval memory)
    {
        uint256 deadline = block.timestamp;
        (uint8 v, bytes32 r, bytes32 s) =
            VM.sign(KEY, VAULT.approvalDigest(item.requestId, asset, item.to, item.amount, deadline, nonce));
        return ISettlementVault.Approval(nonce, deadline, abi.encodePacked(r, s, v));
    }

    function _foretold(address asset, ISettlementVault.Payout[] memory items) private view returns (bool) {
        ISettlementVault.TokenPolicy memory policy = VAULT.tokenPolicy(asset);
        if (VAULT.paused() || !policy.enabled) return false;
        uint256 sum = 0;
        for (uint256 i = 0; i < items.length; ++i) {
            if (VAULT.requestState(items[i].requestId).state != ISettlementVault.RequestState.Unknown) return false;
            if (VAULT.isDenied(items[i].to)) return false;
            if (asset == COIN && refusesCoins[items[i].to]) return false;
            if (policy.payoutLimit != 0 && items[i].amount > policy.payoutLimit) return false;
            for (uint256 j = 0; j < i; ++j) {
                if (items[j].requestId == items[i].requestId) return false;
            }
            sum += items[i].amount;
        }
        return sum <= VAULT.remainingToday(asset) && sum <= balanceOf(asset, address(VAULT));
    }

    function _call(address caller, bytes memory data, bool foretold) private {
        (bool happened, bytes memory answer) = _callBooked(caller, data);
        if (happened != foretold) revert ForetoldWrongly(foretold, happened, answer);
    }
}
