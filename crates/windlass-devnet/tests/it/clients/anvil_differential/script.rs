//! A script of blocks made from a seed: pure, so that both chains get the same bytes.

use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use windlass_devnet::chain::{DevAccount, dev_accounts, raw_bytes};

use super::action::{Action, Cast, KINDS};
use super::form::{Form, authorize};
use super::stage::Stage;
use crate::chain::support::GWEI;

/// How many accounts send.
const SENDERS: usize = 5;
/// The account that takes on an emitter's code and sends nothing itself.
const DELEGATE: usize = 9;
/// How often each kind of action comes.
const ROUNDS: usize = 4;
const MAX_PER_BLOCK: usize = 9;
const BLOCK_GAS: u64 = 30_000_000;

/// A signed transaction.
pub(super) struct Sent {
    pub(super) kind: &'static str,
    pub(super) raw: Bytes,
}

pub(super) struct Script {
    pub(super) seed: u64,
    pub(super) blocks: Vec<Vec<Sent>>,
    pub(super) stage: Stage,
    /// Who sends, then who takes on code.
    pub(super) people: Vec<Address>,
}

impl Script {
    pub(super) fn new(seed: u64) -> Self {
        let mut writer = Writer::new(seed);
        writer.set_the_stage();
        let mut deck = KINDS.repeat(ROUNDS);
        deck.shuffle(&mut writer.random);
        while !deck.is_empty() {
            writer.block(&mut deck);
        }
        writer.pay_out();
        let people = writer.senders.iter().copied().chain([writer.accounts[DELEGATE].address()]);
        Self { seed, people: people.collect(), blocks: writer.blocks, stage: writer.stage }
    }

    pub(super) fn transactions(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    /// How often each kind of action comes.
    pub(super) fn tally(&self) -> BTreeMap<&'static str, usize> {
        let mut tally = BTreeMap::new();
        for sent in self.blocks.iter().flatten() {
            *tally.entry(sent.kind).or_default() += 1;
        }
        tally
    }
}

/// Who sends within a block, and what they pay. Chains order equal tips alike, and one
/// sender's transactions by nonce; anything else they may order as they please.
enum Mode {
    OneSender(usize),
    EqualTip(u128),
    EqualPrice(u128),
}

struct Writer {
    random: StdRng,
    accounts: Vec<DevAccount>,
    senders: Vec<Address>,
    nonces: [u64; SENDERS],
    delegate_nonce: u64,
    stage: Stage,
    blocks: Vec<Vec<Sent>>,
}

impl Writer {
    fn new(seed: u64) -> Self {
        let accounts = dev_accounts();
        let senders: Vec<Address> = accounts.iter().take(SENDERS).map(DevAccount::address).collect();
        Self {
            random: StdRng::seed_from_u64(seed),
            stage: Stage::new(senders[0]),
            accounts,
            senders,
            nonces: [0; SENDERS],
            delegate_nonce: 0,
            blocks: Vec::new(),
        }
    }

    /// Two blocks: the contracts, then tokens for everybody.
    fn set_the_stage(&mut self) {
        let codes = Stage::init_codes(self.senders[0]);
        let create = |code| Action::create("create", code);
        let block = codes.into_iter().map(|code| self.send(&Mode::OneSender(0), create(code))).collect();
        self.blocks.push(block);
        let mut block = Vec::new();
        for sender in 0..SENDERS {
            let address = self.senders[sender];
            let (mint, approve) = (self.cast().mint(address), self.cast().approve());
            block.extend(
                [mint, approve].map(|action| self.send_from(sender, Form::Dynamic { tip: GWEI }, action)),
            );
        }
        self.blocks.push(block);
    }

    /// A last block, in which everybody takes what is theirs.
    fn pay_out(&mut self) {
        let mut block = Vec::new();
        for sender in 0..SENDERS {
            let kinds = if sender == 0 {
                ["withdraw all", "withdraw all protocol's"]
            } else {
                ["withdraw", "withdraw all"]
            };
            for kind in kinds {
                let action = self.cast().action(kind);
                block.push(self.send_from(sender, Form::Dynamic { tip: GWEI }, action));
            }
        }
        self.blocks.push(block);
    }

    /// Fills a block from the deck's end.
    fn block(&mut self, deck: &mut Vec<&'static str>) {
        let mode = match self.random.random_range(0..3) {
            0 => Mode::EqualTip(self.random.random_range(1..4) * GWEI),
            1 => Mode::EqualPrice(self.random.random_range(50..90) * GWEI),
            _ => Mode::OneSender(self.random.random_range(0..SENDERS)),
        };
        let wanted = self.random.random_range(1..=MAX_PER_BLOCK);
        let (mut block, mut gas_left) = (Vec::new(), BLOCK_GAS);
        while block.len() < wanted
            && let Some(kind) = deck.pop()
        {
            let action = self.cast().action(kind);
            if action.gas > gas_left || (kind == "delegate" && matches!(mode, Mode::EqualPrice(_))) {
                deck.push(kind);
                break;
            }
            gas_left -= action.gas;
            block.push(self.send(&mode, action));
        }
        self.blocks.push(block);
    }

    fn send(&mut self, mode: &Mode, action: Action) -> Sent {
        let sender = match mode {
            Mode::OneSender(sender) => *sender,
            _ => self.random.random_range(0..SENDERS),
        };
        let form = self.form(mode, &action);
        self.send_from(sender, form, action)
    }

    fn form(&mut self, mode: &Mode, action: &Action) -> Form {
        let tip = match mode {
            Mode::EqualTip(tip) => *tip,
            _ => self.random.random_range(1..4) * GWEI,
        };
        let price = match mode {
            Mode::EqualPrice(price) => *price,
            _ => self.random.random_range(50..90) * GWEI,
        };
        if action.kind == "delegate" {
            let code_of = self.stage.emitters[0];
            let authorization = authorize(&self.accounts[DELEGATE], code_of, self.delegate_nonce);
            self.delegate_nonce += 1;
            return Form::Delegation { tip, authorization: Box::new(authorization) };
        }
        let choice = match mode {
            Mode::EqualTip(_) => 2,
            Mode::EqualPrice(_) => self.random.random_range(0..2),
            Mode::OneSender(_) => self.random.random_range(0..3),
        };
        match choice {
            0 => Form::Legacy { price },
            1 => Form::AccessList { price },
            _ => Form::Dynamic { tip },
        }
    }

    fn send_from(&mut self, sender: usize, form: Form, action: Action) -> Sent {
        let kind = action.kind;
        let signed = form.sign(&self.accounts[sender], self.nonces[sender], action);
        self.nonces[sender] += 1;
        Sent { kind, raw: raw_bytes(&signed) }
    }

    fn cast(&mut self) -> Cast<'_> {
        let delegate = self.accounts[DELEGATE].address();
        Cast { stage: &self.stage, senders: &self.senders, delegate, random: &mut self.random }
    }
}
