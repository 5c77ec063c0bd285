//! From a log to the tables it belongs to.
//!
//! A log belongs to a source by its address and its first topic. Of one index it goes
//! to one table at most: the first whose event it fits, so an ERC-20 and an ERC-721
//! `Transfer`, which share their first topic, part here. Of several indexes it goes to
//! one table each.
//!
//! Nothing is lost: a log that belongs to a source and fits none of its events is kept
//! as it is, with the reason. What belongs to nobody came along because a filter is
//! every address with every first topic; it is counted and dropped.
//!
//! An anonymous event has no first topic to be known by. What its contract emits is its
//! log if it fits, and if no other event of that index has that first topic; if it does
//! not fit, it is taken for another event's.

mod sorted;

use std::collections::BTreeSet;
use std::sync::Arc;

use alloy_primitives::map::{AddressMap, B256Map, HashMap};

pub use self::sorted::{MAX_MISFITS, MisfitReport, Sorted};
use crate::abi::{Decoder, Misfit};
use crate::chain::{Address, B256, ChainId};
use crate::event::LogEvent;
use crate::index::{Contracts, IndexSpec};
use crate::reader::LogFilter;
use crate::table::{Identifier, RowHead, TableSpec};

/// An event that is listened for.
#[derive(Debug, Clone)]
pub struct Source {
    /// Where its logs go.
    pub table: Arc<TableSpec>,
    /// How they are read.
    pub decoder: Arc<Decoder>,
    /// Who emits them.
    pub addresses: Arc<[Address]>,
}

impl IndexSpec {
    /// What it listens for. `created` are the contracts that are known to have been
    /// created, where it is about such.
    pub fn sources(&self, created: &[Address]) -> Vec<Source> {
        let source = |(event, table): (&_, &Arc<TableSpec>), addresses: &Arc<[Address]>| Source {
            table: table.clone(),
            decoder: Arc::new(Decoder::new(event)),
            addresses: addresses.clone(),
        };
        let mut sources = Vec::with_capacity(self.events.len() + 1);
        let listened: Arc<[Address]> = match &self.contracts {
            Contracts::Fixed(addresses) => addresses.as_slice().into(),
            Contracts::Created { by, event, .. } => {
                let creation = self.creation.iter().map(|creation| (event, &creation.table));
                sources.extend(creation.map(|creation| source(creation, &by.as_slice().into())));
                created.into()
            }
        };
        sources.extend(self.events.iter().map(|(event, table)| source((event, table), &listened)));
        sources
    }
}

/// Sorts logs of one chain into tables.
#[derive(Debug, Clone)]
pub struct Router {
    chain: ChainId,
    tables: Vec<Arc<TableSpec>>,
    topics: BTreeSet<B256>,
    hears_anonymous: bool,
    /// Addresses that are listened to alike share a listener: contracts of a factory are many.
    listener_of: AddressMap<usize>,
    listeners: Vec<Listener>,
}

/// What is listened for at an address.
#[derive(Debug, Clone, Default)]
struct Listener {
    by_topic: B256Map<Vec<Claim>>,
    anonymous: Vec<Claim>,
}

/// The events of one index that a log may be of, in the index's order.
#[derive(Debug, Clone)]
struct Claim {
    index: Identifier,
    ways: Vec<Way>,
}

#[derive(Debug, Clone)]
struct Way {
    table: usize,
    decoder: Arc<Decoder>,
}

impl Router {
    /// Listens to these sources; those of other chains are left out.
    pub fn new(chain: ChainId, sources: &[Source]) -> Self {
        let sources: Vec<&Source> = sources.iter().filter(|source| source.table.chain == chain).collect();
        let mut router = Self {
            chain,
            tables: Vec::new(),
            topics: sources.iter().filter_map(|source| source.decoder.topic0()).collect(),
            hears_anonymous: sources.iter().any(|source| source.decoder.topic0().is_none()),
            listener_of: AddressMap::default(),
            listeners: Vec::new(),
        };
        let ways: Vec<Way> = sources.iter().map(|source| router.way(source)).collect();
        let mut shared: HashMap<Vec<usize>, usize> = HashMap::default();
        for (address, heard) in heard_at(&sources) {
            let listener = *shared.entry(heard).or_insert_with_key(|heard| {
                router.listeners.push(listener(heard.iter().map(|&place| (sources[place], &ways[place]))));
                router.listeners.len() - 1
            });
            router.listener_of.insert(address, listener);
        }
        router
    }

    fn way(&mut self, source: &Source) -> Way {
        let known = self.tables.iter().position(|table| table.name == source.table.name);
        let table = known.unwrap_or_else(|| {
            self.tables.push(source.table.clone());
            self.tables.len() - 1
        });
        Way { table, decoder: source.decoder.clone() }
    }

    /// Whether it listens to nobody.
    pub fn is_empty(&self) -> bool {
        self.listener_of.is_empty()
    }

    /// The filter that gets every log of its sources: each address with each first
    /// topic, or with any if there is an anonymous event. A filter without addresses
    /// would get everybody's logs; whoever listens to nobody asks for those of the zero
    /// address, which emits none.
    pub fn filter(&self) -> LogFilter {
        let mut addresses: Vec<Address> = self.listener_of.keys().copied().collect();
        addresses.sort_unstable();
        if addresses.is_empty() {
            addresses.push(Address::ZERO);
        }
        let any = self.hears_anonymous || self.topics.is_empty();
        let topics = if any { Vec::new() } else { vec![self.topics.iter().copied().collect()] };
        LogFilter { addresses, topics }
    }

    /// Adds a log to the rows of the tables it belongs to.
    pub fn route(&self, log: &LogEvent, out: &mut Sorted) {
        let place = if log.chain == self.chain { self.listener_of.get(&log.address) } else { None };
        let Some(listener) = place.and_then(|place| self.listeners.get(*place)) else {
            out.strangers += 1;
            return;
        };
        let head = RowHead {
            block: log.block,
            log_index: log.log_index,
            timestamp_s: log.timestamp_s,
            transaction_hash: log.transaction_hash,
            address: log.address,
        };
        let topic0 = log.topics.as_slice().first();
        let named = topic0.and_then(|topic0| listener.by_topic.get(topic0)).map_or(&[][..], Vec::as_slice);
        let mut is_whole = true;
        for claim in named {
            if let Err((table, reason)) = self.settle(claim, head, log, out) {
                out.refuse(log, self.tables[table].name.clone(), reason);
                is_whole = false;
            }
        }
        if !is_whole {
            out.raw.push(log.clone());
        }
        let mut is_strange = named.is_empty();
        for claim in &listener.anonymous {
            let is_known = named.iter().any(|known| known.index == claim.index);
            if !is_known && self.settle(claim, head, log, out).is_ok() {
                is_strange = false;
            }
        }
        out.strangers += u64::from(is_strange);
    }

    /// Adds a log to the first table of an index that it fits; the reason why it fits
    /// none, with the table that came nearest.
    fn settle(
        &self,
        claim: &Claim,
        head: RowHead,
        log: &LogEvent,
        out: &mut Sorted,
    ) -> Result<(), (usize, Misfit)> {
        let mut nearest: Option<(usize, Misfit)> = None;
        for way in &claim.ways {
            let rows = out.rows_of(way.table, &self.tables[way.table]);
            let put = rows.push_with(head, |into| way.decoder.decode(&log.topics, &log.data, into));
            let misfit = match put {
                Ok(true) => return Ok(()),
                Ok(false) => Misfit::Columns,
                Err(misfit) => misfit,
            };
            out.forget_if_empty(way.table);
            let is_nearer = matches!(nearest, None | Some((_, Misfit::Topics { .. })));
            if is_nearer {
                nearest = Some((way.table, misfit));
            }
        }
        nearest.map_or(Ok(()), Err)
    }
}

/// For each address the sources that listen to it, by place, in the order of addresses.
fn heard_at(sources: &[&Source]) -> Vec<(Address, Vec<usize>)> {
    let mut pairs: Vec<(Address, usize)> = sources
        .iter()
        .enumerate()
        .flat_map(|(place, source)| source.addresses.iter().map(move |address| (*address, place)))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let same_address = |a: &(Address, usize), b: &(Address, usize)| a.0 == b.0;
    let heard = |group: &[(Address, usize)]| group.iter().map(|(_, place)| *place).collect();
    pairs.chunk_by(same_address).filter_map(|group| Some((group.first()?.0, heard(group)))).collect()
}

fn listener<'a>(sources: impl Iterator<Item = (&'a Source, &'a Way)>) -> Listener {
    let mut listener = Listener::default();
    for (source, way) in sources {
        let claims = match way.decoder.topic0() {
            Some(topic0) => listener.by_topic.entry(topic0).or_default(),
            None => &mut listener.anonymous,
        };
        match claims.iter_mut().find(|claim| claim.index == source.table.index) {
            Some(claim) => claim.ways.push(way.clone()),
            None => claims.push(Claim { index: source.table.index.clone(), ways: vec![way.clone()] }),
        }
    }
    listener
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{U256, keccak256};
    use proptest::prelude::*;

    use super::*;
    use crate::abi::EventShape;
    use crate::chain::{BlockRef, Bytes};
    use crate::event::Topics;
    use crate::index::Start;
    use crate::table::Value;

    const ERC20: &str = "Transfer(address indexed from, address indexed to, uint256 value)";
    const ERC721: &str = "Transfer(address indexed from, address indexed to, uint256 indexed id)";
    const NOTE: &str = "Note(bytes4 indexed sig, address indexed who) anonymous";
    const MADE: &str = "Made(address pool)";

    fn shape(text: &str) -> EventShape {
        text.parse().expect("an event")
    }

    fn chain() -> ChainId {
        ChainId::new(1).expect("an id")
    }

    fn index(name: &str, addresses: &[u8], events: &[&str]) -> IndexSpec {
        let contracts = Contracts::Fixed(addresses.iter().map(|byte| Address::repeat_byte(*byte)).collect());
        let events = events.iter().map(|text| shape(text)).collect();
        let name = Identifier::new(name).expect("a name");
        IndexSpec::new(name, chain(), contracts, Start::Block(0), events, &[]).expect("an index")
    }

    fn router(indexes: &[IndexSpec]) -> Router {
        let sources: Vec<Source> = indexes.iter().flat_map(|index| index.sources(&[])).collect();
        Router::new(chain(), &sources)
    }

    fn log(address: u8, topics: &[B256], data: &[u8]) -> LogEvent {
        LogEvent {
            chain: chain(),
            block: BlockRef { number: 5, hash: B256::repeat_byte(5) },
            log_index: 6,
            timestamp_s: 7,
            transaction_hash: B256::repeat_byte(8),
            address: Address::repeat_byte(address),
            topics: Topics::new(topics).expect("few enough"),
            data: Bytes::copy_from_slice(data),
        }
    }

    fn transfer(address: u8, indexed: usize) -> LogEvent {
        let topic0 = keccak256("Transfer(address,address,uint256)");
        let topics: Vec<B256> = [topic0].into_iter().chain(vec![B256::with_last_byte(1); indexed]).collect();
        log(address, &topics, &vec![1; (3 - indexed) * 32])
    }

    fn sort(router: &Router, logs: &[LogEvent]) -> Sorted {
        let mut sorted = Sorted::default();
        logs.iter().for_each(|log| router.route(log, &mut sorted));
        sorted
    }

    fn counts(sorted: &Sorted) -> Vec<(&str, usize)> {
        let mut counts: Vec<_> =
            sorted.tables.iter().map(|rows| (rows.table().name.as_str(), rows.len())).collect();
        counts.sort_unstable();
        counts
    }

    #[test]
    fn a_log_becomes_a_row() {
        let router = router(&[index("t", &[1], &[ERC20])]);
        let sorted = sort(&router, &[transfer(1, 2)]);
        let (head, values) = sorted.tables[0].iter().next().expect("a row");
        assert_eq!((head.block.number, head.log_index, head.timestamp_s), (5, 6, 7));
        assert_eq!((head.transaction_hash, head.address), (B256::repeat_byte(8), Address::repeat_byte(1)));
        assert_eq!(values[2], Value::Uint(U256::from_be_bytes([1; 32])));
        assert_eq!(sorted.row_count(), 1);
    }

    #[test]
    fn transfers_of_both_standards_part() {
        let router = router(&[index("t", &[1], &[ERC20, ERC721])]);
        let sorted = sort(&router, &[transfer(1, 2), transfer(1, 3), transfer(1, 3)]);
        assert_eq!(counts(&sorted), [("t_transfer", 1), ("t_transfer_ddf252ad", 2)]);
        assert!(sorted.raw.is_empty());
    }

    #[test]
    fn a_log_goes_to_every_index_that_wants_it() {
        let router = router(&[index("a", &[1], &[ERC20]), index("b", &[1, 2], &[ERC20])]);
        let sorted = sort(&router, &[transfer(1, 2), transfer(2, 2)]);
        assert_eq!(counts(&sorted), [("a_transfer", 1), ("b_transfer", 2)]);
    }

    #[test]
    fn a_misfit_is_kept_as_it_is_with_its_reason() {
        let router = router(&[index("a", &[1], &[ERC20]), index("b", &[1], &[ERC20, ERC721])]);
        let misfits = [transfer(1, 3), transfer(1, 1)];
        let sorted = sort(&router, &misfits);
        assert_eq!(counts(&sorted), [("b_transfer_ddf252ad", 1)]);
        assert_eq!(sorted.raw, misfits, "each once, whoever refused it");
        assert_eq!(sorted.misfit_count, 3);
        assert_eq!(sorted.misfits[0].table.as_str(), "a_transfer");
        assert_eq!(sorted.misfits[0].reason, Misfit::Topics { expected: 3, found: 4 });
        assert_eq!(sorted.strangers, 0);
    }

    #[test]
    fn reasons_are_bounded_and_counts_are_not() {
        let router = router(&[index("a", &[1], &[ERC20])]);
        let sorted = sort(&router, &vec![transfer(1, 1); MAX_MISFITS + 5]);
        assert_eq!(sorted.misfits.len(), MAX_MISFITS);
        assert_eq!(sorted.misfit_count, MAX_MISFITS as u64 + 5);
        assert_eq!(sorted.raw.len(), MAX_MISFITS + 5);
        assert!(sorted.tables.is_empty(), "a table without rows is not there");
    }

    #[test]
    fn the_misfit_that_came_nearest_is_told() {
        let router = router(&[index("a", &[1], &[ERC721, ERC20])]);
        let mut short = transfer(1, 2);
        short.data = Bytes::new();
        let sorted = sort(&router, &[short]);
        assert_eq!(sorted.misfits[0].reason, Misfit::TooShort { expected: 32, found: 0 });
        assert_eq!(sorted.misfits[0].table.as_str(), "a_transfer_ddf252ad");
    }

    #[test]
    fn what_came_along_is_dropped_and_counted() {
        let router = router(&[index("a", &[1], &[ERC20]), index("b", &[2], &["Other()"])]);
        let mut elsewhere = transfer(1, 2);
        elsewhere.chain = ChainId::new(2).expect("an id");
        let other = log(1, &[keccak256("Other()")], &[]);
        let sorted = sort(&router, &[transfer(2, 2), other, transfer(3, 2), log(1, &[], &[]), elsewhere]);
        assert_eq!(sorted.strangers, 5);
        assert!(sorted.tables.is_empty() && sorted.raw.is_empty());
    }

    #[test]
    fn an_anonymous_event_takes_what_fits_and_nobody_else_has() {
        let router = router(&[index("a", &[1], &[NOTE, ERC20]), index("b", &[1], &[NOTE])]);
        let mut sig = B256::ZERO;
        sig.0[..4].copy_from_slice(&[1, 2, 3, 4]);
        let note = log(1, &[sig, B256::with_last_byte(1)], &[]);
        let unfit = log(1, &[B256::repeat_byte(1), B256::ZERO], &[]);
        let sorted = sort(&router, &[note, unfit, transfer(1, 2), transfer(1, 1)]);
        assert_eq!(counts(&sorted), [("a_note", 1), ("a_transfer", 1), ("b_note", 1)]);
        assert_eq!(sorted.strangers, 1);
        assert_eq!(sorted.raw.len(), 1);
    }

    #[test]
    fn the_filter_is_every_address_with_every_first_topic() {
        let two = router(&[index("a", &[3, 1], &[ERC20, ERC721]), index("b", &[1, 2], &["Other()"])]);
        let filter = two.filter();
        assert_eq!(filter.addresses, [1, 2, 3].map(Address::repeat_byte));
        let mut topics = [keccak256("Transfer(address,address,uint256)"), keccak256("Other()")];
        topics.sort_unstable();
        assert_eq!(filter.topics, [topics]);
        let anonymous = router(&[index("a", &[1], &[ERC20, NOTE])]);
        assert!(anonymous.filter().topics.is_empty());
    }

    #[test]
    fn who_listens_to_nobody_gets_nothing() {
        let nobody = Router::new(chain(), &[]);
        assert!(nobody.is_empty());
        assert_eq!(nobody.filter().addresses, [Address::ZERO]);
        let sources = index("a", &[1], &[ERC20]).sources(&[]);
        assert!(Router::new(ChainId::new(2).expect("an id"), &sources).is_empty(), "another chain's");
    }

    #[test]
    fn created_contracts_are_listened_to_once_they_are_known() {
        let contracts = Contracts::Created {
            by: vec![Address::repeat_byte(9)],
            event: shape(MADE),
            field: "pool".to_owned(),
        };
        let name = Identifier::new("dex").expect("a name");
        let index = IndexSpec::new(name, chain(), contracts, Start::Deployment, vec![shape(ERC20)], &[])
            .expect("an index");
        let made = log(9, &[keccak256("Made(address)")], Address::repeat_byte(1).into_word().as_slice());
        let logs = [made, transfer(1, 2)];
        let before = sort(&Router::new(chain(), &index.sources(&[])), &logs);
        assert_eq!(counts(&before), [("dex_made", 1)]);
        assert_eq!(before.strangers, 1);
        let creation = index.creation.as_ref().expect("a creation");
        let created: Vec<Address> = before.tables[0]
            .iter()
            .filter_map(|(_, values)| match values[creation.column] {
                Value::Address(address) => Some(address),
                _ => None,
            })
            .collect();
        let after = sort(&Router::new(chain(), &index.sources(&created)), &logs);
        assert_eq!(counts(&after), [("dex_made", 1), ("dex_transfer", 1)]);
    }

    #[test]
    fn many_contracts_share_what_is_listened_for() {
        let created: Vec<Address> =
            (0..10_000_u64).map(|number| Address::from_word(U256::from(number + 1).into())).collect();
        let mut sources = index("a", &[1], &[ERC20, ERC721, "Other()"]).sources(&[]);
        sources.iter_mut().for_each(|source| source.addresses = created.as_slice().into());
        let router = Router::new(chain(), &sources);
        assert_eq!(router.listeners.len(), 1);
        assert_eq!(router.filter().addresses, created);
        let mut of_last = transfer(1, 2);
        of_last.address = created[9_999];
        assert_eq!(sort(&router, &[of_last]).row_count(), 1);
    }

    #[test]
    fn rows_may_be_taken_away_between_logs() {
        let router = router(&[index("a", &[1], &[ERC20, ERC721])]);
        let mut sorted = sort(&router, &[transfer(1, 2), transfer(1, 3)]);
        assert_eq!(std::mem::take(&mut sorted.tables).len(), 2);
        router.route(&transfer(1, 3), &mut sorted);
        router.route(&transfer(1, 2), &mut sorted);
        assert_eq!(counts(&sorted), [("a_transfer", 1), ("a_transfer_ddf252ad", 1)]);
    }

    proptest! {
        #[test]
        fn every_log_is_a_row_or_kept_or_counted(
            logs in prop::collection::vec((0_u8..4, 0_usize..4, 0_u8..3, any::<bool>()), 0..60),
        ) {
            let router = router(&[index("a", &[1, 2], &[ERC20, ERC721]), index("b", &[3], &["Other()"])]);
            let filter = router.filter();
            let logs: Vec<LogEvent> = logs
                .into_iter()
                .map(|(address, indexed, kind, short)| {
                    let other = || log(address, &[keccak256("Other()")], &[]);
                    let mut log = if kind == 0 { other() } else { transfer(address, indexed) };
                    if short {
                        log.data = Bytes::new();
                    }
                    log
                })
                .collect();
            let sorted = sort(&router, &logs);
            prop_assert_eq!(sorted.row_count() + sorted.raw.len() + sorted.strangers as usize, logs.len());
            let strangers = sorted.strangers as usize;
            prop_assert!(logs.iter().filter(|log| !filter.matches(log)).count() <= strangers);
            prop_assert!(sorted.tables.iter().all(|rows| !rows.is_empty()));
        }
    }
}
