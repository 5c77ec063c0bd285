// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title DemoToken
/// @notice A token that anyone can mint, for the demo and for tests on private chains. Never deploy it for real.
contract DemoToken is ERC20 {
    uint8 private immutable UNIT_DECIMALS;

    constructor(string memory name_, string memory symbol_, uint8 decimals_) ERC20(name_, symbol_) {
        UNIT_DECIMALS = decimals_;
    }

    function decimals() public view override returns (uint8) {
        return UNIT_DECIMALS;
    }

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }
}
