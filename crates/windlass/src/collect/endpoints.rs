//! A chain's endpoints, ready to be asked.

use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout_at};
use windlass_chain::evm::{EvmHeads, EvmPool, EvmRpc, HeadsOptions, LearnOptions, PoolOptions, RpcError};
use windlass_core::chain::ChainId;
use windlass_core::code::Code;
use windlass_core::error::RetryAdvice;
use windlass_core::finality::Finality;
use windlass_core::reader::{ChainError, ChainErrorKind};

use super::hurdle::Hurdle;
use super::learned::Learns;
use super::prepare;
use crate::config::chain::{Chain, ChainName};
use crate::failure::Failure;

/// How long an endpoint may take to say which chain it serves.
const CHAIN_ID_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the others are waited for once one has said so.
const OTHERS_WAIT: Duration = Duration::from_secs(1);

/// The endpoints of one chain.
pub(crate) struct Endpoints {
    /// The chain's name.
    pub(crate) name: ChainName,
    /// The chain's id.
    pub(crate) id: ChainId,
    /// From when on a block is final.
    pub(crate) finality: Finality,
    /// All of them behind one port.
    pub(crate) pool: Arc<EvmPool>,
    urls: Vec<SecretString>,
}

impl Endpoints {
    /// Reads what is secret; asks nobody anything.
    pub(crate) fn open(name: &ChainName, chain: &Chain) -> Result<Self, Failure> {
        let urls =
            chain.rpc.iter().map(|url| url.resolve()).collect::<Result<Vec<_>, _>>().map_err(|error| {
                Failure::coded(Code::SecretMissing, error)
                    .hint(format_args!("set it for this process, or change `rpc` in `[chain.{name}]`"))
            })?;
        let exposed: Vec<&str> = urls.iter().map(ExposeSecret::expose_secret).collect();
        let max_blocks = chain.max_range.get();
        let learn = LearnOptions { max_blocks, ..LearnOptions::default() };
        let pool = EvmPool::new(&exposed, chain.id, PoolOptions { learn, ..PoolOptions::default() })?;
        Ok(Self {
            name: name.clone(),
            id: chain.id,
            finality: prepare::finality(chain),
            pool: Arc::new(pool),
            urls,
        })
    }

    /// News of heads, where an endpoint announces them.
    pub(crate) fn heads(&self) -> Result<Option<EvmHeads>, Failure> {
        let exposed: Vec<&str> = self.urls.iter().map(ExposeSecret::expose_secret).collect();
        let heads = EvmHeads::start(&exposed, self.id, HeadsOptions::default())?;
        Ok((heads.endpoints() > 0).then_some(heads))
    }

    /// Makes sure that every endpoint that answers serves this chain, and that one answers. Once
    /// one does, the others are waited for a moment: the pool makes sure of each before it is asked.
    pub(crate) async fn check_chain(&self) -> Result<(), Hurdle> {
        let mut asked = tokio::task::JoinSet::new();
        for url in self.urls.clone() {
            asked.spawn(async move {
                let rpc = EvmRpc::with_timeout(url.expose_secret(), CHAIN_ID_TIMEOUT)?;
                Ok::<_, RpcError>((rpc.place().to_owned(), rpc.chain_id().await?))
            });
        }
        let (mut confirmed, mut trouble) = (0, None);
        let mut deadline = Instant::now() + CHAIN_ID_TIMEOUT * 2;
        while let Ok(Some(answer)) = timeout_at(deadline, asked.join_next()).await {
            match answer {
                Ok(Ok((place, found))) if found != self.id => {
                    return Err(self.wrong_chain(&place, found).into());
                }
                Ok(Ok(_)) => {
                    confirmed += 1;
                    deadline = deadline.min(Instant::now() + OTHERS_WAIT);
                }
                Ok(Err(error)) => trouble = trouble.or(Some(error)),
                Err(error) => tracing::debug!(%error, "a look at an endpoint was interrupted"),
            }
        }
        match trouble {
            Some(error) if confirmed == 0 => return Err(error.into()),
            Some(error) => {
                tracing::warn!(chain = %self.name, %error, "an endpoint does not answer; the others do");
            }
            None if !asked.is_empty() => {
                tracing::warn!(chain = %self.name, endpoints = asked.len(), "endpoints do not answer yet; others do");
            }
            None => {}
        }
        Ok(())
    }

    fn wrong_chain(&self, place: &str, found: ChainId) -> Failure {
        let message = format!("{place} serves chain {found}, not {}", self.id);
        Failure::coded(Code::RpcWrongChain, message)
            .hint(format_args!("correct `id` or `rpc` in `[chain.{}]`", self.name))
    }
}

impl Learns for EvmPool {
    fn save(&self) -> String {
        self.export()
    }

    fn restore(&self, text: &str) {
        Self::restore(self, text);
    }
}

impl From<ChainError> for Failure {
    fn from(error: ChainError) -> Self {
        let hint = match (error.kind, error.retry) {
            (ChainErrorKind::Unreachable, RetryAdvice::Never) => {
                "check the URL, its whole path and the key in it, and that the plan allows what is asked"
            }
            (ChainErrorKind::Unreachable, _) => {
                "check that the node runs and can be reached from here; with several endpoints in `rpc` one may fail"
            }
            (ChainErrorKind::RateLimited | ChainErrorKind::RangeTooLarge { .. }, _) => {
                "wait, or use an endpoint with a higher limit"
            }
            (
                ChainErrorKind::UnknownBlock
                | ChainErrorKind::Unconfirmed
                | ChainErrorKind::Malformed
                | ChainErrorKind::Refused,
                _,
            ) => "the message has the provider's words; `windlass doctor` looks closer",
        };
        Self::coded(error.kind.code(), error).hint(hint)
    }
}
