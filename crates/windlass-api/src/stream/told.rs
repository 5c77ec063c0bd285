//! What a reader is told, before it is an event on the wire.

use axum::response::sse::Event;

/// An event. Without a kind it only says where the stream is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) kind: Option<&'static str>,
    pub(super) id: Option<String>,
    pub(super) data: Option<String>,
}

impl Told {
    pub(super) const fn new(kind: &'static str, data: String) -> Self {
        Self { kind: Some(kind), id: None, data: Some(data) }
    }

    /// The same, under an id.
    pub(super) fn at(self, id: String) -> Self {
        Self { id: Some(id), ..self }
    }
}

impl From<Told> for Event {
    fn from(told: Told) -> Self {
        let mut event = Self::default();
        if let Some(kind) = told.kind {
            event = event.event(kind);
        }
        if let Some(id) = told.id {
            event = event.id(id);
        }
        match told.data {
            Some(data) => event.data(data),
            None => event,
        }
    }
}
