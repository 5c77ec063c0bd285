//! Writes the logs of a range into one buffer, as the answer of `eth_getLogs`.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;

use super::{
    generator::{Generator, Place},
    pool::BufferPool,
    query::Wanted,
    template::{AddressText, Template},
};

/// Room for a log that is longer than the template that was measured.
const SLACK_BYTES_PER_LOG: usize = 16;

/// Turns ranges of logs into JSON.
#[derive(Debug)]
pub(super) struct LogWriter {
    text: AddressText,
    pool: Arc<BufferPool>,
    with_timestamp: bool,
}

/// More logs matched than one answer may hold.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooMany {
    /// The first block whose logs did not all fit.
    pub(super) block: u64,
}

impl LogWriter {
    pub(super) fn new(generator: &Generator, with_timestamp: bool) -> Self {
        let pool = Arc::new(BufferPool::default());
        Self { text: AddressText::new(generator), pool, with_timestamp }
    }

    /// The wanted ones among these logs, at most `limit` of them, as a JSON array.
    pub(super) fn write(
        &self,
        generator: &Generator,
        logs: Range<u64>,
        wanted: &Wanted,
        limit: u64,
    ) -> Result<Bytes, TooMany> {
        if logs.is_empty() {
            return Ok(Bytes::from_static(b"[]"));
        }
        let mut place = generator.place(logs.start);
        let mut templates = Templates::new(generator, place, self.with_timestamp);
        let expected = (logs.end - logs.start).min(limit) as usize;
        let expected = if wanted.is_all() { expected } else { 0 };
        let mut out = self.pool.take(2 + expected * (templates.longest() + SLACK_BYTES_PER_LOG));
        out.push(b'[');
        let mut written = 0;
        for number in logs {
            let log = generator.raw(number);
            if wanted.has(log.token, log.integrator) {
                if written == limit {
                    return Err(TooMany { block: place.block });
                }
                written += 1;
                templates.fitting(place).write(&mut out, &self.text, place.index, &log);
            }
            place = generator.next(place);
        }
        close_array(&mut out);
        Ok(self.pool.freeze(out))
    }
}

/// The last log's comma becomes the end of the array.
fn close_array(out: &mut Vec<u8>) {
    if out.len() > 1 {
        out.pop();
    }
    out.push(b']');
}

/// The templates in use: one for each length that a log's index can have.
struct Templates<'a> {
    generator: &'a Generator,
    with_timestamp: bool,
    made: Vec<Template>,
}

impl<'a> Templates<'a> {
    fn new(generator: &'a Generator, place: Place, with_timestamp: bool) -> Self {
        let made = vec![Template::new(generator, place, with_timestamp)];
        Self { generator, with_timestamp, made }
    }

    fn longest(&self) -> usize {
        self.made.iter().map(Template::len).max().unwrap_or(0)
    }

    /// The template for this log. When the block numbers grow by a digit, no old
    /// template fits any longer, and all are made anew.
    fn fitting(&mut self, place: Place) -> &Template {
        let found = self.made.iter_mut().position(|made| made.adopt(self.generator, place));
        let at = found.unwrap_or_else(|| {
            if place.index == 0 {
                self.made.clear();
            }
            self.made.push(Template::new(self.generator, place, self.with_timestamp));
            self.made.len() - 1
        });
        &self.made[at]
    }
}
