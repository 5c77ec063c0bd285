// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @title Ownership
/// @notice One owner, handed over in two steps, so that a mistyped address cannot lock the contract.
abstract contract Ownership {
    address public owner;
    address public pendingOwner;

    event OwnershipTransferRequested(address indexed _from, address indexed _to);
    event OwnershipTransferred(address indexed _from, address indexed _to);

    error NotOwner(address caller);
    error NotPendingOwner(address caller);
    error BadNewOwner(address proposed);
    error NoPendingOwner();

    modifier onlyOwner() {
        if (msg.sender != owner) revert NotOwner(msg.sender);
        _;
    }

    constructor(address owner_) {
        if (owner_ == address(0)) revert BadNewOwner(owner_);
        owner = owner_;
        emit OwnershipTransferred(address(0), owner_);
    }

    /// @notice Proposes a new owner; nothing changes until it confirms.
    function transferOwnership(address newOwner) external onlyOwner {
        if (newOwner == address(0) || newOwner == owner) revert BadNewOwner(newOwner);
        pendingOwner = newOwner;
        emit OwnershipTransferRequested(owner, newOwner);
    }

    /// @notice Takes a proposal back.
    function cancelOwnershipTransfer() external onlyOwner {
        if (pendingOwner == address(0)) revert NoPendingOwner();
        pendingOwner = address(0);
    }

    /// @notice Called by the proposed owner to take over.
    function confirmOwnershipTransfer() external {
        if (msg.sender != pendingOwner) revert NotPendingOwner(msg.sender);
        emit OwnershipTransferred(owner, msg.sender);
        owner = msg.sender;
        pendingOwner = address(0);
    }
}
