//! Sets of sources, as runs of their numbers: many sources that need the same blocks were
//! mostly numbered one after another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A set of sources: runs of numbers in order, with a gap between each two.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SourceSet(Vec<(u32, u32)>);

/// The text is not of the form `0-5,7`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a set of sources has the form `0-5,7`, not `{0}`")]
pub struct SourceSetError(String);

impl SourceSet {
    /// Whether a source is in it.
    pub fn contains(&self, number: u32) -> bool {
        let place = self.0.partition_point(|(_, last)| *last < number);
        self.0.get(place).is_some_and(|(first, _)| *first <= number)
    }

    /// Whether there is no source in it.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|(first, last)| *first..=*last)
    }

    /// Takes those out that are not to be kept.
    pub fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        *self = self.iter().filter(|number| keep(*number)).collect();
    }

    fn push(&mut self, number: u32) {
        match self.0.last_mut() {
            Some((_, last)) if *last >= number => {}
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => self.0.push((number, number)),
        }
    }
}

impl FromIterator<u32> for SourceSet {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        let mut numbers: Vec<u32> = numbers.into_iter().collect();
        numbers.sort_unstable();
        let mut set = Self::default();
        numbers.into_iter().for_each(|number| set.push(number));
        set
    }
}

impl fmt::Display for SourceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (first, last)) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for SourceSet {
    type Err = SourceSetError;
    fn from_str(text: &str) -> Result<Self, SourceSetError> {
        let run = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.parse().ok()?, last.parse().ok()?);
            (first <= last).then_some((first, last))
        };
        let parts = text.split(',').filter(|_| !text.is_empty());
        let runs: Option<Vec<(u32, u32)>> = parts.map(run).collect();
        let in_order = |runs: &Vec<(u32, u32)>| runs.windows(2).all(|pair| pair[0].1 < pair[1].0);
        runs.filter(in_order).map(Self).ok_or_else(|| SourceSetError(text.to_owned()))
    }
}

impl TryFrom<String> for SourceSet {
    type Error = SourceSetError;
    fn try_from(text: String) -> Result<Self, SourceSetError> {
        text.parse()
    }
}

impl From<SourceSet> for String {
    fn from(set: SourceSet) -> Self {
        set.to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a set that holds every number by itself.
        #[test]
        fn it_behaves_like_a_set_of_numbers_and_reads_back(
            numbers in proptest::collection::vec(0_u32..40, 0..40),
            odd in any::<bool>(),
        ) {
            let mut model: BTreeSet<u32> = numbers.iter().copied().collect();
            let mut set: SourceSet = numbers.into_iter().collect();
            if odd {
                set.retain(|number| number % 2 == 1);
                model.retain(|number| number % 2 == 1);
            }
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), model.iter().copied().collect::<Vec<_>>());
            prop_assert!((0..50).all(|number| set.contains(number) == model.contains(&number)));
            prop_assert_eq!(set.is_empty(), model.is_empty());
            prop_assert_eq!(set.to_string().parse::<SourceSet>(), Ok(set));
        }
    }

    #[test]
    fn what_is_no_set_is_refused() {
        for text in [",", "1-", "2-1", "3,3", "5,1", "a", "1 2"] {
            assert_eq!(text.parse::<SourceSet>(), Err(SourceSetError(text.to_owned())));
        }
        assert_eq!("0-5,7".parse::<SourceSet>().map(|set| set.to_string()), Ok("0-5,7".to_owned()));
    }
}
