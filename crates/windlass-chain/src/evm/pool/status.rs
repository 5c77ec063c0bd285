//! How an endpoint fares, to be shown.

use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::compare::Distrust;
use super::health::Health;
use crate::evm::learn::Learned;

/// An endpoint that has failed and not answered for so long is told.
const TROUBLED_MS: u64 = 3_000;

/// One endpoint's state, for `status`, metrics and `doctor`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EndpointStatus {
    /// Which one: what may be printed of its URL.
    pub place: String,
    /// Whether nothing speaks against it.
    pub healthy: bool,
    /// For how long it is not asked, if it is left out.
    pub left_out_ms: Option<u64>,
    /// Its last trouble, if it has not answered since.
    pub trouble: Option<String>,
    /// For how long it has not answered.
    pub troubled_ms: Option<u64>,
    /// Whether it has asked for fewer requests of late.
    pub is_limited: bool,
    /// How many calls a second it takes, once it has refused more.
    pub calls_per_s: Option<f64>,
    /// How long its answers take, on average.
    pub latency_ms: Option<f64>,
    /// How many questions it has now.
    pub in_flight: u32,
    /// How many it gets at once.
    pub concurrency: u32,
    /// How many questions it was asked.
    pub requests: u64,
    /// How many it failed to answer.
    pub errors: u64,
    /// How often it wanted fewer.
    pub limited: u64,
    /// How often another was asked too because it was slow, and was faster.
    pub hedged: u64,
    /// The newest block that it is known to have.
    pub head: Option<u64>,
    /// By how many blocks its head is behind another endpoint's.
    pub behind_blocks: Option<u64>,
    /// For how long it is not asked about logs, because they were proven false or it keeps
    /// failing at them.
    pub logs_set_aside_ms: Option<u64>,
    /// Why.
    pub logs_set_aside_why: Option<String>,
    /// How its logs were proven false the last time.
    pub false_answer: Option<String>,
    /// How often its logs were proven false.
    pub false_answers: u64,
    /// What was learned of its log ranges, the filter used last first.
    pub learned: Vec<Learned>,
}

impl EndpointStatus {
    pub(super) fn new(place: String, health: &Health, learned: Vec<Learned>, now: Instant) -> Self {
        let left_out = health.left_out(now).map(|left_out| left_out.until - now);
        Self {
            place,
            healthy: health.is_well(now),
            left_out_ms: left_out.map(ms),
            trouble: health.trouble().map(str::to_owned),
            troubled_ms: health.troubled_for(now).map(ms),
            is_limited: health.is_limited(now),
            calls_per_s: health.rate.per_s(),
            latency_ms: health.overall.ms(),
            in_flight: health.in_flight(),
            concurrency: health.concurrency(now),
            requests: health.counts.requests,
            errors: health.counts.errors,
            limited: health.counts.limited,
            hedged: health.counts.hedged,
            head: health.head(),
            behind_blocks: health.blocks_behind(now),
            logs_set_aside_ms: None,
            logs_set_aside_why: None,
            false_answer: None,
            false_answers: 0,
            learned,
        }
    }

    /// What is the matter with it, in a sentence; nothing when all is well.
    pub fn note(&self) -> Option<String> {
        let place = &self.place;
        if self.logs_set_aside_ms.is_some() {
            let why = self.logs_set_aside_why.as_deref().unwrap_or("its logs were false");
            return Some(format!("{place} is not asked about logs for now: {why}"));
        }
        if self.is_limited {
            let rate = self
                .calls_per_s
                .map_or(String::new(), |rate| format!(" to about {} calls a second", rate.ceil()));
            return Some(format!("{place} is rate limiting{rate}"));
        }
        let why = self.trouble.as_deref().unwrap_or("it fails");
        match (self.left_out_ms, self.troubled_ms) {
            (Some(_), _) => Some(format!("{place} is left out for now: {why}")),
            (None, Some(TROUBLED_MS..)) => Some(format!("{place} has not answered of late: {why}")),
            _ => {
                self.behind_blocks.map(|blocks| format!("{place} is {blocks} blocks behind another endpoint"))
            }
        }
    }

    pub(super) fn distrusted(self, distrust: &Distrust, now: Instant) -> Self {
        let set_aside = distrust.set_aside_for(now);
        Self {
            healthy: self.healthy && set_aside.is_none(),
            logs_set_aside_ms: set_aside.map(ms),
            logs_set_aside_why: set_aside.and_then(|_| distrust.why(now)).map(str::to_owned),
            false_answer: distrust.reason().map(str::to_owned),
            false_answers: distrust.count(),
            ..self
        }
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
