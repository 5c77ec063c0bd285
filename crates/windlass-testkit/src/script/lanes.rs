//! Lane numbers of a store and of the model, matched as they first appear.
//!
//! Numbers only have to be unique and to grow: a server burns some in
//! transactions that are rolled back. So two answers are the same when one
//! becomes the other by renaming lanes, each always to the same one.

use std::collections::HashMap;

use super::answer::Answer;
use super::call::Call;

/// No store gets this far: stands for a lane that only the model has seen.
const UNKNOWN_LANE: i64 = 1 << 40;

/// Which lane of the store is which of the model.
#[derive(Debug, Clone, Default)]
pub(super) struct Lanes {
    to_model: HashMap<i64, i64>,
    to_store: HashMap<i64, i64>,
}

impl Lanes {
    /// A call in the words of the store.
    pub(super) fn call(&self, call: &Call) -> Call {
        let mut call = call.clone();
        for lane in call.lanes_mut() {
            *lane = self.to_store.get(lane).copied().unwrap_or(UNKNOWN_LANE + *lane);
        }
        call
    }

    /// The store's answer in the words of the model. Lanes seen for the first time
    /// are taken to be the model's at the same place, if those are new too.
    pub(super) fn answer(&mut self, found: Answer, expected: &Answer) -> Answer {
        let (mut found, mut expected) = (found, expected.clone());
        let expected: Vec<i64> = expected.lanes_mut().into_iter().map(|lane| *lane).collect();
        for (place, lane) in found.lanes_mut().into_iter().enumerate() {
            if let Some(model) = expected.get(place)
                && !self.to_model.contains_key(lane)
                && !self.to_store.contains_key(model)
            {
                self.to_model.insert(*lane, *model);
                self.to_store.insert(*model, *lane);
            }
            *lane = self.to_model.get(lane).copied().unwrap_or(UNKNOWN_LANE + *lane);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::job::JobId;

    use super::*;

    fn ids(lanes: &[i64]) -> Answer {
        Answer::Ids(lanes.iter().map(|lane| JobId { lane: *lane, seq: 1 }).collect())
    }

    #[test]
    fn lanes_are_matched_once_and_for_all() {
        let mut lanes = Lanes::default();
        assert_eq!(lanes.answer(ids(&[10, 30]), &ids(&[1, 2])), ids(&[1, 2]));
        assert_eq!(lanes.answer(ids(&[30, 10]), &ids(&[2, 1])), ids(&[2, 1]));
        assert_ne!(lanes.answer(ids(&[30]), &ids(&[1])), ids(&[1]));
        assert_ne!(lanes.answer(ids(&[40]), &ids(&[2])), ids(&[2]));
        let Call::ShowJob(id) = lanes.call(&Call::ShowJob(JobId { lane: 2, seq: 5 })) else {
            panic!("a call stays what it is")
        };
        assert_eq!(id, JobId { lane: 30, seq: 5 });
    }
}
