//! Which events a contract's first logs are of. A signature that none of them has is likely
//! a slip: its table would stay empty, and nobody would be told.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use windlass_core::abi::EventShape;
use windlass_core::chain::{Address, B256};
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, ChainReader, LogFilter, LogSpan};

use super::draft::Draft;

/// So many logs are looked at.
const MAX_LOGS: u64 = 1_000;
/// The fewest logs that say something where there are no more: those of a new contract may all
/// come from making it.
const MIN_ALL_LOGS: u64 = 10;
/// The fewest logs that say something where neither the thousandth log nor the head was reached.
const MIN_LOGS: u64 = 100;
/// The most questions that are asked of the endpoints.
const MAX_QUESTIONS: u32 = 24;
/// How many times as large each range is as the one before.
const GROWTH: u64 = 4;
/// The most contracts of one index that are looked at.
const MAX_CONTRACTS: usize = 50;
/// The most topics that a message lists.
const MAX_SHOWN_TOPICS: usize = 8;

/// What to do about an event that was not seen.
pub(crate) const HINT: &str = "compare the event's types, and which of them are `indexed`, with the contract's source or ABI; \
                               an event that is rare may still come";

/// The first logs of an index's contracts, by topic.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    logs: u64,
    /// How many logs have which first topic and how many topics.
    topics: BTreeMap<B256, BTreeMap<usize, u64>>,
    /// Whether there are no more logs than these.
    is_whole: bool,
}

impl Sample {
    /// Looks at the first logs of an index's contracts, from a block on.
    pub(crate) async fn read(
        reader: &dyn ChainReader,
        draft: &Draft,
        start: u64,
    ) -> Result<Self, ChainError> {
        let addresses = draft.contracts().iter().take(MAX_CONTRACTS).copied().collect();
        Self::of(reader, addresses, start).await
    }

    async fn of(reader: &dyn ChainReader, addresses: Vec<Address>, start: u64) -> Result<Self, ChainError> {
        let filter = LogFilter { addresses, topics: Vec::new() };
        let head = reader.header(BlockTag::Latest).await?.map_or(0, |head| head.block.number);
        let mut sample = Self::default();
        let (mut next, mut size, mut largest) = (start, 1_u64, u64::MAX);
        for _ in 0..MAX_QUESTIONS {
            if next > head || sample.logs >= MAX_LOGS {
                break;
            }
            let range = BlockRange { from: next, to: next.saturating_add(size - 1).min(head) };
            match reader.logs(LogSpan::Range(range), &filter).await {
                Ok(logs) => {
                    sample.add(logs.iter().map(|log| {
                        let topics = log.topics.as_slice();
                        (topics.first().copied(), topics.len())
                    }));
                    next = range.to.saturating_add(1);
                    size = size.saturating_mul(GROWTH).min(largest);
                }
                Err(error) if size > 1 && matches!(error.kind, ChainErrorKind::RangeTooLarge { .. }) => {
                    largest = (size / GROWTH).max(1);
                    size = largest;
                }
                Err(error) => return Err(error),
            }
        }
        sample.is_whole = next > head;
        Ok(sample)
    }

    /// Adds logs: the first topic of each, and how many it has.
    fn add(&mut self, logs: impl Iterator<Item = (Option<B256>, usize)>) {
        let room = MAX_LOGS.saturating_sub(self.logs);
        for (topic, count) in logs.take(usize::try_from(room).unwrap_or(usize::MAX)) {
            self.logs += 1;
            if let Some(topic) = topic {
                *self.topics.entry(topic).or_default().entry(count).or_default() += 1;
            }
        }
    }

    /// What is said of each event that none of the logs is of, or whose logs have another
    /// number of indexed values. Nothing where too few logs were seen to say anything.
    pub(crate) fn unseen(&self, draft: &Draft) -> Vec<String> {
        let is_telling =
            self.logs >= MAX_LOGS || self.logs >= MIN_LOGS || (self.is_whole && self.logs >= MIN_ALL_LOGS);
        if !is_telling {
            return Vec::new();
        }
        let of_event = |(event, topic): (&EventShape, B256)| match self.topics.get(&topic) {
            None => Some(self.message(draft, event.signature(), topic)),
            Some(counts) if !counts.contains_key(&event.topic_count()) => Some(misfit(event, counts)),
            Some(_) => None,
        };
        draft.emitted().into_iter().filter_map(of_event).collect()
    }

    fn message(&self, draft: &Draft, signature: &str, topic: B256) -> String {
        let contracts = match draft.contracts() {
            [one] => one.to_string(),
            all => format!("{} contracts", all.len().min(MAX_CONTRACTS)),
        };
        let logs = if self.is_whole && self.logs < MAX_LOGS {
            format!("{} logs", self.logs)
        } else {
            format!("first {} logs", self.logs)
        };
        format!("none of the {logs} of {contracts} has `{signature}` ({topic}); there are {}", self.shown())
    }

    /// The topics, most frequent first.
    fn shown(&self) -> String {
        let totals = self.topics.iter().map(|(topic, counts)| (topic, counts.values().sum::<u64>()));
        let mut topics: Vec<(&B256, u64)> = totals.collect();
        topics.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(right.0)));
        if topics.is_empty() {
            return "no topics".to_owned();
        }
        let listed = topics.iter().take(MAX_SHOWN_TOPICS);
        let listed: Vec<String> = listed.map(|(topic, count)| format!("{topic} ({count})")).collect();
        let mut shown = listed.join(", ");
        if topics.len() > MAX_SHOWN_TOPICS {
            // Writing to a `String` cannot fail.
            let _ = write!(shown, " and {} more", topics.len() - MAX_SHOWN_TOPICS);
        }
        shown
    }
}

/// The logs are of this event, and others of its values are indexed than the signature says.
fn misfit(event: &EventShape, counts: &BTreeMap<usize, u64>) -> String {
    let indexed = |topics: usize| topics.saturating_sub(1);
    let logs: u64 = counts.values().sum();
    let found: Vec<String> = counts.keys().map(|topics| indexed(*topics).to_string()).collect();
    format!(
        "the {logs} logs of `{}` have {} indexed values and the signature {}: it fits none of them; \
         is `indexed` missing or misplaced?",
        event.signature(),
        found.join(" or "),
        indexed(event.topic_count()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const EVENTS: &str = "\"Transfer(address indexed a, address indexed b, uint256 c)\", \"E()\"";

    fn draft() -> Draft {
        let contract = format!("0x{}", "11".repeat(20));
        let text = format!(
            "[chain.a]\nid = 1\nrpc = ['http://h']\n[index.i]\nchain = 'a'\ncontract = '{contract}'\n\
             start = 0\nevents = [{EVENTS}]\n"
        );
        let config: Config = toml::from_str(&text).expect("a configuration");
        Draft::all(&config).expect("an index").remove(0)
    }

    /// So many logs of `E()`, and so many of each of some others.
    fn sample(own: u64, others: &[u64]) -> Sample {
        let (_, topic) = draft().emitted()[1];
        let mut sample = Sample::default();
        sample.add((0..own).map(|_| (Some(topic), 1)));
        for (byte, count) in (1..).zip(others) {
            sample.add((0..*count).map(|_| (Some(B256::repeat_byte(byte)), 1)));
        }
        sample
    }

    #[test]
    fn an_event_that_was_not_seen_is_told_with_the_topics_that_were() {
        let told = sample(700, &[100, 200]).unseen(&draft());
        let [told] = told.as_slice() else { panic!("one event was not seen: {told:?}") };
        assert!(told.starts_with("none of the first 1000 logs of 0x1111"), "{told}");
        assert!(told.contains("`Transfer(address indexed,address indexed,uint256)` (0xddf252ad"), "{told}");
        let frequent = format!("(700), {} (200), {} (100)", B256::repeat_byte(2), B256::repeat_byte(1));
        assert!(told.ends_with(&frequent), "{told}");
    }

    #[test]
    fn an_event_with_other_indexed_values_than_its_logs_is_told() {
        let draft = draft();
        let (_, transfer) = draft.emitted()[0];
        let mut logs = sample(200, &[]);
        logs.add((0..300).map(|_| (Some(transfer), 1)));
        let told = logs.unseen(&draft);
        let [told] = told.as_slice() else { panic!("one event fits no log: {told:?}") };
        assert_eq!(
            told,
            "the 300 logs of `Transfer(address indexed,address indexed,uint256)` have 0 indexed values and the \
             signature 2: it fits none of them; is `indexed` missing or misplaced?"
        );
        logs.add([(Some(transfer), 3)].into_iter());
        assert_eq!(logs.unseen(&draft), Vec::<String>::new(), "one fits");
    }

    #[test]
    fn only_the_first_thousand_logs_count() {
        let full = sample(999, &[500, 500]);
        assert_eq!(full.logs, MAX_LOGS);
        assert_eq!(full.topics.get(&B256::repeat_byte(1)), Some(&BTreeMap::from([(1, 1)])));
        assert_eq!(full.topics.get(&B256::repeat_byte(2)), None);
    }

    #[test]
    fn too_few_logs_say_nothing_unless_there_are_no_more() {
        assert_eq!(sample(0, &[MIN_LOGS - 1]).unseen(&draft()), Vec::<String>::new());
        assert_eq!(sample(0, &[MIN_LOGS]).unseen(&draft()).len(), 2);
        let few = Sample { is_whole: true, ..sample(0, &[10]) };
        assert!(few.unseen(&draft())[0].starts_with("none of the 10 logs of"));
        let fewer = Sample { is_whole: true, ..sample(0, &[9]) };
        assert_eq!(fewer.unseen(&draft()), Vec::<String>::new(), "a contract that was just made");
        assert_eq!(Sample { is_whole: true, ..Sample::default() }.unseen(&draft()), Vec::<String>::new());
    }

    #[test]
    fn a_great_many_topics_are_counted_and_not_all_shown() {
        let told = sample(0, &[10; 12]).unseen(&draft());
        assert!(told[0].ends_with(" and 4 more"), "{}", told[0]);
    }
}
