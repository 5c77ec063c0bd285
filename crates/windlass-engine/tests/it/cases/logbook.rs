//! What was said in the log while a case ran, on the case's own thread.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, set_default};
use tracing::{Event, Level, Metadata, Subscriber};

/// Everything that was said, from the most to the least important level asked for.
#[derive(Clone, Default)]
pub(crate) struct Logbook {
    lines: Arc<Mutex<Vec<String>>>,
}

impl Logbook {
    /// Listens from now on, for as long as the guard is held.
    pub(crate) fn open() -> (Self, DefaultGuard) {
        let book = Self::default();
        let guard = set_default(book.clone());
        (book, guard)
    }

    /// How many lines have these words in them.
    pub(crate) fn count(&self, words: &str) -> usize {
        self.lines.lock().expect("no panic").iter().filter(|line| line.contains(words)).count()
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).expect("a string takes it");
    }
}

impl Subscriber for Logbook {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.lines.lock().expect("no panic").push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
