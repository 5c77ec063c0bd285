//! What several endpoints say to one question, and how one of them was proven wrong.

use std::fmt;

use super::ChainError;
use crate::range::BlockRange;

/// The name under which a reader of one endpoint answers for itself.
pub const SOLE_ENDPOINT: &str = "the endpoint";

/// One endpoint's own answer to a question that was put to several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointAnswer<T> {
    /// Which endpoint: what may be printed of its URL.
    pub endpoint: String,
    /// What it said.
    pub answer: Result<T, ChainError>,
}

impl<T> EndpointAnswer<T> {
    /// The answer of a reader that has one endpoint.
    pub fn sole(answer: Result<T, ChainError>) -> Self {
        Self { endpoint: SOLE_ENDPOINT.to_owned(), answer }
    }
}

/// Whether so many endpoints that agree are enough for what cannot be undone: two, or the only one that
/// there is. One endpoint's word is not, while another does not answer.
pub const fn is_quorum(agreeing: usize, asked: usize) -> bool {
    agreeing >= 2 || (agreeing == 1 && asked == 1)
}

/// Of answers to one question that was put to so many endpoints, the one that is enough for what cannot be
/// undone: more than half of those that answer give it, and a quorum of those that were asked.
pub fn agreed<T: PartialEq>(told: &[T], asked: usize) -> Option<&T> {
    told.iter().find(|one| {
        let agreeing = told.iter().filter(|other| other == one).count();
        is_quorum(agreeing, asked) && agreeing > told.len() / 2
    })
}

/// An answer about logs that was proven false.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FalseAnswer {
    /// The blocks it was about.
    pub blocks: BlockRange,
    /// What was wrong with it.
    pub fault: AnswerFault,
}

/// What was wrong with an answer about logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnswerFault {
    /// Logs that the blocks have were not in it.
    MissingLogs,
    /// Logs that the blocks do not have were in it, or logs were altered.
    WrongLogs,
}

impl fmt::Display for FalseAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = match self.fault {
            AnswerFault::MissingLogs => "left out logs",
            AnswerFault::WrongLogs => "sent wrong logs",
        };
        match self.blocks {
            BlockRange { from, to } if from == to => write!(f, "{fault} of block {from}"),
            BlockRange { from, to } => write!(f, "{fault} of blocks {from} to {to}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_takes_two_endpoints_and_more_than_half() {
        assert_eq!(agreed(&[7, 7, 8], 3), Some(&7));
        assert_eq!(agreed(&[8, 7, 7], 3), Some(&7), "whoever answers first");
        assert_eq!(agreed(&[7, 7], 3), Some(&7));
        assert_eq!(agreed(&[7], 1), Some(&7), "the only one that there is");
        assert_eq!(agreed(&[7], 2), None, "another one does not answer");
        assert_eq!(agreed(&[7, 8], 2), None);
        assert_eq!(agreed(&[7, 7, 8, 9], 4), None);
        assert_eq!(agreed::<u8>(&[], 0), None);
    }
}
