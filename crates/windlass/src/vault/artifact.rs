//! The contract that this binary carries, checked by `./test` against its source.

use serde::Deserialize;
use serde_json::Value;
use windlass_core::chain::Bytes;

use crate::failure::Failure;

const SETTLEMENT_VAULT: &str = include_str!("../../../../contracts/artifacts/SettlementVault.json");

/// The compiled contract.
#[derive(Deserialize)]
pub(crate) struct Artifact {
    abi: Vec<Value>,
    /// What makes it, without the constructor's arguments.
    pub(crate) bytecode: Bytes,
}

impl Artifact {
    /// Reads what is carried.
    pub(crate) fn read() -> Result<Self, Failure> {
        serde_json::from_str(SETTLEMENT_VAULT).map_err(|error| {
            Failure::unexpected(format_args!("the contract in this binary cannot be read: {error}"))
        })
    }

    /// What a function takes, as the compiler says it.
    pub(crate) fn inputs_of(&self, function: &str) -> Option<&Value> {
        let is_it = |entry: &&Value| entry["type"] == "function" && entry["name"] == function;
        self.abi.iter().find(is_it).map(|entry| &entry["inputs"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_with_what_they_take() {
        let artifact = Artifact::read().expect("it is ours");
        assert_eq!(artifact.inputs_of("pause"), Some(&Value::Array(vec![])));
        let inputs = artifact.inputs_of("deny").expect("a function");
        assert_eq!(inputs[0]["name"], "account");
        assert!(artifact.inputs_of("fly").is_none() && artifact.bytecode.len() > 10_000);
    }
}
