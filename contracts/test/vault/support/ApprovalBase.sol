// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISettlementVault} from "../../../src/vault/ISettlementVault.sol";
import {VaultBase} from "./VaultBase.sol";

/// @notice A vault whose payouts need approvals, and a key to sign them. What is signed is put together here from the
/// type strings, not asked of the vault, so that the tests hold the vault to them.
abstract contract ApprovalBase is VaultBase {
    uint256 internal constant SIGNER_KEY = 0x5157;
    uint256 internal constant OTHER_KEY = 0x7E5;
    uint256 internal constant DEADLINE = START + 1 hours;

    string internal constant DOMAIN_TYPE =
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";
    string internal constant APPROVAL_TYPE =
        "PayoutApproval(bytes32 requestId,address token,address to,uint256 amount,uint256 deadline,uint256 nonce)";

    address internal signer;

    function setUp() public virtual override {
        super.setUp();
        signer = VM.addr(SIGNER_KEY);
        _useVault(signer);
    }

    function _digest(bytes32 requestId, address token, address to, uint256 amount, uint256 deadline, uint256 nonce)
        internal
        view
        returns (bytes32)
    {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256(bytes(DOMAIN_TYPE)),
                keccak256("SettlementVault"),
                keccak256("1"),
                block.chainid,
                address(vault)
            )
        );
        bytes32 content =
            keccak256(abi.encode(keccak256(bytes(APPROVAL_TYPE)), requestId, token, to, amount, deadline, nonce));
        return keccak256(abi.encodePacked(hex"1901", domain, content));
    }

    function _signature(uint256 key, bytes32 digest) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = VM.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }

    /// @dev Signs dollars with this key, for the nonce and deadline of now.
    function _approvalOf(uint256 key, bytes32 requestId, address to, uint256 amount)
        internal
        view
        returns (ISettlementVault.Approval memory)
    {
        uint256 nonce = vault.approvalNonce();
        bytes32 digest = _digest(requestId, address(usd), to, amount, DEADLINE, nonce);
        return ISettlementVault.Approval({nonce: nonce, deadline: DEADLINE, signature: _signature(key, digest)});
    }

    function _approval(bytes32 requestId, address to, uint256 amount)
        internal
        view
        returns (ISettlementVault.Approval memory)
    {
        return _approvalOf(SIGNER_KEY, requestId, to, amount);
    }

    function _payoutApproved(bytes32 requestId, address to, uint256 amount, ISettlementVault.Approval memory approval)
        internal
    {
        VM.prank(OPERATOR);
        vault.payoutWithApproval(requestId, address(usd), to, amount, approval);
    }

    /// @dev Puts another signer in force, through the timelock.
    function _rotateTo(address newSigner) internal {
        VM.prank(ADMIN);
        vault.scheduleRiskSigner(newSigner);
        VM.warp(block.timestamp + DELAY);
        VM.prank(ADMIN);
        vault.applyRiskSigner();
    }
}
