// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IAccessControl} from "@openzeppelin/contracts/access/IAccessControl.sol";
import {ISettlementVault} from "../../../src/vault/ISettlementVault.sol";

/// @notice The vault with its roles. Tests know it by interface and deploy its artifact: they run the code that ships,
/// built as it ships, and a change of it does not compile them all anew.
interface IVault is ISettlementVault, IAccessControl {}
