//! A call as a parameter.

use alloy_primitives::{Address, Bytes};
use serde::{Serialize, Serializer};
use windlass_core::payout::submit::{Call, NonceTag};

use crate::evm::header::TagParam;

/// A call, in the fields that every node knows: older ones have no `input`.
#[derive(Serialize)]
pub(super) struct CallParam<'a> {
    from: Address,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Address>,
    data: &'a Bytes,
}

impl<'a> From<&'a Call> for CallParam<'a> {
    fn from(call: &'a Call) -> Self {
        Self { from: call.from, to: call.to, data: &call.data }
    }
}

/// At which point transactions are counted.
pub(super) struct NonceParam(pub(super) NonceTag);

impl Serialize for NonceParam {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            NonceTag::Pending => serializer.serialize_str("pending"),
            NonceTag::Block(tag) => TagParam(tag).serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_core::reader::BlockTag;

    use super::*;

    #[test]
    fn a_call_has_no_fields_that_say_nothing() {
        let mut call = Call { from: Address::ZERO, to: None, data: Bytes::from_static(&[1, 2]) };
        let value = serde_json::to_value(CallParam::from(&call)).expect("json");
        assert_eq!(value, json!({ "from": Address::ZERO, "data": "0x0102" }));
        call.to = Some(Address::repeat_byte(7));
        assert_eq!(serde_json::to_value(CallParam::from(&call)).expect("json")["to"], json!(call.to));
    }

    #[test]
    fn nonces_are_counted_at_a_block_or_with_what_waits() {
        let params =
            [NonceTag::Pending, NonceTag::Block(BlockTag::Finalized), NonceTag::Block(BlockTag::Number(9))];
        let text = serde_json::to_string(&params.map(NonceParam)).expect("json");
        assert_eq!(text, r#"["pending","finalized","0x9"]"#);
    }
}
