//! JSON in which no name stands twice in one object. Readers of JSON disagree on which of two
//! values counts; with money they must not.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A value without such names.
pub(super) struct Unambiguous(pub(super) Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unambiguous(entry)) = entries.next_element()? {
            list.push(entry);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some((name, Unambiguous(value))) = entries.next_entry::<String, _>()? {
            if fields.contains_key(&name) {
                return Err(A::Error::custom(format_args!("field `{name}` is given twice")));
            }
            fields.insert(name, value);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Value, String> {
        serde_json::from_str(text).map(|Unambiguous(value)| value).map_err(|error| error.to_string())
    }

    #[test]
    fn it_reads_as_json_is_read() {
        let value = json!({"a": [1, -2, 0.5, true, null, "x"], "b": {"a": {}}, "c": u64::MAX});
        assert_eq!(read(&value.to_string()), Ok(value));
        assert!(read("{").is_err() && read("").is_err() && read("{} x").is_err());
        assert!(read(&"[".repeat(10_000)).is_err(), "it is not read as deep as it is nested");
    }

    #[test]
    fn a_name_that_stands_twice_is_told() {
        for text in
            [r#"{"a": 1, "a": 1}"#, r#"[{"b": {"a": 1, "c": 2, "a": 3}}]"#, r#"{"a": 1, "\u0061": 2}"#]
        {
            assert!(read(text).unwrap_err().contains("field `a` is given twice"), "{text}");
        }
    }
}
