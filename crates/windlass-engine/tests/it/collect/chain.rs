//! A chain in memory, made for speed: blocks with parent links, blooms and logs,
//! no machine behind them. What it has on its canonical branch is the truth.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use alloy_primitives::{Address, B256, Bloom, Bytes, U256, keccak256};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use windlass_core::chain::{BlockHeader, BlockRef, ChainId};
use windlass_core::event::{LogEvent, Topics};
use windlass_core::reader::Header;

/// Blocks so deep below the head are final.
pub(crate) const FINALITY_BLOCKS: u64 = 24;
/// The time between two blocks.
const BLOCK_TIME_S: u64 = 2;

/// The contracts whose fees are collected, in the order in which indexes name them.
pub(crate) const COLLECTORS: [Address; 2] = [Address::repeat_byte(0xc0), Address::repeat_byte(0xc1)];
/// A contract of whose events some do not fit their ABI.
pub(crate) const ODD: Address = Address::repeat_byte(0x0d);
/// A contract that creates others, which collect fees.
pub(crate) const FACTORY: Address = Address::repeat_byte(0xfa);
/// Somebody else who uses the same events.
const STRANGER: Address = Address::repeat_byte(0x5a);

/// The events, as a user writes them.
pub(crate) const FEES: &str = "FeesCollected(address indexed token, address indexed integrator, uint256 integratorFee, uint256 lifiFee)";
pub(crate) const MADE: &str = "Made(uint256 indexed number, address child)";
pub(crate) const NOTED: &str = "Noted(uint64 indexed number, string text)";

/// A fee as it was made: what a row must say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fee {
    pub(crate) token: Address,
    pub(crate) integrator: Address,
    pub(crate) fees: [U256; 2],
}

/// What a log means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A fee of a collector.
    Fee(Fee),
    /// A fee of a contract that the factory has created.
    ChildFee(Fee),
    /// The factory has created a contract.
    Made(u64, Address),
    /// A note, with its number and text.
    Note(u64, String),
    /// It does not fit its ABI.
    Misfit,
    /// Nobody wants it.
    Nothing,
}

/// A block.
#[derive(Debug, Clone)]
pub(crate) struct SimBlock {
    pub(crate) header: Header,
    pub(crate) logs: Vec<(LogEvent, Meaning)>,
}

/// The chain.
pub(crate) struct SimChain {
    state: Mutex<State>,
}

struct State {
    id: ChainId,
    random: StdRng,
    canonical: Vec<SimBlock>,
    by_hash: HashMap<B256, SimBlock>,
    finality_blocks: u64,
    finalized: u64,
    made: u64,
    /// Seconds by which blocks are later than their number says.
    delay_s: u64,
    /// Contracts that were created: in the making of which block, at which height.
    children: Vec<(u64, u64, Address)>,
}

/// A log that is to be: who emits it, its topics, its data, what it means.
type Draft = (Address, Vec<B256>, Vec<u8>, Meaning);

impl SimChain {
    /// A chain with nothing but its first block.
    pub(crate) fn new(seed: u64) -> Self {
        Self::with_finality(seed, FINALITY_BLOCKS)
    }

    /// The same, whose blocks are final so deep below the head.
    pub(crate) fn with_finality(seed: u64, finality_blocks: u64) -> Self {
        Self::with_id(seed, finality_blocks, 137)
    }

    /// The same, under another id.
    pub(crate) fn with_id(seed: u64, finality_blocks: u64, id: u64) -> Self {
        let mut state = State {
            id: ChainId::new(id).expect("an id"),
            random: StdRng::seed_from_u64(seed ^ 0x5eed),
            canonical: Vec::new(),
            by_hash: HashMap::new(),
            finality_blocks,
            finalized: 0,
            made: 0,
            delay_s: 0,
            children: Vec::new(),
        };
        state.push(0);
        Self { state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }

    pub(crate) fn id(&self) -> ChainId {
        self.state().id
    }

    /// Adds blocks of up to `most_logs` logs each.
    pub(crate) fn mine(&self, blocks: u64, most_logs: u32) {
        let mut state = self.state();
        for _ in 0..blocks {
            let logs = state.random.random_range(0..=most_logs);
            state.push(logs);
        }
    }

    /// Replaces up to so many blocks, none of them final, by others: one more, or one less.
    /// Says how many.
    pub(crate) fn reorg(&self, depth: u64) -> u64 {
        let mut state = self.state();
        let depth = depth.min(state.head() - state.finalized);
        if depth > 0 {
            state.replace(depth);
        }
        depth
    }

    /// Adds a block with these fees of these contracts, and nothing else.
    pub(crate) fn add(&self, fees: &[(Address, Fee)]) -> BlockRef {
        let mut state = self.state();
        let drafts = fees.iter().map(|(emitter, fee)| fee.draft(*emitter)).collect();
        state.made += 1;
        state.push_drafts(drafts);
        state.canonical.last().expect("it was added").header.block.block_ref()
    }

    /// Takes so many blocks off the top, final or not, and returns them.
    pub(crate) fn take_off(&self, blocks: u64) -> Vec<SimBlock> {
        let mut state = self.state();
        let keep = state.canonical.len() - usize::try_from(blocks).expect("few");
        state.canonical.split_off(keep)
    }

    /// Puts blocks that were taken off this very place back on.
    pub(crate) fn put_back(&self, blocks: Vec<SimBlock>) {
        self.state().canonical.extend(blocks);
    }

    /// Begins anew with another first block, as a node of a test chain does that is started again.
    pub(crate) fn restart(&self) {
        let mut state = self.state();
        state.canonical.clear();
        state.finalized = 0;
        state.push(0);
    }

    /// Every block from now on is later by so many seconds.
    pub(crate) fn delay(&self, seconds: u64) {
        self.state().delay_s += seconds;
    }

    pub(crate) fn head(&self) -> u64 {
        self.state().head()
    }

    pub(crate) fn finalized(&self) -> u64 {
        self.state().finalized
    }

    pub(crate) fn block(&self, number: u64) -> Option<SimBlock> {
        self.state().canonical.get(usize::try_from(number).ok()?).cloned()
    }

    pub(crate) fn block_by_hash(&self, hash: B256) -> Option<SimBlock> {
        self.state().by_hash.get(&hash).cloned()
    }

    /// Every log of the canonical branch, in order, with what it means.
    pub(crate) fn truth(&self) -> Vec<(LogEvent, Meaning)> {
        self.state().canonical.iter().flat_map(|block| block.logs.clone()).collect()
    }
}

impl State {
    fn head(&self) -> u64 {
        self.canonical.len() as u64 - 1
    }

    fn replace(&mut self, depth: u64) {
        let keep = self.canonical.len() - depth as usize;
        self.canonical.truncate(keep);
        let blocks = (depth + 1).saturating_sub(2 * u64::from(self.random.random_bool(0.3)));
        for _ in 0..blocks {
            let logs = self.random.random_range(0..4);
            self.push(logs);
        }
    }

    /// Adds a block of so many logs, drawn at random.
    fn push(&mut self, logs: u32) {
        self.made += 1;
        let drafts = (0..logs).map(|_| self.draft()).collect();
        self.push_drafts(drafts);
    }

    fn push_drafts(&mut self, drafts: Vec<Draft>) {
        let number = self.canonical.len() as u64;
        let parent_hash = self.canonical.last().map_or(B256::ZERO, |block| block.header.block.hash);
        let hash = keccak256([parent_hash.as_slice(), &self.made.to_be_bytes()].concat());
        let timestamp_s = 1_700_000_000 + number * BLOCK_TIME_S + self.delay_s;
        let block = BlockRef { number, hash };
        let logs =
            drafts.into_iter().zip(0..).map(|(draft, index)| self.log(block, index, timestamp_s, draft));
        let logs: Vec<_> = logs.collect();
        let mut bloom = Bloom::default();
        for (log, _) in &logs {
            bloom.accrue_raw_log(log.address, log.topics.as_slice());
        }
        let header = Header {
            block: BlockHeader { number, hash, parent_hash, timestamp_s },
            logs_bloom: Box::new(bloom),
            receipts_root: keccak256(hash),
            is_hash_proven: true,
        };
        let block = SimBlock { header, logs };
        self.by_hash.insert(hash, block.clone());
        self.canonical.push(block);
        self.finalized = self.finalized.max(number.saturating_sub(self.finality_blocks));
    }

    /// A log, drawn at random.
    fn draft(&mut self) -> Draft {
        match self.random.random_range(0..13) {
            10 => {
                let salt = (self.made << 8) + self.children.len() as u64;
                let child = Address::from_word(keccak256(salt.to_be_bytes()));
                self.children.push((self.made, self.canonical.len() as u64, child));
                (FACTORY, made_topics(salt), child.into_word().to_vec(), Meaning::Made(salt, child))
            }
            11.. => {
                let (child, fee) = (self.child(), self.fee());
                let meaning =
                    if child == STRANGER { Meaning::Nothing } else { Meaning::ChildFee(fee.clone()) };
                (child, fee.topics(), fee.data(), meaning)
            }
            0..=4 => {
                let collector = COLLECTORS[self.random.random_range(0..2)];
                self.fee().draft(collector)
            }
            5..=6 => {
                let (number, text) = (self.random.random_range(0..1_000), format!("note {}", self.made));
                (ODD, note_topics(number), note_data(&text), Meaning::Note(number, text))
            }
            7 => (ODD, note_topics(1), vec![0xff; 31], Meaning::Misfit),
            _ => {
                let fee = self.fee();
                (STRANGER, fee.topics(), fee.data(), Meaning::Nothing)
            }
        }
    }

    fn log(
        &self,
        block: BlockRef,
        log_index: u32,
        timestamp_s: u64,
        (address, topics, data, meaning): Draft,
    ) -> (LogEvent, Meaning) {
        let log = LogEvent {
            chain: self.id,
            block,
            log_index,
            timestamp_s,
            transaction_hash: keccak256([block.hash.as_slice(), &log_index.to_be_bytes()].concat()),
            address,
            topics: Topics::new(&topics).expect("few enough"),
            data: Bytes::from(data),
        };
        (log, meaning)
    }

    /// A contract that was created on this branch, or in this very block; a stranger
    /// where there is none.
    fn child(&mut self) -> Address {
        let made_in = |number: u64, child: Address| {
            let block = self.canonical.get(number as usize);
            let tells = |meaning: &Meaning| matches!(meaning, Meaning::Made(_, made) if *made == child);
            block.is_some_and(|block| block.logs.iter().any(|(_, meaning)| tells(meaning)))
        };
        let is_there =
            |(made, number, child): &(u64, u64, Address)| *made == self.made || made_in(*number, *child);
        let there: Vec<Address> =
            self.children.iter().filter(|child| is_there(child)).map(|child| child.2).collect();
        let which = self.random.random_range(0..there.len().max(1));
        there.get(which).copied().unwrap_or(STRANGER)
    }

    fn fee(&mut self) -> Fee {
        let wide = self.random.random_bool(0.1);
        let mut amount = || if wide { U256::MAX } else { U256::from(self.random.random_range(0..u128::MAX)) };
        let fees = [amount(), amount()];
        Fee {
            token: Address::with_last_byte(self.random.random_range(0..3)),
            integrator: Address::with_last_byte(self.random.random_range(10..20)),
            fees,
        }
    }
}

impl Fee {
    /// The log of a collector that says it.
    fn draft(&self, emitter: Address) -> Draft {
        (emitter, self.topics(), self.data(), Meaning::Fee(self.clone()))
    }

    fn topics(&self) -> Vec<B256> {
        let signature = keccak256("FeesCollected(address,address,uint256,uint256)");
        vec![signature, self.token.into_word(), self.integrator.into_word()]
    }

    fn data(&self) -> Vec<u8> {
        self.fees.iter().flat_map(|fee| fee.to_be_bytes::<32>()).collect()
    }
}

fn made_topics(number: u64) -> Vec<B256> {
    vec![keccak256("Made(uint256,address)"), B256::from(U256::from(number))]
}

fn note_topics(number: u64) -> Vec<B256> {
    vec![keccak256("Noted(uint64,string)"), B256::from(U256::from(number))]
}

fn note_data(text: &str) -> Vec<u8> {
    let mut data = U256::from(32).to_be_bytes_vec();
    data.extend(U256::from(text.len()).to_be_bytes::<32>());
    data.extend(text.as_bytes());
    data.resize(data.len().next_multiple_of(32), 0);
    data
}
