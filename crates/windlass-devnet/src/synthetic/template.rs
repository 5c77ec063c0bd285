//! One log as JSON, with the places marked at which logs differ.
//!
//! A template fits all logs whose numbers have the same count of digits. What is
//! the same for a block is patched into the template, what differs from log to
//! log into the copy.

use super::{
    generator::{Generator, Place, RawLog},
    hex::{digits, quantity_len},
    options::FEES_COLLECTED_TOPIC,
};

/// The digit counts that decide a template's layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    number: usize,
    time: usize,
    index: usize,
}

/// The JSON of one log, followed by a comma.
#[derive(Debug)]
pub(super) struct Template {
    layout: Layout,
    block: u64,
    bytes: Vec<u8>,
    token_at: usize,
    integrator_at: usize,
    integrator_fee_at: usize,
    lifi_fee_at: usize,
    number_at: usize,
    transaction_hash_at: usize,
    transaction_index_at: usize,
    block_hash_at: usize,
    time_at: usize,
    log_index_at: usize,
}

/// The addresses that logs speak of, written out once.
#[derive(Debug)]
pub(super) struct AddressText {
    tokens: Vec<[u8; 40]>,
    integrators: Vec<[u8; 40]>,
}

impl AddressText {
    pub(super) fn new(generator: &Generator) -> Self {
        let text = |addresses: &[alloy_primitives::Address]| {
            addresses.iter().map(|address| address_digits(address.as_slice())).collect()
        };
        Self { tokens: text(&generator.tokens), integrators: text(&generator.integrators) }
    }
}

impl Template {
    /// A template for a block and every log whose numbers are as long as this one's.
    pub(super) fn new(generator: &Generator, place: Place, with_timestamp: bool) -> Self {
        let layout = Layout::of(generator, place);
        let mut text = Text::default();
        text.push("{\"address\":\"0x").push(&format!("{:x}", generator.contract));
        text.push("\",\"topics\":[\"").push(&format!("{FEES_COLLECTED_TOPIC:#x}"));
        let token_at = text.push("\",\"0x").push(&"0".repeat(24)).hole(40);
        let integrator_at = text.push("\",\"0x").push(&"0".repeat(24)).hole(40);
        let integrator_fee_at = text.push("\"],\"data\":\"0x").push(&"0".repeat(32)).hole(32);
        let lifi_fee_at = text.push(&"0".repeat(32)).hole(32);
        let number_at = text.push("\",\"blockNumber\":\"0x").hole(layout.number);
        let transaction_hash_at = text.push("\",\"transactionHash\":\"0x").hole(64);
        let transaction_index_at = text.push("\",\"transactionIndex\":\"0x").hole(layout.index);
        let block_hash_at = text.push("\",\"blockHash\":\"0x").hole(64);
        let time_at =
            if with_timestamp { text.push("\",\"blockTimestamp\":\"0x").hole(layout.time) } else { 0 };
        let log_index_at = text.push("\",\"logIndex\":\"0x").hole(layout.index);
        text.push("\",\"removed\":false},");
        let mut template = Self {
            layout,
            block: place.block,
            bytes: text.bytes,
            token_at,
            integrator_at,
            integrator_fee_at,
            lifi_fee_at,
            number_at,
            transaction_hash_at,
            transaction_index_at,
            block_hash_at,
            time_at,
            log_index_at,
        };
        template.enter_block(generator, place.block);
        template
    }

    /// How many bytes one log takes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Makes the template that of another log's block; false if it does not fit that log.
    pub(super) fn adopt(&mut self, generator: &Generator, place: Place) -> bool {
        if self.block == place.block {
            return quantity_len(place.index) == self.layout.index;
        }
        let fits = Layout::of(generator, place) == self.layout;
        if fits {
            self.enter_block(generator, place.block);
        }
        fits
    }

    /// Appends one log of the template's block.
    pub(super) fn write(&self, out: &mut Vec<u8>, text: &AddressText, index: u64, log: &RawLog) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        let copy = &mut out[start..];
        patch(copy, self.token_at, &text.tokens[log.token]);
        patch(copy, self.integrator_at, &text.integrators[log.integrator]);
        patch_amount(copy, self.integrator_fee_at, log.integrator_fee);
        patch_amount(copy, self.lifi_fee_at, log.lifi_fee);
        patch_hash(copy, self.transaction_hash_at, log.transaction_hash);
        patch_quantity(copy, self.transaction_index_at, self.layout.index, index);
        patch_quantity(copy, self.log_index_at, self.layout.index, index);
    }

    fn enter_block(&mut self, generator: &Generator, block: u64) {
        self.block = block;
        patch_quantity(&mut self.bytes, self.number_at, self.layout.number, block);
        patch_hash(&mut self.bytes, self.block_hash_at, generator.block_hash(block));
        if self.time_at > 0 {
            let time_s = generator.block_time_s(block);
            patch_quantity(&mut self.bytes, self.time_at, self.layout.time, time_s);
        }
    }
}

impl Layout {
    fn of(generator: &Generator, place: Place) -> Self {
        Self {
            number: quantity_len(place.block),
            time: quantity_len(generator.block_time_s(place.block)),
            index: quantity_len(place.index),
        }
    }
}

#[derive(Default)]
struct Text {
    bytes: Vec<u8>,
}

impl Text {
    fn push(&mut self, text: &str) -> &mut Self {
        self.bytes.extend_from_slice(text.as_bytes());
        self
    }

    /// Leaves room for digits and says where.
    fn hole(&mut self, len: usize) -> usize {
        let at = self.bytes.len();
        self.bytes.resize(at + len, b'0');
        at
    }
}

fn address_digits(address: &[u8]) -> [u8; 40] {
    let mut padded = [0; 24];
    padded[..20].copy_from_slice(address);
    let mut text = [0; 48];
    for (word, out) in padded.chunks_exact(8).zip(text.chunks_exact_mut(16)) {
        let word = u64::from_be_bytes(word.try_into().expect("chunks have eight bytes"));
        out.copy_from_slice(&digits(word));
    }
    *text.first_chunk().expect("48 digits hold 40")
}

fn patch(bytes: &mut [u8], at: usize, text: &[u8]) {
    bytes[at..at + text.len()].copy_from_slice(text);
}

fn patch_amount(bytes: &mut [u8], at: usize, amount: u128) {
    patch(bytes, at, &digits((amount >> 64) as u64));
    patch(bytes, at + 16, &digits(amount as u64));
}

fn patch_hash(bytes: &mut [u8], at: usize, words: [u64; 4]) {
    for (i, word) in words.into_iter().enumerate() {
        patch(bytes, at + 16 * i, &digits(word));
    }
}

fn patch_quantity(bytes: &mut [u8], at: usize, len: usize, value: u64) {
    patch(bytes, at, &digits(value)[16 - len..]);
}
