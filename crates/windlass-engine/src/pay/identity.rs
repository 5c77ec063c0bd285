//! Whether the endpoints serve the chain that the vault is known on.
//!
//! A devnet that was restarted, a test chain that began anew and a fork answer with the same chain
//! id. A nonce, a receipt or a vault's record of theirs says nothing of the payouts that are stored,
//! and what is signed for them is good on the first chain too. So a few final blocks are learned at
//! the first look ([`ChainIdentity`]) and asked for again at the start of every process, every half
//! minute, and when the chain has become shorter than what was final before. While no endpoint has
//! them and one has others, nothing is decided from the chain: nothing is signed, followed or
//! compared. It goes on by itself once an endpoint has them again, or when an operator accepts the
//! chain as it is.
//!
//! Nothing of this is stored but the blocks: each process finds out for itself.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use windlass_core::chain::{B256, BlockRef};
use windlass_core::commit::Write;
use windlass_core::cursor::Cursor;
use windlass_core::payout::ledger::{BlockAnswers, ChainIdentity, MAX_IDENTITY_BLOCKS, RowId};
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, ChainReader, Header};
use windlass_core::time::Timestamp;

use super::agreement::block_at;
use super::counted;
use super::error::PayError;
use super::page::Page;
use super::payer::{Payer, Sight};

/// How often the blocks are asked for while they are there.
const INTERVAL: Duration = Duration::from_secs(30);

/// What the last look has found.
#[derive(Debug, Default)]
pub(super) struct IdentityCheck {
    /// When it was; never before the first.
    checked_at: Option<Timestamp>,
    /// The highest block that was final at a look.
    last_final: u64,
    /// Why the chain is another one.
    other: Option<String>,
}

/// Why a chain is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// A question to the chain, the vault or the store.
    #[error(transparent)]
    Pay(#[from] PayError),
    /// The endpoints have the known blocks.
    #[error("the endpoints serve the chain that the vault is known on: there is nothing to accept")]
    Same,
    /// No block could be learned.
    #[error("the block in which the vault was made is not final yet, or the endpoints do not agree about it")]
    NotAgreed,
}

/// The blocks of a chain before and after it was accepted.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct AcceptedChain {
    /// What was known.
    pub was: Vec<BlockRef>,
    /// What is known from now on.
    pub now: Vec<BlockRef>,
}

/// How the chain of the endpoints stands to the known blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// It has one of them.
    Same,
    /// It has others: why it is another chain.
    Other(String),
    /// No endpoint keeps such old blocks.
    Unknown,
}

/// Asks the endpoints for the known blocks of a chain whose newest block is `newest`. Endpoints that
/// have others than one that is right are left out for a while.
pub async fn compare(
    chain: &dyn ChainReader,
    identity: &ChainIdentity,
    newest: u64,
) -> Result<Known, ChainError> {
    let id = identity.vault.chain;
    let mut is_heard = identity.blocks.is_empty();
    for block in &identity.blocks {
        let answers = chain.header_from_each(BlockTag::Number(block.number)).await;
        let hash = |header: Header| header.block.hash;
        let answers = answers.into_iter().map(|one| (one.endpoint, one.answer.map(|found| found.map(hash))));
        match BlockAnswers::of(*block, answers.collect()) {
            BlockAnswers::Same { having, others } => {
                for (endpoint, hash) in others {
                    let why = format!("it has block {hash} where block {block} is final, which {having} has");
                    chain.report_other_chain(&endpoint, &why);
                }
                return Ok(Known::Same);
            }
            BlockAnswers::Other { endpoint, hash } => {
                return Ok(Known::Other(format!(
                    "{endpoint} has block {hash} where block {block} of chain {id} was final: it serves \
                     another chain, or the chain began anew"
                )));
            }
            BlockAnswers::Unknown if newest < block.number => {
                return Ok(Known::Other(format!(
                    "the newest block of the endpoints is {newest}, and block {block} of chain {id} was final: \
                     they are far behind, or the chain began anew"
                )));
            }
            // Nodes that keep no old blocks may know the next one.
            BlockAnswers::Unknown => is_heard = true,
            BlockAnswers::Silent => {}
        }
    }
    if is_heard {
        return Ok(Known::Unknown);
    }
    let message = "no endpoint answers whether it has the known blocks of the vault's chain";
    Err(ChainError::new(ChainErrorKind::Unreachable, message))
}

impl Payer {
    /// Whether the endpoints serve the chain that the vault is known on.
    /// [`PayError::OtherChain`] where they do not.
    pub async fn check_chain(&self) -> Result<(), PayError> {
        self.sight().await.map(|_| ())
    }

    /// The same, told to whoever asks what the accounts can do.
    pub(super) async fn watch_chain(&self) -> Result<(), PayError> {
        let checked = self.check_chain().await;
        match &checked {
            Err(PayError::OtherChain(why)) => self.accounts.set_other_chain(Some(why)),
            Ok(()) => self.accounts.set_other_chain(None),
            Err(_) => {}
        }
        checked
    }

    /// The same with what was seen of the chain, and seldom.
    pub(super) async fn check_identity(&self, sight: &Sight) -> Result<(), PayError> {
        let now = self.store.now().await?;
        let mut check = self.identity.lock().await;
        let is_due = check.other.is_some()
            || check.checked_at.is_none_or(|at| now >= at.after(INTERVAL))
            || sight.latest.number < check.last_final;
        if is_due {
            let other = self.other_chain(sight).await?;
            match (&check.other, &other) {
                (None, Some(why)) => tracing::error!("{why}: nothing is signed or followed"),
                (Some(_), None) => {
                    tracing::info!("the endpoints serve the vault's chain again: paying goes on");
                }
                _ => {}
            }
            *check = IdentityCheck { checked_at: Some(now), last_final: 0, other };
        }
        check.last_final = check.last_final.max(sight.last_final);
        match &check.other {
            Some(why) => Err(PayError::OtherChain(why.clone())),
            None => Ok(()),
        }
    }

    /// Why the chain is another one than that of the known blocks, if it is. What is not known yet
    /// is learned.
    async fn other_chain(&self, sight: &Sight) -> Result<Option<String>, PayError> {
        let vault = self.options.vault;
        let Some(identity) = self.ledger.chain_identity(vault).await? else {
            return self.learn(sight).await.map(|()| None);
        };
        Ok(match compare(&*self.chain, &identity, sight.latest.number).await? {
            Known::Same => None,
            Known::Other(why) => Some(why),
            Known::Unknown => {
                tracing::warn!(
                    chain = %vault.chain,
                    "no endpoint keeps the blocks by which the vault's chain is known: a chain that began anew would not be noticed"
                );
                None
            }
        })
    }

    /// Learns the blocks of the chain. Where endpoints contradict each other, or the vault's block is
    /// not final yet, they are learned at a later look.
    async fn learn(&self, sight: &Sight) -> Result<(), PayError> {
        let blocks = match self.agreed_blocks(sight).await {
            Ok(blocks) if !blocks.is_empty() => blocks,
            Ok(_) | Err(PayError::Chain(_) | PayError::Vault(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut page = self.page();
        self.write_identity(&mut page, blocks.clone(), None).await?;
        match counted::commit(&self.ledger, page.into_commit()).await.map_err(PayError::from) {
            // Another process has learned them.
            Err(error) if error.is_overtaken() => Ok(()),
            done => done,
        }
    }

    /// Final blocks of the chain about which the endpoints agree: the one in which the vault was made,
    /// and the first one. Where the endpoints have neither, the last final one.
    async fn agreed_blocks(&self, sight: &Sight) -> Result<Vec<BlockRef>, PayError> {
        let deployed = self.deployed_at().await?;
        let mut blocks = Vec::new();
        // Contracts of some rollups see another chain's numbers: any final block will do.
        let numbers = BTreeSet::from([deployed, 0]);
        for number in numbers.into_iter().rev().filter(|number| *number <= sight.last_final) {
            blocks.extend(self.agreed_block(number).await);
        }
        if blocks.is_empty() && deployed <= sight.last_final {
            blocks.extend(self.agreed_block(sight.last_final).await);
        }
        blocks.truncate(MAX_IDENTITY_BLOCKS);
        Ok(blocks)
    }

    async fn agreed_block(&self, number: u64) -> Option<BlockRef> {
        let there = block_at(&*self.chain, number).await.ok().flatten().filter(|there| there.is_agreed)?;
        Some(BlockRef { number, hash: there.header.hash })
    }

    /// Writes the known blocks one version on, and names them in the audit log.
    async fn write_identity(
        &self,
        page: &mut Page,
        blocks: Vec<BlockRef>,
        was: Option<&[BlockRef]>,
    ) -> Result<(), PayError> {
        let vault = self.options.vault;
        let version = self.ledger.last_version(&RowId::ChainIdentity(vault)).await?.unwrap_or(0) + 1;
        let learned_at = self.store.now().await?;
        let mut row = ChainIdentity { vault, version, blocks, learned_at, mac: B256::ZERO };
        let named = self.ledger.key().authenticate(&mut row);
        let (key, value) = (ChainIdentity::state_key(vault)?, json!(row).to_string());
        page.write(Write::PutState { key, value: Some(value) });
        let action = if was.is_some() { "chain.accepted" } else { "chain.learned" };
        let detail = json!({"blocks": row.blocks, "was": was});
        page.note_with_rows(action, vault.address, detail, vec![named]);
        Ok(())
    }

    /// What accepting the chain that the endpoints serve would change.
    pub async fn preview_accept_chain(&self) -> Result<AcceptedChain, AcceptError> {
        let sight = self.sight_unchecked().await?;
        // A row that was tampered with is replaced, too: what it says is not used.
        let was = match self.ledger.chain_identity(self.options.vault).await {
            Ok(Some(_)) if self.other_chain(&sight).await?.is_none() => return Err(AcceptError::Same),
            Ok(Some(identity)) => identity.blocks,
            Ok(None) => return Err(AcceptError::Same),
            Err(windlass_core::error::StoreError::Forged(_)) => Vec::new(),
            Err(error) => return Err(PayError::from(error).into()),
        };
        let now = self.agreed_blocks(&sight).await?;
        if now.is_empty() {
            return Err(AcceptError::NotAgreed);
        }
        Ok(AcceptedChain { was, now })
    }

    /// Accepts the chain that the endpoints serve: its blocks are known from now on, and the vault's
    /// payments are compared from the vault's first block on. Payments that were made on the chain of
    /// before are found to be gone by the next comparison.
    pub async fn accept_chain(&self) -> Result<AcceptedChain, AcceptError> {
        let accepted = self.preview_accept_chain().await?;
        let mut page = self.page();
        self.write_identity(&mut page, accepted.now.clone(), Some(&accepted.was)).await?;
        let name = self.names.reconciled.clone();
        if let Some(expected) = self.store.cursor(&name).await.map_err(PayError::from)? {
            let first = self.deployed_at().await?.saturating_sub(1);
            let to = Cursor::new(i64::try_from(first).unwrap_or(i64::MAX), "final")
                .map_err(|error| PayError::strange(&name, error))?;
            page.write(Write::ResetCursor { name, expected, to });
        }
        counted::commit(&self.ledger, page.into_commit()).await.map_err(PayError::from)?;
        *self.identity.lock().await = IdentityCheck::default();
        Ok(accepted)
    }
}
