// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// @notice A contract that takes the chain's coin, counts it, and spends as much gas on that as a wallet of several
/// owners does. It can be told to refuse.
contract CountingReceiver {
    uint256 public count;
    bool public refuses;

    error Refused();

    function refuse(bool refuses_) external {
        refuses = refuses_;
    }

    receive() external payable {
        if (refuses) revert Refused();
        ++count;
    }
}

/// @notice A contract that burns all the gas it is given, and then takes the coin or does not.
contract GasBurner {
    bool private immutable TAKES;

    constructor(bool takes) {
        TAKES = takes;
    }

    receive() external payable {
        while (gasleft() > 300) {}
        if (!TAKES) {
            while (true) {}
        }
    }
}

/// @notice A contract that refuses the coin with an answer of 50,000 bytes, which its caller would pay for to copy.
contract LongAnswerReceiver {
    receive() external payable {
        assembly {
            revert(0, 50000)
        }
    }
}

/// @notice A contract that sends part of the coin back at once.
contract ReturningReceiver {
    uint256 private immutable BACK;

    constructor(uint256 back) {
        BACK = back;
    }

    receive() external payable {
        (bool sent,) = msg.sender.call{value: BACK}("");
        require(sent);
    }
}

/// @notice A contract that passes the coin on at once, as deposit addresses do.
contract ForwardingReceiver {
    address private immutable TO;

    constructor(address to) {
        TO = to;
    }

    receive() external payable {
        (bool sent,) = TO.call{value: msg.value}("");
        require(sent);
    }
}

/// @notice A contract that makes one call of its owner's choice when it is paid, and remembers how that ended.
contract CallingReceiver {
    address private target;
    bool public called;
    bool public succeeded;
    bytes32 public answer;
    bytes private data;

    /// @dev The answer's word is in use before, so that remembering it fits into a recipient's gas.
    function onReceive(address target_, bytes calldata data_) external {
        (target, data, answer) = (target_, data_, bytes32(uint256(1)));
    }

    receive() external payable {
        called = true;
        bytes memory returned;
        (succeeded, returned) = target.call(data);
        answer = keccak256(returned);
    }
}
