//! Events as contracts declare them: from what somebody writes to a table, and from a
//! log to a row of it.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `text` | events as people write them |
//! | `json` | events of JSON ABI files |
//! | `kind`, `spelling` | the types of fields, and how they are written |
//! | `naming` | names of tables and columns |
//! | `layout` | the table of an event |
//! | `decode` | logs to values; why a log does not fit |
//! | `word`, `body` | the values of one word, and the others |
//!
//! Types are read by alloy, and what is accepted as a log of an event is what alloy's
//! decoder accepts: `decode` says where the two differ, and tests hold them together.

mod body;
mod decode;
mod error;
mod json;
mod kind;
mod layout;
mod naming;
mod spelling;
mod text;
mod word;

use std::fmt;
use std::str::FromStr;

use alloy_primitives::keccak256;
use serde::{Deserialize, Serialize};

pub use self::decode::{Decoder, MAX_READINGS, Misfit};
pub use self::error::AbiError;
pub use self::json::MAX_ABI_BYTES;
pub use self::kind::{AbiType, Component, MAX_NESTING, MAX_STATIC_WORDS, WordType};
pub use self::text::MAX_EVENT_BYTES;
use crate::chain::B256;
use crate::event::MAX_TOPICS;
use crate::table::MAX_COLUMNS;

/// The longest name of an event or field, in bytes.
pub const MAX_ABI_NAME_BYTES: usize = 256;

/// An event as its contract declares it. As text it reads back: `{shape}` is what
/// [`EventShape::from_str`] takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EventShape {
    name: String,
    fields: Vec<Field>,
    anonymous: bool,
    topic0: Option<B256>,
    signature: String,
}

/// A field of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name, as the ABI writes it; empty if it has none.
    pub name: String,
    /// Its type.
    pub ty: AbiType,
    /// Whether it is a topic, as value or as hash.
    pub indexed: bool,
}

impl EventShape {
    /// An event of these fields, checked.
    pub fn new(name: impl Into<String>, fields: Vec<Field>, anonymous: bool) -> Result<Self, AbiError> {
        let name = name.into();
        check_name(&name)?;
        check_fields(&fields, anonymous).map_err(|error| error.of(format!("event `{name}`")))?;
        let types: Vec<String> = fields.iter().map(|field| field.ty.to_string()).collect();
        let topic0 = (!anonymous).then(|| keccak256(format!("{name}({})", types.join(","))));
        let signature = signature(&name, &fields, anonymous);
        Ok(Self { name, fields, anonymous, topic0, signature })
    }

    /// The events of a JSON ABI: an array of items, or an artifact with an `abi` in it.
    /// Only the wanted ones, by name or by signature, and in that order; all, when none
    /// is named.
    pub fn from_json(text: &str, wanted: &[String]) -> Result<Vec<Self>, AbiError> {
        json::events(text, wanted)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its fields, in order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Whether its logs do not say which event they are of.
    pub const fn anonymous(&self) -> bool {
        self.anonymous
    }

    /// The first topic of its logs; `None` when it is anonymous.
    pub const fn topic0(&self) -> Option<B256> {
        self.topic0
    }

    /// Its name and types with `indexed`, without names of fields: two events with the
    /// same signature cannot be told apart.
    pub fn signature(&self) -> &str {
        &self.signature
    }

    /// How many topics its logs have.
    pub fn topic_count(&self) -> usize {
        usize::from(!self.anonymous) + self.fields.iter().filter(|field| field.indexed).count()
    }
}

fn check_name(name: &str) -> Result<(), AbiError> {
    let fits = |(place, c): (usize, char)| {
        c.is_ascii_alphabetic() || "_$".contains(c) || (place > 0 && c.is_ascii_digit())
    };
    if name.is_empty() || name.len() > MAX_ABI_NAME_BYTES || !name.chars().enumerate().all(fits) {
        let message = format!("`{}` is not a name of an event or field", error::shown(name));
        let hint = format!("use up to {MAX_ABI_NAME_BYTES} letters, digits, `_` and `$`, no digit first");
        return Err(AbiError::new(message).with_hint(hint));
    }
    Ok(())
}

fn check_fields(fields: &[Field], anonymous: bool) -> Result<(), AbiError> {
    if fields.len() > MAX_COLUMNS {
        let message = format!("it has {} fields, a table has at most {MAX_COLUMNS}", fields.len());
        return Err(AbiError::new(message));
    }
    let indexed = fields.iter().filter(|field| field.indexed).count();
    let most = if anonymous { MAX_TOPICS } else { MAX_TOPICS - 1 };
    if indexed > most {
        return Err(AbiError::new(format!("{indexed} fields are `indexed`, at most {most} can be"))
            .with_hint("look up the event in the contract's source: one `indexed` is too many"));
    }
    for (place, field) in fields.iter().enumerate() {
        let of = |error: AbiError| error.of(format!("field {} `{}`", place + 1, error::shown(&field.name)));
        check_field_name(&field.name).and_then(|()| field.ty.check()).map_err(of)?;
    }
    Ok(())
}

/// A field or component may have no name, but none that reads as something else.
fn check_field_name(name: &str) -> Result<(), AbiError> {
    match name {
        "" => Ok(()),
        "indexed" => Err(AbiError::new("a field cannot be called `indexed`")),
        name => check_name(name),
    }
}

fn signature(name: &str, fields: &[Field], anonymous: bool) -> String {
    let field = |field: &Field| format!("{}{}", field.ty, if field.indexed { " indexed" } else { "" });
    let fields: Vec<String> = fields.iter().map(field).collect();
    format!("{name}({}){}", fields.join(","), if anonymous { " anonymous" } else { "" })
}

/// As people write it, with the names of fields.
impl fmt::Display for EventShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        for (place, field) in self.fields.iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{}{}", field.ty.named(), if field.indexed { " indexed" } else { "" })?;
            if !field.name.is_empty() {
                write!(f, " {}", field.name)?;
            }
        }
        f.write_str(if self.anonymous { ") anonymous" } else { ")" })
    }
}

impl FromStr for EventShape {
    type Err = AbiError;
    fn from_str(text: &str) -> Result<Self, AbiError> {
        text::event(text)
    }
}

impl TryFrom<String> for EventShape {
    type Error = AbiError;
    fn try_from(text: String) -> Result<Self, AbiError> {
        text.parse()
    }
}

impl From<EventShape> for String {
    fn from(shape: EventShape) -> String {
        shape.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_knows_its_first_topic_and_signature() {
        let fees: EventShape = "FeesCollected(address indexed _token, address indexed _integrator, \
                uint _integratorFee, uint256 _lifiFee)"
            .parse()
            .expect("an event");
        let topic0 = "0x28a87b6059180e46de5fb9ab35eb043e8fe00ab45afcc7789e3934ecbbcde3ea";
        assert_eq!(fees.topic0().map(|topic| topic.to_string()).as_deref(), Some(topic0));
        assert_eq!(fees.signature(), "FeesCollected(address indexed,address indexed,uint256,uint256)");
        assert_eq!(fees.topic_count(), 3);
    }

    #[test]
    fn an_anonymous_event_has_no_first_topic_and_one_more_of_its_own() {
        let note: EventShape =
            "LogNote(bytes4 indexed,address indexed,bytes32 indexed,bytes32 indexed,bytes)anonymous"
                .parse()
                .expect("an event");
        assert_eq!(note.topic0(), None);
        assert_eq!(note.topic_count(), 4);
        assert!(note.signature().ends_with(") anonymous"));
        let named = note.signature().replace(" anonymous", "").parse::<EventShape>();
        assert!(named.expect_err("too many").to_string().contains("4 fields are `indexed`, at most 3"));
    }

    #[test]
    fn a_shape_reads_back_from_json_too() {
        let shape: EventShape =
            "E((uint256 amount, address to)[] indexed, bytes32 x)".parse().expect("an event");
        let json = serde_json::to_string(&shape).expect("plain data");
        assert_eq!(serde_json::from_str::<EventShape>(&json).expect("a shape"), shape);
    }

    #[test]
    fn a_table_of_too_many_columns_is_refused() {
        let event = |fields: usize| format!("E({})", vec!["bool"; fields].join(",")).parse::<EventShape>();
        assert!(event(MAX_COLUMNS).is_ok());
        assert!(event(MAX_COLUMNS + 1).is_err());
    }
}
