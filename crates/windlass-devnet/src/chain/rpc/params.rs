//! Reading a call's parameters, with geth's words for what is wrong with them.

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::U64;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::node::RpcError;
use crate::rpc::words::plain;

/// The positional parameters of one call.
#[derive(Debug)]
pub(super) struct Params<'a>(Vec<&'a RawValue>);

impl<'a> Params<'a> {
    /// Splits the parameters; none at all is an empty list.
    pub(super) fn new(raw: Option<&'a RawValue>) -> Result<Self, RpcError> {
        let Some(raw) = raw else { return Ok(Self(Vec::new())) };
        serde_json::from_str(raw.get())
            .map(|list: Option<Vec<&'a RawValue>>| Self(list.unwrap_or_default()))
            .map_err(|_| RpcError::new(-32602, "non-array args"))
    }

    /// A parameter that must be there.
    pub(super) fn get<T: Deserialize<'a>>(&self, index: usize) -> Result<T, RpcError> {
        self.opt(index)?
            .ok_or_else(|| RpcError::new(-32602, format!("missing value for required argument {index}")))
    }

    /// A parameter that may be left out or null.
    pub(super) fn opt<T: Deserialize<'a>>(&self, index: usize) -> Result<Option<T>, RpcError> {
        let Some(raw) = self.0.get(index) else { return Ok(None) };
        serde_json::from_str(raw.get())
            .map_err(|error| RpcError::new(-32602, format!("invalid argument {index}: {}", plain(&error))))
    }

    /// Which block's state is asked for; `latest` unless told.
    pub(super) fn block_id(&self, index: usize) -> Result<BlockId, RpcError> {
        Ok(self.opt(index)?.unwrap_or(BlockId::Number(BlockNumberOrTag::Latest)))
    }
}

/// A count, which clients write as a quantity or as a plain number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Count {
    Plain(u64),
    Quantity(U64),
}

impl Count {
    pub(super) fn get(self) -> u64 {
        match self {
            Self::Plain(count) => count,
            Self::Quantity(count) => count.to(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn reads_by_position_and_says_what_is_missing() {
        let list = raw(r#"["0x10", null]"#);
        let params = Params::new(Some(&list)).unwrap();
        assert_eq!(params.get::<&str>(0).unwrap(), "0x10");
        assert_eq!(params.opt::<&str>(1).unwrap(), None);
        let missing = params.get::<&str>(2).unwrap_err();
        assert_eq!(
            (missing.code, missing.message.as_str()),
            (-32602, "missing value for required argument 2")
        );
        let wrong = params.get::<bool>(0).unwrap_err();
        assert!(wrong.message.starts_with("invalid argument 0: "), "{wrong}");
    }

    #[test]
    fn an_object_is_refused_and_nothing_is_an_empty_list() {
        assert_eq!(Params::new(Some(&raw("{}"))).unwrap_err().message, "non-array args");
        assert_eq!(Params::new(None).unwrap().opt::<u8>(0).unwrap(), None);
    }
}
