// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {Vm} from "../../support/Vm.sol";

/// @notice A token that anyone can mint, for the odd ones to grow from.
abstract contract MintableToken is ERC20("Odd", "ODD") {
    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }
}

/// @notice A token whose transfers return nothing, as some of the oldest and largest do.
contract SilentToken {
    mapping(address account => uint256 amount) public balanceOf;

    error TooLittle();

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
    }

    function transfer(address to, uint256 amount) external {
        if (balanceOf[msg.sender] < amount) revert TooLittle();
        balanceOf[msg.sender] -= amount;
        balanceOf[to] += amount;
    }
}

/// @notice A token that says no by returning false.
contract RefusingToken is MintableToken {
    function transfer(address, uint256) public pure override returns (bool) {
        return false;
    }
}

/// @notice A token that says yes and does nothing.
contract LyingToken is MintableToken {
    function transfer(address, uint256) public pure override returns (bool) {
        return true;
    }
}

/// @notice A token that keeps one in a hundred of what the recipient should get.
contract RecipientFeeToken is MintableToken {
    function transfer(address to, uint256 amount) public override returns (bool) {
        _transfer(msg.sender, address(this), amount / 100);
        _transfer(msg.sender, to, amount - amount / 100);
        return true;
    }
}

/// @notice A token that takes one in a hundred more from the sender.
contract SenderFeeToken is MintableToken {
    function transfer(address to, uint256 amount) public override returns (bool) {
        _transfer(msg.sender, address(this), amount / 100);
        _transfer(msg.sender, to, amount);
        return true;
    }
}

/// @notice A token that gives the recipient more than it was told to.
contract BonusToken is MintableToken {
    function transfer(address to, uint256 amount) public override returns (bool) {
        _mint(to, 1);
        return super.transfer(to, amount);
    }
}

/// @notice A token that does not tell balances.
contract BlindToken {
    function transfer(address, uint256) external pure returns (bool) {
        return true;
    }
}

/// @notice A token that moves the chain's own coin.
contract CoinToken {
    Vm private constant VM = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    function balanceOf(address account) external view returns (uint256) {
        return account.balance;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        VM.deal(msg.sender, msg.sender.balance - amount);
        VM.deal(to, to.balance + amount);
        return true;
    }
}

/// @notice A token that makes one call of its owner's choice in the middle of a transfer, and remembers its fate.
contract CallbackToken is MintableToken {
    address private target;
    bytes private data;
    bytes public answer;
    bool public called;
    bool public succeeded;

    function onTransfer(address target_, bytes calldata data_) external {
        (target, data) = (target_, data_);
    }

    function transfer(address to, uint256 amount) public override returns (bool) {
        if (target != address(0)) {
            called = true;
            (succeeded, answer) = target.call(data);
        }
        return super.transfer(to, amount);
    }
}
