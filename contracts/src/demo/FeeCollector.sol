// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Ownership} from "./Ownership.sol";

/// @title FeeCollector
/// @notice Splits a fee between an integrator and the protocol and keeps both shares until they are withdrawn.
///
/// The demo's source of events. Functions and events have the signatures of the collector that is deployed on public
/// chains, so that what indexes this one indexes that one; the code is our own.
///
/// Invariant: for every token, the contract holds at least what it owes (all integrators' balances plus the
/// protocol's). Debts are cleared before anything is sent, so a recipient that calls back finds nothing to take twice.
contract FeeCollector is Ownership {
    using SafeERC20 for IERC20;

    /// @notice Stands for the chain's own coin wherever a token is named.
    address public constant NATIVE = address(0);

    mapping(address integrator => mapping(address token => uint256 amount)) private integratorBalances;
    mapping(address token => uint256 amount) private protocolBalances;

    event FeesCollected(address indexed _token, address indexed _integrator, uint256 _integratorFee, uint256 _lifiFee);
    event FeesWithdrawn(address indexed _token, address indexed _to, uint256 _amount);
    event LiFiFeesWithdrawn(address indexed _token, address indexed _to, uint256 _amount);

    error NotEnoughNativeForFees(uint256 sent, uint256 needed);
    error NativeTransferFailed(address to, uint256 amount);

    constructor(address owner_) Ownership(owner_) {}

    /// @notice Pulls both fees from the caller, who must have approved their sum.
    function collectTokenFees(address token, uint256 integratorFee, uint256 lifiFee, address integrator) external {
        IERC20(token).safeTransferFrom(msg.sender, address(this), integratorFee + lifiFee);
        _credit(token, integratorFee, lifiFee, integrator);
    }

    /// @notice Takes both fees from the value sent and gives the rest back.
    function collectNativeFees(uint256 integratorFee, uint256 lifiFee, address integrator) external payable {
        uint256 needed = integratorFee + lifiFee;
        if (msg.value < needed) revert NotEnoughNativeForFees(msg.value, needed);
        _credit(NATIVE, integratorFee, lifiFee, integrator);
        uint256 surplus = msg.value - needed;
        if (surplus > 0) _send(NATIVE, msg.sender, surplus);
    }

    /// @notice Pays the caller what it has earned in one token; does nothing when that is nothing.
    function withdrawIntegratorFees(address token) external {
        _withdrawIntegrator(token);
    }

    /// @notice Pays the caller what it has earned in each of the tokens.
    function batchWithdrawIntegratorFees(address[] calldata tokens) external {
        for (uint256 i = 0; i < tokens.length; ++i) {
            _withdrawIntegrator(tokens[i]);
        }
    }

    /// @notice Pays the owner the protocol's share in one token; does nothing when that is nothing.
    function withdrawLifiFees(address token) external onlyOwner {
        if (protocolBalances[token] > 0) _withdrawProtocol(token);
    }

    /// @notice Pays the owner the protocol's share in each of the tokens.
    /// @dev An event of zero is emitted for a token without fees, as the public collector does: indexers meet it there.
    function batchWithdrawLifiFees(address[] calldata tokens) external onlyOwner {
        for (uint256 i = 0; i < tokens.length; ++i) {
            _withdrawProtocol(tokens[i]);
        }
    }

    /// @notice What the integrator could withdraw now.
    function getTokenBalance(address integrator, address token) external view returns (uint256) {
        return integratorBalances[integrator][token];
    }

    /// @notice What the owner could withdraw now.
    function getLifiTokenBalance(address token) external view returns (uint256) {
        return protocolBalances[token];
    }

    function _credit(address token, uint256 integratorFee, uint256 lifiFee, address integrator) private {
        integratorBalances[integrator][token] += integratorFee;
        protocolBalances[token] += lifiFee;
        emit FeesCollected(token, integrator, integratorFee, lifiFee);
    }

    function _withdrawIntegrator(address token) private {
        uint256 amount = integratorBalances[msg.sender][token];
        if (amount == 0) return;
        integratorBalances[msg.sender][token] = 0;
        _send(token, msg.sender, amount);
        emit FeesWithdrawn(token, msg.sender, amount);
    }

    function _withdrawProtocol(address token) private {
        uint256 amount = protocolBalances[token];
        protocolBalances[token] = 0;
        if (amount > 0) _send(token, msg.sender, amount);
        emit LiFiFeesWithdrawn(token, msg.sender, amount);
    }

    function _send(address token, address to, uint256 amount) private {
        if (token != NATIVE) {
            IERC20(token).safeTransfer(to, amount);
            return;
        }
        (bool ok,) = to.call{value: amount}("");
        if (!ok) revert NativeTransferFailed(to, amount);
    }
}
