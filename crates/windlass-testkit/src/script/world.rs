//! The model in its surroundings: the time, and the tickets handed out so far.

use windlass_core::job::JobTicket;
use windlass_core::lease::Lease;
use windlass_core::outbox::DeliveryHold;
use windlass_core::time::Timestamp;

use super::answer::Answer;
use super::ask::ask_model;
use super::call::Call;
use super::op::{Op, Pick};
use super::plan;
use crate::clock::ManualClock;
use crate::model::Model;

/// How many tickets of a kind are remembered; older ones are forgotten.
const MAX_REMEMBERED: usize = 12;

/// Everything a script's steps depend on.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) model: Model,
    pub(super) now_ms: i64,
    pub(super) leases: Vec<Lease>,
    /// The tickets of one lane, as one claim handed them out.
    pub(super) runs: Vec<Vec<JobTicket>>,
    /// A hold, and the numbers of the messages handed out with it.
    pub(super) holds: Vec<(DeliveryHold, Vec<i64>)>,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            model: Model::default(),
            now_ms: ManualClock::START_MS,
            leases: Vec::new(),
            runs: Vec::new(),
            holds: Vec::new(),
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.now_ms)
    }

    /// Takes a step. Says what was asked of the model and what it answered, unless
    /// the step was not a call or there was nothing to call about.
    pub(super) fn perform(&mut self, op: &Op) -> Option<(Call, Answer)> {
        match op {
            Op::Forward { by_ms } => self.now_ms += i64::from(*by_ms),
            Op::Back { by_ms } => {
                self.now_ms -= i64::from(*by_ms);
                self.model.tally.hit("clock went back");
            }
            Op::Reopen => self.model.tally.hit("handle lost"),
            Op::Crash(op) => {
                let call = plan::call(self, op)?;
                self.model.tally.hit("died before the answer");
                let answer = self.ask(&call);
                return Some((call, answer));
            }
            op => {
                let call = plan::call(self, op)?;
                let answer = self.ask(&call);
                self.remember(&answer);
                return Some((call, answer));
            }
        }
        None
    }

    /// Asks the model now.
    pub(super) fn ask(&mut self, call: &Call) -> Answer {
        let now = self.now();
        ask_model(&mut self.model, call, now)
    }

    fn remember(&mut self, answer: &Answer) {
        match answer {
            Answer::Lease(Some(lease)) => self.leases.push(lease.clone()),
            Answer::Range(Some((_, job))) => self.runs.push(vec![job.ticket]),
            Answer::Jobs(jobs) => {
                let tickets: Vec<JobTicket> = jobs.iter().map(|job| job.ticket).collect();
                self.runs.extend(tickets.chunk_by(|a, b| a.job.lane == b.job.lane).map(<[_]>::to_vec));
            }
            Answer::Messages(runs) => self.holds.extend(
                runs.iter().map(|run| (run.hold, run.messages.iter().map(|message| message.seq).collect())),
            ),
            _ => {}
        }
        forget(&mut self.leases);
        forget(&mut self.runs);
        forget(&mut self.holds);
    }
}

fn forget<T>(remembered: &mut Vec<T>) {
    remembered.drain(..remembered.len().saturating_sub(MAX_REMEMBERED));
}

/// The thing that far back, wrapping around.
pub(super) fn pick<T>(things: &[T], pick: Pick) -> Option<&T> {
    let back = usize::from(pick).checked_rem(things.len())?;
    things.get(things.len() - 1 - back)
}
