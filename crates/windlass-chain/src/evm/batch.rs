//! Many headers in few messages.
//!
//! Providers differ in how many calls they take in one message, and some take one. A
//! message that is refused is followed by one of half the length; a longer one is tried again
//! after many that were answered, since a fault that passes looks the same. Where a message was too much for a rate
//! limit the next is half as long too, and the length grows again with every good answer.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use windlass_core::reader::{BlockTag, Header};

use super::client::EvmRpc;
use super::envelope::{Answer, Request};
use super::error::RpcError;
use super::header::{self, ReadHeader};
use super::transport::{MAX_BATCH_BODY_BYTES, MAX_HEADER_BODY_BYTES, Outgoing, Reply};

/// The most calls in one message.
pub const MAX_BATCH_CALLS: usize = 50;
/// The most messages of one question under way at once, be they batches or single calls.
pub const MAX_MESSAGES_AT_ONCE: usize = 4;

/// After so many messages that were answered one of twice the length is tried.
const MESSAGES_PER_TRIAL: usize = 256;

/// How many calls go into one message.
#[derive(Debug)]
pub(super) struct BatchSize {
    /// What the endpoint takes at all.
    most: AtomicUsize,
    /// What its rate limit let pass.
    within_rate: AtomicUsize,
    /// How many messages were answered since one was not taken.
    answered: AtomicUsize,
}

impl Default for BatchSize {
    fn default() -> Self {
        Self {
            most: AtomicUsize::new(MAX_BATCH_CALLS),
            within_rate: AtomicUsize::new(MAX_BATCH_CALLS),
            answered: AtomicUsize::new(0),
        }
    }
}

impl BatchSize {
    pub(super) fn get(&self) -> usize {
        self.most.load(Ordering::Relaxed).min(self.within_rate.load(Ordering::Relaxed)).max(1)
    }

    /// So many calls in one message are not taken.
    fn refused(&self, calls: usize) {
        self.most.fetch_min((calls / 2).max(1), Ordering::Relaxed);
        self.answered.store(0, Ordering::Relaxed);
    }

    /// So many were too much for the rate limit.
    fn limited(&self, calls: usize) {
        self.within_rate.fetch_min((calls / 2).max(1), Ordering::Relaxed);
    }

    /// So many were answered. After many messages longer ones are tried again: what was not taken
    /// may have been a passing fault.
    fn answered(&self, calls: usize) {
        let answered = self.answered.fetch_add(1, Ordering::Relaxed) + 1;
        if answered.is_multiple_of(MESSAGES_PER_TRIAL) {
            let most = self.most.load(Ordering::Relaxed);
            self.most.fetch_max((most * 2).min(MAX_BATCH_CALLS), Ordering::Relaxed);
        }
        if calls >= self.get() {
            let larger = (calls + (calls / 4).max(1)).min(MAX_BATCH_CALLS);
            self.within_rate.fetch_max(larger, Ordering::Relaxed);
        }
    }
}

/// How a batch fared.
enum Batch {
    /// The headers, in order; a call that failed alone is `None` in the outer place.
    Read(Vec<Option<Option<Header>>>),
    /// The endpoint does not take such messages.
    Refused(RpcError),
}

impl EvmRpc {
    /// The headers of many blocks, in the order they were asked for.
    pub async fn headers(&self, blocks: &[BlockTag]) -> Result<Vec<Option<Header>>, RpcError> {
        let size = self.batch_size.get();
        let messages: Vec<_> = blocks.chunks(size).map(|chunk| self.headers_of(chunk)).collect();
        stream::iter(messages).buffered(MAX_MESSAGES_AT_ONCE).try_concat().await
    }

    /// In as few messages as the endpoint takes, one after the other.
    async fn headers_of(&self, blocks: &[BlockTag]) -> Result<Vec<Option<Header>>, RpcError> {
        let (mut headers, mut rest) = (Vec::with_capacity(blocks.len()), blocks);
        while !rest.is_empty() {
            let size = self.batch_size.get().min(rest.len());
            if size < 2 {
                headers.extend(self.one_by_one(rest).await?);
                self.batch_size.answered(1);
                break;
            }
            let (now, later) = rest.split_at(size);
            let batch = self.batch(now).await;
            if let Err(RpcError::RateLimited { .. }) = batch {
                self.batch_size.limited(size);
            }
            match batch? {
                Batch::Refused(error) => {
                    tracing::debug!(%error, calls = size, "a batch was refused");
                    self.batch_size.refused(size);
                }
                Batch::Read(found) => {
                    self.batch_size.answered(size);
                    headers.extend(self.completed(now, found).await?);
                    rest = later;
                }
            }
        }
        Ok(headers)
    }

    /// What is missing of a batch is asked for alone.
    async fn completed(
        &self,
        blocks: &[BlockTag],
        found: Vec<Option<Option<Header>>>,
    ) -> Result<Vec<Option<Header>>, RpcError> {
        let mut headers = Vec::with_capacity(found.len());
        for (block, header) in blocks.iter().zip(found) {
            headers.push(match header {
                Some(header) => header,
                None => self.header(*block).await?,
            });
        }
        Ok(headers)
    }

    async fn one_by_one(&self, blocks: &[BlockTag]) -> Result<Vec<Option<Header>>, RpcError> {
        let calls: Vec<_> = blocks.iter().map(|block| self.header(*block)).collect();
        stream::iter(calls).buffered(MAX_MESSAGES_AT_ONCE).try_collect().await
    }

    async fn batch(&self, blocks: &[BlockTag]) -> Result<Batch, RpcError> {
        let ids = self.take_ids(blocks.len() as u64);
        let calls: Vec<_> = (ids.first..)
            .zip(blocks)
            .map(|(id, block)| {
                let (method, params) = header::call(*block);
                Request::new(id, method, params)
            })
            .collect();
        let body = serde_json::to_vec(&calls).map_err(|error| self.malformed(METHOD, &error))?;
        let limit_bytes = MAX_HEADER_BODY_BYTES.saturating_mul(blocks.len()).min(MAX_BATCH_BODY_BYTES);
        let reply = self.transmit(Outgoing { ids, body, limit_bytes }).await?;
        self.read_batch(ids.first, blocks, &reply)
    }

    fn read_batch(&self, first_id: u64, blocks: &[BlockTag], reply: &Reply) -> Result<Batch, RpcError> {
        let Ok(BatchAnswers(answers)) = serde_json::from_slice(&reply.body) else {
            return self.no_batch(reply);
        };
        let mut found: Vec<Option<Option<Header>>> = vec![None; blocks.len()];
        let mut refusal = None;
        for answer in answers {
            if let Some(error) = &answer.error {
                refusal = match self.refused(METHOD, reply, error) {
                    limited @ RpcError::RateLimited { .. } => return Err(limited),
                    refused => Some(refused),
                };
                continue;
            }
            let place = answer.id().and_then(|id| usize::try_from(id.checked_sub(first_id)?).ok());
            let Some(place) = place.filter(|place| *place < blocks.len()) else { continue };
            let header = answer.result.map(|ReadHeader(header)| header);
            if header.as_ref().is_some_and(|header| !header::answers(blocks[place], header)) {
                // Some gateways mix the ids of a batch up. Alone each call has its own answer.
                return Ok(Batch::Refused(self.malformed(METHOD, &"an answer bears another call's id")));
            }
            found[place] = Some(header);
        }
        if found.iter().any(Option::is_some) {
            return Ok(Batch::Read(found));
        }
        let strange = || self.malformed(METHOD, &"it answers none of the calls");
        Ok(Batch::Refused(refusal.unwrap_or_else(strange)))
    }

    /// What an answer means that is no list: trouble, or that no lists are taken.
    fn no_batch(&self, reply: &Reply) -> Result<Batch, RpcError> {
        let error = match serde_json::from_slice::<Answer<'_, ReadHeader>>(&reply.body) {
            Ok(Answer { error: Some(error), .. }) => self.refused(METHOD, reply, &error),
            _ if !reply.is_success() => self.status(METHOD, reply),
            _ => self.malformed(METHOD, &"it is no list"),
        };
        match error {
            RpcError::RateLimited { .. } | RpcError::Status { status: 401 | 403 | 408 | 500.., .. } => {
                Err(error)
            }
            refused => Ok(Batch::Refused(refused)),
        }
    }
}

/// The answers to a batch. No more are read than calls can have been made: what an empty
/// answer takes in memory is a hundred times what it takes on the wire.
struct BatchAnswers<'a>(Vec<Answer<'a, ReadHeader>>);

impl<'de: 'a, 'a> Deserialize<'de> for BatchAnswers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(BatchVisitor).map(BatchAnswers)
    }
}

struct BatchVisitor;

impl<'de> Visitor<'de> for BatchVisitor {
    type Value = Vec<Answer<'de, ReadHeader>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of up to {MAX_BATCH_CALLS} answers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut answers = Vec::new();
        while let Some(answer) = seq.next_element()? {
            if answers.len() == MAX_BATCH_CALLS {
                return Err(A::Error::invalid_length(answers.len() + 1, &self));
            }
            answers.push(answer);
        }
        Ok(answers)
    }
}

/// How a batch is called in errors.
const METHOD: &str = "a batch of eth_getBlockByNumber";

#[cfg(test)]
mod tests {
    use super::*;

    /// A message that was cut by chance does not make all messages short for ever, and a limit
    /// that is real is not run into all the time.
    #[test]
    fn longer_messages_are_tried_again_after_many_that_were_answered() {
        let size = BatchSize::default();
        for calls in [100, 50, 25] {
            size.refused(calls);
        }
        assert_eq!(size.get(), 12);
        let mut sizes = vec![12];
        for _ in 0..4 * MESSAGES_PER_TRIAL {
            size.answered(size.get());
            if sizes.last() != Some(&size.get()) {
                sizes.push(size.get());
            }
        }
        assert_eq!(sizes, [12, 24, 48, MAX_BATCH_CALLS]);
    }
}
