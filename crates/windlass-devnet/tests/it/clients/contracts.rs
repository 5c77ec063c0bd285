//! The demo's contracts: their init code with its arguments, and their calls.

use alloy_primitives::{Address, Bytes};
use alloy_sol_types::{SolConstructor, sol};
use serde::Deserialize;

const FEE_COLLECTOR: &str = include_str!("../../../../../contracts/artifacts/FeeCollector.json");
const DEMO_TOKEN: &str = include_str!("../../../../../contracts/artifacts/DemoToken.json");

sol! {
    contract FeeCollector {
        constructor(address owner);
        event FeesCollected(address indexed _token, address indexed _integrator, uint256 _integratorFee, uint256 _lifiFee);
        event FeesWithdrawn(address indexed _token, address indexed _to, uint256 _amount);
        event LiFiFeesWithdrawn(address indexed _token, address indexed _to, uint256 _amount);
        function collectNativeFees(uint256 integratorFee, uint256 lifiFee, address integrator) external payable;
        function collectTokenFees(address token, uint256 integratorFee, uint256 lifiFee, address integrator) external;
        function withdrawIntegratorFees(address token) external;
        function withdrawLifiFees(address token) external;
        function batchWithdrawIntegratorFees(address[] tokens) external;
        function batchWithdrawLifiFees(address[] tokens) external;
        function getTokenBalance(address integrator, address token) external view returns (uint256);
        function getLifiTokenBalance(address token) external view returns (uint256);
        function owner() external view returns (address);
    }

    contract DemoToken {
        constructor(string name, string symbol, uint8 decimals);
        function mint(address to, uint256 amount) external;
        function approve(address spender, uint256 value) external returns (bool);
        function transfer(address to, uint256 value) external returns (bool);
        function balanceOf(address account) external view returns (uint256);
        function symbol() external view returns (string);
    }
}

#[derive(Deserialize)]
struct Artifact {
    bytecode: Bytes,
}

fn init_code(artifact: &str, arguments: &[u8]) -> Bytes {
    let artifact: Artifact = serde_json::from_str(artifact).unwrap();
    [artifact.bytecode.as_ref(), arguments].concat().into()
}

/// Creates a fee collector.
pub(super) fn fee_collector(owner: Address) -> Bytes {
    init_code(FEE_COLLECTOR, &FeeCollector::constructorCall { owner }.abi_encode())
}

/// Creates a token with six decimals.
pub(super) fn demo_token() -> Bytes {
    let arguments =
        DemoToken::constructorCall { name: "Demo".to_owned(), symbol: "DEMO".to_owned(), decimals: 6 };
    init_code(DEMO_TOKEN, &arguments.abi_encode())
}
