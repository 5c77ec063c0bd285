// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ISettlementVault} from "../../src/vault/ISettlementVault.sol";
import {IVaultErrors} from "../../src/vault/IVaultErrors.sol";
import {IVaultEvents} from "../../src/vault/IVaultEvents.sol";
import {ApprovalBase} from "./support/ApprovalBase.sol";

contract ApprovalTest is ApprovalBase {
    /// @dev Half of the order of secp256k1: signatures above it have a twin below.
    uint256 private constant HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    function _expectInvalid(bytes32 requestId) private {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalInvalid.selector, requestId, signer));
    }

    function test_AnApprovedPayoutIsPaid() public {
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 100);
        _expectEvent();
        emit IVaultEvents.PayoutExecuted(ID, address(usd), ALICE, 100);
        _payoutApproved(ID, ALICE, 100, approval);
        _assertPaid(ALICE, 100);
        assertEq(vault.spentToday(address(usd)), 100, "spent today");
    }

    function test_TheDigestIsThatOfTheTypeStrings() public view {
        assertEq(
            vault.approvalDigest(ID, address(usd), ALICE, 100, DEADLINE, 1),
            _digest(ID, address(usd), ALICE, 100, DEADLINE, 1),
            "digest"
        );
    }

    /// @dev A known answer, so that the type string cannot change here and in the vault together, unseen.
    function test_TheTypeHashIsTheKnownOne() public pure {
        assertEq(
            keccak256(bytes(APPROVAL_TYPE)),
            0xd53ff784ccecaa6d55b9e854499fcedf9ab61e1c5c6267e3e085f25f7990477f,
            "type hash"
        );
    }

    function test_RevertsWithoutAnApproval() public {
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalRequired.selector, ID));
        _payout(ID, ALICE, 100);
    }

    function test_RevertsOnAnotherSigner() public {
        ISettlementVault.Approval memory approval = _approvalOf(OTHER_KEY, ID, ALICE, 100);
        _expectInvalid(ID);
        _payoutApproved(ID, ALICE, 100, approval);
    }

    function test_RevertsWhenAnyValueWasTamperedWith() public {
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 100);
        _expectInvalid(OTHER_ID);
        _payoutApproved(OTHER_ID, ALICE, 100, approval);
        _expectInvalid(ID);
        _payoutApproved(ID, BOB, 100, approval);
        _expectInvalid(ID);
        _payoutApproved(ID, ALICE, 101, approval);
        _expectInvalid(ID);
        VM.prank(OPERATOR);
        vault.payoutWithApproval(ID, address(eur), ALICE, 100, approval);
        approval.deadline += 1;
        _expectInvalid(ID);
        _payoutApproved(ID, ALICE, 100, approval);

        _assertState(ID, ISettlementVault.RequestState.Unknown);
        approval.deadline -= 1;
        _payoutApproved(ID, ALICE, 100, approval);
    }

    function test_RevertsOnAnotherVaultsApproval() public {
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 100);
        _useVault(signer);
        _expectInvalid(ID);
        _payoutApproved(ID, ALICE, 100, approval);
    }

    function test_RevertsOnAnotherChainsApproval() public {
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 100);
        VM.chainId(block.chainid + 1);
        _expectInvalid(ID);
        _payoutApproved(ID, ALICE, 100, approval);
    }

    function test_RevertsOnMalformedSignatures() public {
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 100);
        bytes memory signature = approval.signature;
        bytes[4] memory bad = [bytes(""), hex"00", abi.encodePacked(signature, hex"00"), new bytes(65)];
        for (uint256 i = 0; i < bad.length; ++i) {
            approval.signature = bad[i];
            _expectInvalid(ID);
            _payoutApproved(ID, ALICE, 100, approval);
        }
    }

    function test_RevertsOnTheTwinOfASignature() public {
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 100);
        (uint8 v, bytes32 r, bytes32 s) = VM.sign(SIGNER_KEY, _digest(ID, address(usd), ALICE, 100, DEADLINE, 1));
        uint256 order = 2 * HALF_ORDER + 1;
        approval.signature = abi.encodePacked(r, bytes32(order - uint256(s)), v == 27 ? uint8(28) : uint8(27));
        _expectInvalid(ID);
        _payoutApproved(ID, ALICE, 100, approval);
    }

    function test_TheDeadlineIsTheLastGoodSecond() public {
        ISettlementVault.Approval memory first = _approval(ID, ALICE, 100);
        ISettlementVault.Approval memory second = _approval(OTHER_ID, ALICE, 100);
        VM.warp(DEADLINE);
        _payoutApproved(ID, ALICE, 100, first);

        VM.warp(DEADLINE + 1);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalExpired.selector, OTHER_ID, DEADLINE));
        _payoutApproved(OTHER_ID, ALICE, 100, second);
    }

    function test_AnApprovalIsUsedOnce() public {
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 100);
        _payoutApproved(ID, ALICE, 100, approval);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RequestAlreadyPaid.selector, ID, START, 1000));
        _payoutApproved(ID, ALICE, 100, approval);
    }

    /// @dev A worker that asks again with an old approval must learn that the request was paid.
    function test_APaidRequestIsReportedBeforeAnExpiredApproval() public {
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 100);
        _payoutApproved(ID, ALICE, 100, approval);
        VM.warp(DEADLINE + 1);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RequestAlreadyPaid.selector, ID, START, 1000));
        _payoutApproved(ID, ALICE, 100, approval);
    }

    function test_RaisingTheNonceVoidsEveryOutstandingApproval() public {
        ISettlementVault.Approval memory first = _approval(ID, ALICE, 100);
        ISettlementVault.Approval memory second = _approval(OTHER_ID, BOB, 100);
        _expectEvent();
        emit IVaultEvents.ApprovalNonceRaised(2, signer);
        VM.prank(signer);
        vault.raiseApprovalNonce();

        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalNonceMismatch.selector, ID, 1, 2));
        _payoutApproved(ID, ALICE, 100, first);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalNonceMismatch.selector, OTHER_ID, 1, 2));
        _payoutApproved(OTHER_ID, BOB, 100, second);
        first.nonce = 2;
        _expectInvalid(ID);
        _payoutApproved(ID, ALICE, 100, first);

        _payoutApproved(ID, ALICE, 100, _approval(ID, ALICE, 100));
    }

    function test_AnApprovalForAFutureNonceIsNotGoodYet() public {
        bytes32 digest = _digest(ID, address(usd), ALICE, 100, DEADLINE, 2);
        ISettlementVault.Approval memory approval =
            ISettlementVault.Approval({nonce: 2, deadline: DEADLINE, signature: _signature(SIGNER_KEY, digest)});
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.ApprovalNonceMismatch.selector, ID, 2, 1));
        _payoutApproved(ID, ALICE, 100, approval);
    }

    function test_TheNonceIsRaisedByThoseWhoMayStop() public {
        address[3] memory callers = [signer, GUARDIAN, ADMIN];
        for (uint256 i = 0; i < callers.length; ++i) {
            VM.prank(callers[i]);
            vault.raiseApprovalNonce();
            assertEq(vault.approvalNonce(), 2 + i, "nonce");
        }
        _expectNoRole(OPERATOR, adminRole);
        VM.prank(OPERATOR);
        vault.raiseApprovalNonce();
        _expectNoRole(address(0), adminRole);
        VM.prank(address(0));
        vault.raiseApprovalNonce();
    }

    function test_LimitsAndDenylistHoldForApprovedPayoutsToo() public {
        _setToken(address(usd), true, 50, 70);
        VM.prank(GUARDIAN);
        vault.deny(BOB);
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 51);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.PayoutLimitExceeded.selector, ID, address(usd), 51, 50));
        _payoutApproved(ID, ALICE, 51, approval);
        approval = _approval(ID, BOB, 10);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.RecipientDenied.selector, ID, BOB));
        _payoutApproved(ID, BOB, 10, approval);
        _payoutApproved(ID, ALICE, 50, _approval(ID, ALICE, 50));
        approval = _approval(OTHER_ID, ALICE, 21);
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.DayLimitExceeded.selector, address(usd), 21, 50, 70));
        _payoutApproved(OTHER_ID, ALICE, 21, approval);
    }

    function test_RevertsWhilePausedAndForOthersThanOperators() public {
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 100);
        _expectNoRole(STRANGER, operatorRole);
        VM.prank(STRANGER);
        vault.payoutWithApproval(ID, address(usd), ALICE, 100, approval);
        _pause();
        VM.expectRevert(abi.encodeWithSelector(IVaultErrors.EnforcedPause.selector));
        _payoutApproved(ID, ALICE, 100, approval);
    }

    function testFuzz_NoOtherBytesAreASignature(bytes32 r, bytes32 s, uint8 v) public {
        ISettlementVault.Approval memory approval = _approval(ID, ALICE, 100);
        bytes memory forged = abi.encodePacked(r, s, v);
        VM.assume(keccak256(forged) != keccak256(approval.signature));
        approval.signature = forged;
        _expectInvalid(ID);
        _payoutApproved(ID, ALICE, 100, approval);
    }

    function testFuzz_ApprovesExactlyWhatWasSigned(bytes32 requestId, address to, uint256 amount, uint256 lifetime)
        public
    {
        VM.assume(requestId != bytes32(0));
        VM.assume(to != address(0) && to != address(vault) && to != address(usd));
        amount = between(amount, 1, FUNDS);
        uint256 deadline = block.timestamp + upTo(lifetime, 365 days);
        bytes32 digest = _digest(requestId, address(usd), to, amount, deadline, 1);
        bytes memory signature = _signature(SIGNER_KEY, digest);
        _payoutApproved(requestId, to, amount, ISettlementVault.Approval(1, deadline, signature));
        _assertPaid(to, amount);
    }
}
