//! What a field of a table is asked with.

use async_graphql::{Context, Enum, InputType, Name, Pos, Result, Value};
use windlass_core::row_query::RowOrder;

/// By what rows are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(rename_items = "camelCase")]
pub(super) enum OrderBy {
    /// The order of the chain: by block, and by log within it.
    BlockNumber,
    /// The same, for time never goes back from one block to the next.
    Timestamp,
}

/// In which direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
#[graphql(rename_items = "camelCase")]
pub(super) enum OrderDirection {
    /// The oldest first.
    Asc,
    /// The newest first.
    Desc,
}

impl From<OrderDirection> for RowOrder {
    fn from(direction: OrderDirection) -> Self {
        match direction {
            OrderDirection::Asc => Self::OldestFirst,
            OrderDirection::Desc => Self::NewestFirst,
        }
    }
}

/// The arguments of a field, with the values of variables.
pub(super) struct Arguments {
    given: Vec<(Name, Value)>,
    pos: Pos,
}

impl Arguments {
    pub(super) fn of(context: &Context<'_>) -> Result<Self> {
        Ok(Self { given: context.field().arguments()?, pos: context.item.pos })
    }

    /// An argument as it was given.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.given.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// An argument of a type.
    pub(super) fn get<T: InputType>(&self, name: &str) -> Result<T> {
        let read = T::parse(self.value(name).cloned());
        Ok(read.map_err(|error| error.into_server_error(self.pos))?)
    }

    /// An entry of an enum.
    pub(super) fn entry(&self, name: &str) -> Option<&str> {
        match self.value(name)? {
            Value::Enum(entry) => Some(entry),
            Value::String(entry) => Some(entry),
            _ => None,
        }
    }
}
