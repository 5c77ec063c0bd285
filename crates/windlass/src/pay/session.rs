//! What a command about payouts works with: the store, the caller, and the desk.

use std::sync::Arc;

use windlass_core::code::Code;
use windlass_core::payout::desk::{DeskError, PayoutDesk, past_approval};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::state::PayoutState;
use windlass_core::store::Store;
use windlass_engine::pay::error::PayError;
use windlass_engine::pay::ledger::Ledger;

use super::caller::{Caller, Deed};
use super::find::{self, PayoutName};
use super::known_chain;
use super::log_key;
use super::paying::Paying;
use super::tokens::Tokens;
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::failure::{Failure, store_hint};

/// What a command works with.
pub(crate) struct Session {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) paying: Paying,
    pub(crate) tokens: Tokens,
    pub(crate) desk: Arc<dyn PayoutDesk>,
    /// The name under which the deed stands in the log.
    pub(crate) actor: String,
}

impl Session {
    /// Lets the caller in, or says why not.
    pub(crate) async fn begin(config: &Config, deed: Deed) -> Result<Self, Failure> {
        let paying = Paying::of(config)?;
        let tokens = Tokens::of(config)?;
        // The first payout may be asked for before anything has run.
        let store = store::open(&config.database, Access::Work).await?;
        let ledger = paying.ledger(store.clone());
        // Whoever reads the database needs no key to look at it.
        let actor = match deed {
            Deed::Look => Ok("cli/viewer".to_owned()),
            deed => {
                let admitted = async {
                    log_key::check(&*store, &paying.audit_key).await?;
                    Caller::of(config, &*ledger).await?.may(deed)
                };
                admitted.await
            }
        };
        let desk = paying.desk(ledger.clone())?;
        match actor {
            Ok(actor) => Ok(Self { store, ledger, paying, tokens, desk: Arc::new(desk), actor }),
            Err(failure) => {
                store.close().await;
                Err(failure)
            }
        }
    }

    /// The one payout whose id, part of an id, or key this is.
    pub(crate) async fn payout_id(&self, name: &PayoutName) -> Result<PayoutId, Failure> {
        find::payout(&*self.ledger, name).await
    }
}

impl From<PayError> for Failure {
    fn from(error: PayError) -> Self {
        match error {
            PayError::Store(error) => error.into(),
            PayError::Chain(error) => error.into(),
            PayError::Signer(_) => Self::coded(Code::SignerUnusable, error),
            PayError::OtherChain(_) => Self::coded(Code::FinalityViolated, error).hint(known_chain::HINT),
            PayError::Vault(_) => Self::coded(Code::VaultUnusable, error)
                .hint("`windlass vault show` tells what stands at the vault's address"),
            PayError::Move(_) | PayError::Name(_) | PayError::Strange { .. } => Self::unexpected(error),
        }
    }
}

impl From<DeskError> for Failure {
    fn from(error: DeskError) -> Self {
        let code = error.code();
        let hint = match &error {
            DeskError::Store(_) | DeskError::Crowded => store_hint(code),
            DeskError::Chain(_) => "check that the node runs and can be reached from here",
            DeskError::Vault(_) => "`windlass vault show` tells what stands at the vault's address",
            DeskError::NotFound(_) => "`windlass payout list` shows what there is",
            DeskError::OwnPayout => "somebody else has to: with another key",
            DeskError::KeyReused { .. } => "if both are meant, give the second a key of its own",
            DeskError::NotPending(PayoutState::Failed | PayoutState::Rejected) => {
                "`windlass payout retry <id>` asks for it again, as a payout of its own"
            }
            DeskError::NotRejectable(_) => "`windlass vault cancel <id>` keeps the vault from paying it",
            DeskError::UnknownToken(_) => "tokens have sections of their own: `[pay.token.<symbol>]`",
            _ => "`windlass payout show <id>` tells where it stands",
        };
        let message = match &error {
            DeskError::NotPending(state) => {
                format!("it can no longer be approved: it {}", past_approval(*state))
            }
            error => error.to_string(),
        };
        Self::coded(code, message).hint(hint)
    }
}
