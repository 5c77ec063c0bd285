// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IVaultErrors} from "./IVaultErrors.sol";

/// @title CoinTransfer
/// @notice Sends the chain's own coin to the recipient of a request. A recipient that is a contract runs code, which gets
/// a bounded amount of gas and whose answer is not copied, so that no recipient can make a batch more expensive than
/// that. A recipient that refuses the coin, or sends some of it back in the same call, fails under its request's id.
library CoinTransfer {
    /// @notice The gas that a recipient's code gets, besides the 2,300 that come with the coin: enough for wallets of
    /// several owners and for contracts that pass the coin on.
    uint256 internal constant RECIPIENT_GAS = 50_000;

    /// @notice Sends the coin; reverts unless this contract's balance fell by exactly the amount, which it has to cover.
    /// The recipient's balance is not compared: a contract may pass the coin on at once.
    function send(bytes32 requestId, address to, uint256 amount) internal {
        uint256 left = address(this).balance - amount;
        bool sent;
        assembly ("memory-safe") {
            sent := call(RECIPIENT_GAS, to, amount, 0, 0, 0, 0)
        }
        if (!sent || address(this).balance != left) revert IVaultErrors.CoinTransferFailed(requestId, to, amount);
    }
}
