//! What an endpoint tells that is not so: it lags, or it lies.

use std::collections::BTreeMap;
use std::ops::Range;

use alloy_primitives::{Address, B256, Bytes};
use windlass_core::event::LogEvent;
use windlass_core::payout::submit::NonceTag;
use windlass_core::reader::BlockTag;

/// What is told otherwise than it is.
#[derive(Debug, Default)]
pub(crate) struct Tricks {
    /// Transactions that are told of as mined at a height, and how, and are not.
    pub(crate) receipts: BTreeMap<B256, (u64, bool)>,
    /// How many transactions accounts are said to have sent, at whatever block.
    pub(crate) nonces: BTreeMap<Address, u64>,
    /// Whatever is asked of an account at a height is answered as of the newest block.
    pub(crate) is_height_ignored: bool,
    /// Nonces of transactions that wait to be mined are said to be used up at every height.
    pub(crate) is_waiting_counted: bool,
    /// What calls with these data are answered with, at whatever block.
    pub(crate) calls: BTreeMap<Bytes, Bytes>,
    /// What every call of an account is reverted with.
    pub(crate) refusal: Option<Bytes>,
    /// Another endpoint tells the truth when each endpoint is asked.
    pub(crate) is_honest_beside: bool,
    /// Logs that are told of and that no block has.
    pub(crate) logs: Vec<LogEvent>,
    /// No logs are told of.
    pub(crate) hides_logs: bool,
    /// That one keeps the state of the newest block alone.
    pub(crate) is_honest_pruned: bool,
    /// So many endpoints tell the truth when each endpoint is asked, whatever it is.
    pub(crate) honest: usize,
    /// The newest block is told of as safe and final.
    pub(crate) is_newest_final: bool,
    /// The newest block is told of with so many made-up ones above it.
    pub(crate) made_up: u64,
    /// What those who make blocks are said to want for a unit of gas, in wei.
    pub(crate) priority_fee: Option<u128>,
    /// Accounts are said to have nothing of the chain's coin.
    pub(crate) has_no_coin: bool,
    /// How much gas every call is said to take.
    pub(crate) gas: Option<u64>,
    /// The honest one does not answer.
    pub(crate) is_honest_silent: bool,
    /// Every transaction is refused, in words that nobody listed.
    pub(crate) refuses_sends: bool,
    /// What other endpoints than this one say of the hash of every block, beside it.
    pub(crate) others: Vec<(&'static str, Option<B256>)>,
    /// This one does not answer when each endpoint is asked.
    pub(crate) is_silent: bool,
    /// This one does not know these heights when each endpoint is asked.
    pub(crate) pruned: Range<u64>,
    /// Endpoints that were reported to serve another chain.
    pub(crate) reported: Vec<String>,
    /// An endpoint that is behind answers some questions.
    pub(crate) lag: Option<Lag>,
}

/// An endpoint that is behind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lag {
    /// By so many blocks.
    pub(crate) blocks: u64,
    /// Of so many questions it answers one.
    pub(crate) one_in: u64,
    /// How many were asked.
    pub(crate) asked: u64,
}

impl Tricks {
    /// How far behind whoever answers the next question is.
    pub(crate) fn next_lag(&mut self) -> u64 {
        let Some(lag) = &mut self.lag else { return 0 };
        lag.asked += 1;
        if lag.asked.is_multiple_of(lag.one_in) { lag.blocks } else { 0 }
    }

    /// At which block an account's transactions are counted, whatever was asked.
    pub(crate) fn counted_at(&self, at: NonceTag) -> NonceTag {
        match at {
            NonceTag::Block(BlockTag::Number(_)) if self.is_waiting_counted => NonceTag::Pending,
            NonceTag::Block(_) if self.is_height_ignored => NonceTag::Block(BlockTag::Latest),
            at => at,
        }
    }
}
