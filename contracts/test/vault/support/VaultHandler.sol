// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {DemoToken} from "../../../src/demo/DemoToken.sol";
import {ISettlementVault} from "../../../src/vault/ISettlementVault.sol";
import {EventLedger} from "./EventLedger.sol";
import {IVault} from "./IVault.sol";

/// @notice What the fuzzer may do. Every payout is foretold from the vault's own reads, as a worker foretells it: it must
/// go through exactly when they say so.
contract VaultHandler is EventLedger {
    uint256 public constant IDS = 24;
    uint256 private constant MAX_AMOUNT = 1000;
    uint256 private constant KEY = 0x5157;

    address private immutable ADMIN;
    address private immutable OPERATOR;
    address private immutable GUARDIAN;
    DemoToken[2] public tokens;
    mapping(DemoToken token => uint256 amount) public deposited;
    uint256 public tries;
    address[5] private people = [address(0xA1), address(0xB2), address(0xC3), address(0xD4), address(0xE5)];

    error ForetoldWrongly(bool foretold, bool happened, bytes answer);

    constructor(IVault vault, address admin, address operator, address guardian, DemoToken[2] memory tokens_)
        EventLedger(vault)
    {
        (ADMIN, OPERATOR, GUARDIAN, tokens) = (admin, operator, guardian, tokens_);
        deposit(0, type(uint256).max);
        deposit(1, type(uint256).max);
    }

    function idOf(uint256 seed) public pure returns (bytes32) {
        return keccak256(abi.encode("request", seed % IDS));
    }

    function deposit(uint256 token, uint256 amount) public {
        amount = upTo(amount, 10 * MAX_AMOUNT);
        tokens[token % 2].mint(address(VAULT), amount);
        deposited[tokens[token % 2]] += amount;
    }

    function pay(uint256 id, uint256 token, uint256 to, uint256 amount, bool stale) external {
        ISettlementVault.Payout[] memory items = new ISettlementVault.Payout[](1);
        items[0] = _item(id, to, amount);
        _paySingle(tokens[token % 2], items, stale);
    }

    function payBatch(uint256 size, uint256 id, uint256 token, uint256 to, uint256 amount) external {
        ISettlementVault.Payout[] memory items = new ISettlementVault.Payout[](1 + size % 4);
        for (uint256 i = 0; i < items.length; ++i) {
            uint256 seed = uint256(keccak256(abi.encode(id, to, amount, i)));
            items[i] = _item(seed, seed >> 32, seed >> 64);
        }
        _payMany(tokens[token % 2], items);
    }

    function cancel(uint256 id) external {
        bool unknown = VAULT.requestState(idOf(id)).state == ISettlementVault.RequestState.Unknown;
        bytes memory data = abi.encodeCall(ISettlementVault.cancelRequest, (idOf(id), address(0), address(0), 0));
        _call(GUARDIAN, data, unknown);
    }

    function setRules(uint256 token, uint256 payoutLimit, uint256 dayLimit, uint256 enabled) external {
        VM.prank(ADMIN);
        VAULT.setToken(
            address(tokens[token % 2]), enabled % 8 != 0, upTo(payoutLimit, MAX_AMOUNT), upTo(dayLimit, 5 * MAX_AMOUNT)
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
    function withdraw(uint256 token, uint256 amount, uint256 time) external {
        address asset = address(tokens[token % 2]);
        amount = between(amount, 1, MAX_AMOUNT);
        time = upTo(time, 2 * VAULT.DELAY());
        bool paused = VAULT.paused();
        _call(ADMIN, abi.encodeCall(ISettlementVault.scheduleEmergencyWithdrawal, (asset, amount)), paused);
        VM.warp(block.timestamp + time);
        bool ready = paused && time >= VAULT.DELAY() && tokens[token % 2].balanceOf(address(VAULT)) >= amount;
        _call(ADMIN, abi.encodeCall(ISettlementVault.executeEmergencyWithdrawal, (asset)), ready);
    }

    function _item(uint256 id, uint256 to, uint256 amount) private view returns (ISettlementVault.Payout memory) {
        return ISettlementVault.Payout(idOf(id), people[to % people.length], between(amount, 1, MAX_AMOUNT));
    }

    function _paySingle(DemoToken token, ISettlementVault.Payout[] memory items, bool stale) private {
        ++tries;
        ISettlementVault.Payout memory item = items[0];
        bytes memory plain =
            abi.encodeCall(ISettlementVault.payout, (item.requestId, address(token), item.to, item.amount));
        if (!VAULT.approvalRequired()) return _call(OPERATOR, plain, _foretold(token, items));
        _call(OPERATOR, plain, false);
        uint256 nonce = VAULT.approvalNonce() - (stale ? 1 : 0);
        bytes memory approved = abi.encodeCall(
            ISettlementVault.payoutWithApproval,
            (item.requestId, address(token), item.to, item.amount, _sign(token, item, nonce))
        );
        _call(OPERATOR, approved, !stale && _foretold(token, items));
    }

    function _payMany(DemoToken token, ISettlementVault.Payout[] memory items) private {
        ++tries;
        bytes memory plain = abi.encodeCall(ISettlementVault.payoutBatch, (address(token), items));
        if (!VAULT.approvalRequired()) return _call(OPERATOR, plain, _foretold(token, items));
        ISettlementVault.Approval[] memory approvals = new ISettlementVault.Approval[](items.length);
        for (uint256 i = 0; i < items.length; ++i) {
            approvals[i] = _sign(token, items[i], VAULT.approvalNonce());
        }
        bytes memory approved =
            abi.encodeCall(ISettlementVault.payoutBatchWithApprovals, (address(token), items, approvals));
        _call(OPERATOR, approved, _foretold(token, items));
    }

    function _sign(DemoToken token, ISettlementVault.Payout memory item, uint256 nonce)
        private
        view
        returns (ISettlementVault.Approval memory)
    {
        uint256 deadline = block.timestamp;
        (uint8 v, bytes32 r, bytes32 s) =
            VM.sign(KEY, VAULT.approvalDigest(item.requestId, address(token), item.to, item.amount, deadline, nonce));
        return ISettlementVault.Approval(nonce, deadline, abi.encodePacked(r, s, v));
    }

    function _foretold(DemoToken token, ISettlementVault.Payout[] memory items) private view returns (bool) {
        ISettlementVault.TokenPolicy memory policy = VAULT.tokenPolicy(address(token));
        if (VAULT.paused() || !policy.enabled) return false;
        uint256 sum = 0;
        for (uint256 i = 0; i < items.length; ++i) {
            if (VAULT.requestState(items[i].requestId).state != ISettlementVault.RequestState.Unknown) return false;
            if (VAULT.isDenied(items[i].to)) return false;
            if (policy.payoutLimit != 0 && items[i].amount > policy.payoutLimit) return false;
            for (uint256 j = 0; j < i; ++j) {
                if (items[j].requestId == items[i].requestId) return false;
            }
            sum += items[i].amount;
        }
        return sum <= VAULT.remainingToday(address(token)) && sum <= token.balanceOf(address(VAULT));
    }

    function _call(address caller, bytes memory data, bool foretold) private {
        (bool happened, bytes memory answer) = _callBooked(caller, data);
        if (happened != foretold) revert ForetoldWrongly(foretold, happened, answer);
    }
}
