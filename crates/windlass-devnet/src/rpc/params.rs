//! Reads positional parameters without parsing those nobody asks for.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::words::plain;
use crate::node::RpcError;

/// The parameter at this place.
pub(crate) fn required<'a, T: Deserialize<'a>>(
    params: Option<&'a RawValue>,
    at: usize,
) -> Result<T, RpcError> {
    optional(params, at)?
        .ok_or_else(|| RpcError::new(-32602, format!("missing value for required argument {at}")))
}

/// The parameter at this place, if it is there and not null.
pub(crate) fn optional<'a, T: Deserialize<'a>>(
    params: Option<&'a RawValue>,
    at: usize,
) -> Result<Option<T>, RpcError> {
    let Some(value) = raw(params, at)? else { return Ok(None) };
    serde_json::from_str(value.get())
        .map_err(|error| RpcError::new(-32602, format!("invalid argument {at}: {}", plain(&error))))
}

/// The parameter at this place as it was sent.
pub(crate) fn raw(params: Option<&RawValue>, at: usize) -> Result<Option<&RawValue>, RpcError> {
    let Some(params) = params else { return Ok(None) };
    let list: Vec<&RawValue> =
        serde_json::from_str(params.get()).map_err(|_| RpcError::new(-32602, "non-array args"))?;
    Ok(list.get(at).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn reads_what_is_there() {
        let list = params(r#"["a", 7, null]"#);
        assert_eq!(required::<u64>(Some(&list), 1).unwrap(), 7);
        assert_eq!(optional::<u64>(Some(&list), 2).unwrap(), None);
        assert_eq!(optional::<u64>(Some(&list), 3).unwrap(), None);
    }

    #[test]
    fn says_what_is_wrong() {
        let list = params(r#"["a"]"#);
        let message = |error: RpcError| (error.code, error.message);
        let missing = message(required::<u64>(Some(&list), 1).unwrap_err());
        assert_eq!(missing, (-32602, "missing value for required argument 1".into()));
        assert!(message(required::<u64>(Some(&list), 0).unwrap_err()).1.starts_with("invalid argument 0"));
        let object = params("{}");
        assert_eq!(message(raw(Some(&object), 0).unwrap_err()).1, "non-array args");
    }
}
