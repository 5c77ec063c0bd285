//! What submitter and tracker stand on: a vault, its chain, its keys and the store.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;

use tokio::sync::Mutex;
use windlass_core::chain::{Address, B256, BlockHeader};
use windlass_core::finality::Finality;
use windlass_core::job::{ClaimedJob, DeletedJobs, JobClaim, JobTicket};
use windlass_core::name::{NameError, Owner, Queue};
use windlass_core::payout::signer::Signer;
use windlass_core::payout::submit::{NonceTag, TransactionChain};
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind};
use windlass_core::store::Store;

use super::accounts::Accounts;
use super::error::PayError;
use super::identity::IdentityCheck;
use super::ledger::Ledger;
use super::names::PayNames;
use super::options::{Confirmation, PayOptions};
use super::page::{Clerk, Page};
use super::reconcile::Reconciled;

/// Everything that paying out of one vault takes.
pub struct Payer {
    pub(super) ledger: Arc<Ledger>,
    pub(super) store: Arc<dyn Store>,
    pub(super) chain: Arc<dyn TransactionChain>,
    pub(super) signers: Vec<Arc<dyn Signer>>,
    pub(super) risk_signer: Option<Arc<dyn Signer>>,
    pub(super) options: Arc<PayOptions>,
    pub(super) names: PayNames,
    pub(super) owner: Owner,
    pub(super) clerk: Clerk,
    /// What each account can do.
    pub(super) accounts: Arc<Accounts>,
    /// What came of comparing store and vault, once this process has done so.
    pub(super) reconciled: Mutex<Option<Reconciled>>,
    /// Whether the endpoints serve the chain that the vault is known on.
    pub(super) identity: Mutex<IdentityCheck>,
}

/// What a payer is made of.
pub struct PayerParts {
    /// Where everything is kept.
    pub ledger: Arc<Ledger>,
    /// The vault's chain.
    pub chain: Arc<dyn TransactionChain>,
    /// The accounts that send.
    pub signers: Vec<Arc<dyn Signer>>,
    /// The key that approves, where the vault asks for that.
    pub risk_signer: Option<Arc<dyn Signer>>,
    /// How it is to be done.
    pub options: Arc<PayOptions>,
    /// Who works.
    pub owner: Owner,
}

/// What a step sees of the chain: one picture for all it looks at.
pub(super) struct Sight {
    pub(super) latest: BlockHeader,
    /// The last block that nothing can undo.
    pub(super) last_final: u64,
    /// The last block whose payouts count as confirmed.
    pub(super) last_confirmed: u64,
    headers: Mutex<HashMap<u64, Option<BlockHeader>>>,
    nonces: Mutex<HashMap<Address, u64>>,
}

impl Payer {
    /// A payer of these parts.
    pub fn new(parts: PayerParts) -> Result<Arc<Self>, NameError> {
        let names = PayNames::new(parts.options.vault)?;
        let actor = parts.owner.as_str().into();
        let accounts = Arc::new(Accounts::new(parts.signers.iter().map(|signer| signer.address())));
        let clerk = Clerk { actor, partition: names.partition.clone(), key: parts.ledger.key().clone() };
        Ok(Arc::new(Self {
            store: Arc::clone(parts.ledger.store()),
            ledger: parts.ledger,
            chain: parts.chain,
            signers: parts.signers,
            risk_signer: parts.risk_signer,
            options: parts.options,
            names,
            owner: parts.owner,
            clerk,
            accounts,
            reconciled: Mutex::new(None),
            identity: Mutex::default(),
        }))
    }

    /// The accounts that send.
    pub fn signers(&self) -> &[Arc<dyn Signer>] {
        &self.signers
    }

    /// What each account of this process can do.
    pub const fn accounts(&self) -> &Arc<Accounts> {
        &self.accounts
    }

    pub(super) fn page(&self) -> Page {
        Page::new(&self.clerk)
    }

    pub(super) fn signer_of(&self, address: Address) -> Option<&Arc<dyn Signer>> {
        self.signers.iter().find(|signer| signer.address() == address)
    }

    /// Takes jobs, one of a lane. No number of tries makes a payout go away.
    pub(super) async fn claim(&self, queue: &Queue, max_jobs: u32) -> Result<Vec<ClaimedJob>, PayError> {
        let claim = JobClaim {
            queue: queue.clone(),
            owner: self.owner.clone(),
            ttl: self.options.lease_ttl,
            max_jobs,
            max_per_lane: 1,
            max_attempts: u32::MAX,
            deleted: DeletedJobs::Skip,
        };
        Ok(self.store.claim_jobs(&claim).await?)
    }

    /// Gives jobs back at once; if even that fails, their hold runs out.
    pub(super) async fn give_back(&self, tickets: &[JobTicket]) {
        if let Err(error) = self.store.release_jobs(tickets).await {
            tracing::debug!(%error, "work could not be given back; its hold will run out");
        }
    }

    /// Takes a job away that names nothing: no loop has put it there.
    pub(super) async fn discard(&self, job: &ClaimedJob, error: &impl Display) -> Result<(), PayError> {
        tracing::error!(queue = %job.queue, key = %job.key, %error, "a job names nothing; it is taken away");
        self.store.complete_jobs(&[job.ticket]).await?;
        Ok(())
    }

    /// Looks at the chain. [`PayError::OtherChain`] where it is not the one that the vault is known
    /// on: nothing is decided by what that one says.
    pub(super) async fn sight(&self) -> Result<Sight, PayError> {
        let sight = self.sight_unchecked().await?;
        self.check_identity(&sight).await?;
        Ok(sight)
    }

    /// Looks at whatever chain the endpoints serve.
    pub(super) async fn sight_unchecked(&self) -> Result<Sight, PayError> {
        let latest = self.known_header(BlockTag::Latest).await?;
        let last_final = match self.options.finality {
            Finality::Finalized => self.known_header(BlockTag::Finalized).await?.number,
            Finality::Safe => self.known_header(BlockTag::Safe).await?.number,
            Finality::Depth(depth) => latest.number.saturating_sub(depth),
        };
        let last_confirmed = match self.options.confirmation {
            Confirmation::Finalized => self.known_header(BlockTag::Finalized).await?.number,
            Confirmation::Safe => self.known_header(BlockTag::Safe).await?.number,
            // So many with the newest and its own.
            Confirmation::Blocks(blocks) => (latest.number + 1).saturating_sub(blocks.max(1)),
        };
        Ok(Sight { latest, last_final, last_confirmed, headers: Mutex::default(), nonces: Mutex::default() })
    }

    async fn known_header(&self, tag: BlockTag) -> Result<BlockHeader, PayError> {
        let unknown = || {
            ChainError::new(ChainErrorKind::UnknownBlock, format!("the endpoint does not know block {tag}"))
        };
        let header = self.chain.header(tag).await?.ok_or_else(unknown)?;
        Ok(header.block)
    }

    /// How many transactions an account has in blocks up to the newest. Asked by its number: a
    /// node that has not got it yet says so.
    pub(super) async fn used_nonces(&self, sight: &Sight, account: Address) -> Result<u64, PayError> {
        let mut nonces = sight.nonces.lock().await;
        if let Some(used) = nonces.get(&account) {
            return Ok(*used);
        }
        let latest = NonceTag::Block(BlockTag::Number(sight.latest.number));
        let used = self.chain.nonce(account, latest).await?;
        nonces.insert(account, used);
        Ok(used)
    }

    /// The hash of the block that the canonical chain has at a height.
    pub(super) async fn canonical(&self, sight: &Sight, number: u64) -> Result<Option<B256>, PayError> {
        Ok(self.canonical_header(sight, number).await?.map(|header| header.hash))
    }

    /// The block that the canonical chain has at a height.
    pub(super) async fn canonical_header(
        &self,
        sight: &Sight,
        number: u64,
    ) -> Result<Option<BlockHeader>, PayError> {
        let mut headers = sight.headers.lock().await;
        if let Some(header) = headers.get(&number) {
            return Ok(*header);
        }
        let header = self.chain.header(BlockTag::Number(number)).await?.map(|header| header.block);
        headers.insert(number, header);
        Ok(header)
    }
}
