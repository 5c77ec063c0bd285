// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {ISettlementVault} from "../../src/vault/ISettlementVault.sol";
import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {ApprovalBase} from "./support/ApprovalBase.sol";
import {FixedSigner, KeyedSigner} from "./support/ContractSigners.sol";

/// @notice Risk signers that are contracts (EIP-1271).
contract ContractSignerTest is ApprovalBase {
    KeyedSigner private wallet;

    function setUp() public override {
        super.setUp();
        wallet = new KeyedSigner(VM.addr(SIGNER_KEY));
        signer = address(wallet);
        _useVault(signer);
    }

    function _expectInvalid() private {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalInvalid.selector, ID, signer));
    }

    function test_WhatTheContractTakesIsAnApproval() public {
        _payoutApproved(ID, ALICE, 100, _approval(ID, ALICE, 100));
        _assertPaid(ALICE, 100);
    }

    function test_WhatTheContractRefusesIsNot() public {
        ISettlementVault.Approval memory approval = _approvalOf(OTHER_KEY, ID, ALICE, 100);
        _expectInvalid();
        _payoutApproved(ID, ALICE, 100, approval);
        approval = _approval(ID, ALICE, 100);
        _expectInvalid();
        _payoutApproved(ID, ALICE, 101, approval);
    }

    function test_TheContractMayChangeItsMind() public {
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 100);
        wallet.setKey(VM.addr(OTHER_KEY));
        _expectInvalid();
        _payoutApproved(ID, ALICE, 100, approval);
    }

    function test_TheNonceVoidsApprovalsOfContractsToo() public {
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 100);
        VM.prank(signer);
        vault.raiseApprovalNonce();
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalNonceMismatch.selector, ID, 1, 2));
        _payoutApproved(ID, ALICE, 100, approval);
    }

    function test_RevertsOnContractsThatAnswerWrongly() public {
        bytes4 good = IERC1271.isValidSignature.selector;
        bytes[4] memory answers =
            [bytes(""), abi.encodePacked(good), abi.encode(uint256(1)), abi.encode(uint256(uint32(good)))];
        for (uint256 i = 0; i < answers.length; ++i) {
            signer = address(new FixedSigner(answers[i]));
            _useVault(signer);
            ISettlementVault.Approval memory approval = _approval(ID, ALICE, 100);
            _expectInvalid();
            _payoutApproved(ID, ALICE, 100, approval);
        }
    }

    function test_TheAnswerAloneDecides() public {
        signer = address(new FixedSigner(abi.encode(IERC1271.isValidSignature.selector)));
        _useVault(signer);
        _payoutApproved(ID, ALICE, 100, ISettlementVault.Approval(1, DEADLINE, "any bytes"));
        _assertPaid(ALICE, 100);
    }
}
