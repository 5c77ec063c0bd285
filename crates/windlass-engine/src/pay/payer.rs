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
use windlass_core::time::Timestamp;

use super::accounts::Accounts;
use super::agreement::{self, BlockThere, Final, agreed_head, block_at, counts, last_final};
use super::chain_trouble::{GRACE, SUBJECT};
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
    /// Since when endpoints do not agree which blocks are final, and in which words that began.
    pub(super) disputed_since: Mutex<Option<(Timestamp, String)>>,
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
    /// The last block that nothing can undo, as far as endpoints agree.
    pub(super) last_final: u64,
    /// The last block whose payouts count as confirmed, as far as endpoints agree.
    pub(super) last_confirmed: u64,
    /// Whether endpoints agree which block is the last final one.
    pub(super) is_final_known: bool,
    /// Why it is not known which blocks are final or deep enough, if so: endpoints do not agree.
    pub(super) dispute: Option<String>,
    /// That an endpoint is far behind another, in words.
    pub(super) behind: Option<String>,
    /// One or the other, once it has lasted: payouts wait for that.
    pub(super) lasting_dispute: Option<String>,
    headers: Mutex<HashMap<u64, Option<BlockThere>>>,
    nonces: Mutex<HashMap<Address, Used>>,
}

/// How many transactions an account has sent.
#[derive(Debug, Clone)]
pub(super) struct Used {
    pub(super) count: u64,
    /// That two endpoints tell otherwise of it, and no third one.
    pub(super) dispute: Option<String>,
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
            disputed_since: Mutex::default(),
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
        let mut sight = self.sight_unchecked().await?;
        self.check_identity(&sight).await?;
        let mut since = self.disputed_since.lock().await;
        match sight.dispute.as_ref().or(sight.behind.as_ref()) {
            None => *since = None,
            // Endpoints that are a block apart agree at the next look: that is no reason to wait for.
            Some(why) => {
                let now = self.store.now().await?;
                // In the words it began with: what a payout waits for is written once.
                let (began, why) = since.get_or_insert_with(|| (now, why.clone()));
                sight.lasting_dispute = (now >= began.after(GRACE)).then(|| why.clone());
            }
        }
        drop(since);
        Ok(sight)
    }

    /// Looks at whatever chain the endpoints serve. Where they do not agree which blocks are final, none is
    /// but the first; the newest block is then one endpoint's.
    pub(super) async fn sight_unchecked(&self) -> Result<Sight, PayError> {
        let newest = agreed_head(&*self.chain, BlockTag::Latest).await?;
        let latest = match &newest {
            Ok(newest) => newest.header,
            Err(_) => self.known_header(BlockTag::Latest).await?,
        };
        let below = |depth: u64| {
            let head = newest.clone();
            head.map(|head| Final { number: head.header.number.saturating_sub(depth), behind: head.behind })
        };
        let last_final = match self.options.finality {
            Finality::Depth(depth) => below(depth),
            finality => last_final(&*self.chain, finality).await?,
        };
        let last_confirmed = match (self.options.confirmation, self.options.finality) {
            (Confirmation::Finalized, Finality::Finalized) | (Confirmation::Safe, Finality::Safe) => {
                last_final.clone()
            }
            (Confirmation::Finalized, _) => agreement::last_final(&*self.chain, Finality::Finalized).await?,
            (Confirmation::Safe, _) => agreement::last_final(&*self.chain, Finality::Safe).await?,
            // So many with the newest and its own.
            (Confirmation::Blocks(blocks), _) => below(blocks.saturating_sub(1)),
        };
        let dispute = last_final.as_ref().err().or(last_confirmed.as_ref().err()).cloned();
        let is_final_known = last_final.is_ok();
        let of = |known: Result<Final, String>| known.map_or((0, None), |known| (known.number, known.behind));
        let ((last_final, behind), (last_confirmed, also_behind)) = (of(last_final), of(last_confirmed));
        Ok(Sight {
            latest,
            last_final,
            last_confirmed,
            behind: behind.or(also_behind),
            is_final_known,
            dispute,
            lasting_dispute: None,
            headers: Mutex::default(),
            nonces: Mutex::default(),
        })
    }

    async fn known_header(&self, tag: BlockTag) -> Result<BlockHeader, PayError> {
        let unknown = || {
            ChainError::new(ChainErrorKind::UnknownBlock, format!("the endpoint does not know block {tag}"))
        };
        let header = self.chain.header(tag).await?.ok_or_else(unknown)?;
        Ok(header.block)
    }

    /// How many transactions an account has in blocks up to the newest, as far as two endpoints tell it,
    /// or the only one that answers. Asked by the block's number: a node that has not got it yet says so.
    pub(super) async fn used_nonces(&self, sight: &Sight, account: Address) -> Result<Used, PayError> {
        let mut nonces = sight.nonces.lock().await;
        if let Some(used) = nonces.get(&account) {
            return Ok(used.clone());
        }
        let latest = NonceTag::Block(BlockTag::Number(sight.latest.number));
        let told = counts(&*self.chain, account, latest).await?;
        let dispute = told.is_disputed().then(|| {
            let words = told.words(u64::to_string);
            format!("{SUBJECT} do not agree how many transactions account {account} has sent ({words})")
        });
        let used = Used { count: told.reached().unwrap_or(0), dispute };
        nonces.insert(account, used.clone());
        Ok(used)
    }

    /// The hash of the block that the canonical chain has at a height, as far as endpoints agree.
    pub(super) async fn canonical(&self, sight: &Sight, number: u64) -> Result<Option<B256>, PayError> {
        let there = self.canonical_header(sight, number).await?;
        Ok(there.filter(|there| there.is_agreed).map(|there| there.header.hash))
    }

    /// The block that the canonical chain has at a height.
    pub(super) async fn canonical_header(
        &self,
        sight: &Sight,
        number: u64,
    ) -> Result<Option<BlockThere>, PayError> {
        let mut headers = sight.headers.lock().await;
        if let Some(there) = headers.get(&number) {
            return Ok(*there);
        }
        let there = block_at(&*self.chain, number).await?;
        headers.insert(number, there);
        Ok(there)
    }
}
