//! One transaction's receipt, read strictly: money follows from it.

use alloy_primitives::{Address, B256};
use serde::Deserialize;
use windlass_core::chain::BlockRef;
use windlass_core::payout::submit::TransactionReceipt;

use crate::evm::hex::{self, Hex};

/// A receipt as a node tells it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wire {
    #[serde(deserialize_with = "hex::de")]
    transaction_hash: [u8; 32],
    #[serde(default)]
    block_hash: Option<Hex<[u8; 32]>>,
    #[serde(default)]
    block_number: Option<Hex<u64>>,
    #[serde(default)]
    status: Option<Hex<u64>>,
    #[serde(deserialize_with = "hex::de")]
    gas_used: u64,
    #[serde(default)]
    effective_gas_price: Option<Hex<u128>>,
    #[serde(default)]
    contract_address: Option<Hex<[u8; 20]>>,
}

impl Wire {
    /// The receipt of that transaction; none while it is in no block, as some nodes say of
    /// those that wait.
    pub(super) fn read(self, asked: B256) -> Result<Option<TransactionReceipt>, String> {
        let hash = B256::from(self.transaction_hash);
        if hash != asked {
            return Err(format!("it is of transaction {hash}, not {asked}"));
        }
        let block = match (self.block_number, self.block_hash) {
            (Some(Hex(number)), Some(Hex(hash))) => BlockRef { number, hash: hash.into() },
            (None, None) => return Ok(None),
            _ => return Err("it has half a block".to_owned()),
        };
        let is_success = match self.status {
            Some(Hex(status @ (0 | 1))) => status == 1,
            _ => return Err("it does not say whether it went well".to_owned()),
        };
        let contract = self.contract_address.map(|Hex(address)| Address::from(address));
        let contract = contract.filter(|address| !address.is_zero());
        Ok(Some(TransactionReceipt {
            hash,
            block,
            is_success,
            gas_used: self.gas_used,
            effective_gas_price: self.effective_gas_price.map(|Hex(price)| price),
            contract,
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn receipt() -> Value {
        json!({
            "transactionHash": B256::repeat_byte(1), "blockHash": B256::repeat_byte(2), "blockNumber": "0x9",
            "status": "0x1", "gasUsed": "0x5208", "contractAddress": null, "logs": [], "type": "0x2",
        })
    }

    fn read(value: &Value) -> Result<Option<TransactionReceipt>, String> {
        let wire: Wire = serde_json::from_str(&value.to_string()).map_err(|error| error.to_string())?;
        wire.read(B256::repeat_byte(1))
    }

    fn with(field: &str, value: Value) -> Value {
        let mut receipt = receipt();
        receipt[field] = value;
        receipt
    }

    #[test]
    fn a_receipt_says_where_and_how() {
        let block = BlockRef { number: 9, hash: B256::repeat_byte(2) };
        let expected = TransactionReceipt {
            hash: B256::repeat_byte(1),
            block,
            is_success: true,
            gas_used: 21_000,
            effective_gas_price: None,
            contract: None,
        };
        assert_eq!(read(&receipt()), Ok(Some(expected.clone())));
        let reverted = TransactionReceipt { is_success: false, ..expected.clone() };
        assert_eq!(read(&with("status", "0x0".into())), Ok(Some(reverted)));
        let contract = Some(Address::repeat_byte(3));
        let price = Some(0x3b9a_ca00);
        let priced = TransactionReceipt { effective_gas_price: price, ..expected.clone() };
        assert_eq!(read(&with("effectiveGasPrice", "0x3b9aca00".into())), Ok(Some(priced)));
        let made = TransactionReceipt { contract, ..expected };
        assert_eq!(read(&with("contractAddress", json!(contract))), Ok(Some(made)));
    }

    #[test]
    fn what_is_in_no_block_has_no_receipt() {
        let mut waiting = with("blockHash", Value::Null);
        assert!(read(&waiting).is_err(), "half a block");
        waiting["blockNumber"] = Value::Null;
        assert_eq!(read(&waiting), Ok(None));
    }

    #[test]
    fn anothers_receipt_and_one_without_an_outcome_are_refused() {
        assert!(read(&with("transactionHash", json!(B256::repeat_byte(7)))).is_err());
        for status in [Value::Null, "0x2".into(), "1".into(), true.into()] {
            assert!(read(&with("status", status.clone())).is_err(), "{status}");
        }
        for field in ["transactionHash", "gasUsed"] {
            assert!(read(&with(field, Value::Null)).is_err(), "{field}");
        }
    }
}
