// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";

/// @notice A signer that is a contract and takes the signature of its key, of which it can be stripped.
contract KeyedSigner is IERC1271 {
    address public key;

    constructor(address key_) {
        key = key_;
    }

    function setKey(address key_) external {
        key = key_;
    }

    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        address signer = ecrecover(digest, uint8(signature[64]), bytes32(signature[:32]), bytes32(signature[32:64]));
        return signer == key ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }
}

/// @notice A contract that answers every signature with the same bytes, or not at all.
contract FixedSigner {
    bytes private answer;

    constructor(bytes memory answer_) {
        answer = answer_;
    }

    fallback(bytes calldata) external returns (bytes memory) {
        require(answer.length > 0);
        return answer;
    }
}
