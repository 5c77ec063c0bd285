//! What survives a restart. Whatever is read is taken for a hint: what makes no sense is
//! left out, and no more is taken than can be remembered.

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{Fingerprint, Learner, Lesson, MAX_LESSONS, Remembered};

/// What one endpoint taught.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SavedEndpoint {
    /// Which endpoint, as it may be shown.
    pub(crate) place: String,
    filters: Vec<SavedLesson>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SavedLesson {
    filter: String,
    blocks: u64,
    taken: u64,
    wanted_logs: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<u64>,
}

impl Learner {
    /// Everything that is known, the filter used last first.
    pub(crate) fn save(&self, place: String) -> SavedEndpoint {
        let lessons = self.lock();
        let mut known: Vec<_> = lessons.by_filter.iter().collect();
        known.sort_unstable_by_key(|(_, known)| std::cmp::Reverse(known.used));
        let filters = known
            .into_iter()
            .map(|(filter, known)| {
                let (blocks, taken, wanted_logs, refused) = known.lesson.parts();
                SavedLesson { filter: filter.to_string(), blocks, taken, wanted_logs, refused }
            })
            .collect();
        SavedEndpoint { place, filters }
    }

    /// Takes what was saved, except for filters of which more is known by now.
    pub(crate) fn restore(&self, saved: SavedEndpoint) {
        let now = Instant::now();
        let mut lessons = self.lock();
        for entry in saved.filters.into_iter().take(MAX_LESSONS).rev() {
            let Some(filter) = Fingerprint::parse(&entry.filter) else { continue };
            let parts = (entry.blocks, entry.taken, entry.wanted_logs, entry.refused);
            lessons.clock += 1;
            let used = lessons.clock;
            let lesson = Lesson::from_parts(&self.options, parts, now);
            lessons.by_filter.entry(filter).or_insert(Remembered { lesson, used });
        }
        lessons.forget_the_oldest();
    }
}
