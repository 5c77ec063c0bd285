//! A chain's endpoints, ready to be asked.

use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, sleep, timeout_at};
use windlass_chain::evm::{EvmHeads, EvmPool, EvmRpc, HeadsOptions, LearnOptions, PoolOptions, RpcError};
use windlass_core::chain::ChainId;
use windlass_core::code::Code;
use windlass_core::error::RetryAdvice;
use windlass_core::finality::Finality;
use windlass_core::reader::{ChainError, ChainErrorKind};

use super::hurdle::Hurdle;
use super::learned::Learns;
use super::prepare;
use crate::config::chain::{Chain, ChainName, repeated_url};
use crate::failure::Failure;

/// How long an endpoint may take to say which chain it serves.
const CHAIN_ID_TIMEOUT: Duration = Duration::from_secs(10);
/// How often it is asked: one that refuses now and then does not leave the answer to others …
const CHAIN_ID_TRIES: u32 = 3;
/// … and how soon again.
const CHAIN_ID_PAUSE: Duration = Duration::from_millis(300);
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

/// Refuses one endpoint under two names: it would agree with itself, and what two endpoints say
/// alike is believed.
pub(crate) fn one_url_each(name: &ChainName, urls: &[&str]) -> Result<(), Failure> {
    let Some((first, second)) = repeated_url(urls) else { return Ok(()) };
    let message =
        format!("`rpc` of `[chain.{name}]` has one URL twice: at places {} and {}", first + 1, second + 1);
    Err(Failure::coded(Code::ConfigInvalid, message).hint(
        "take one of them out; a second endpoint counts only if it is another provider's, or your own node",
    ))
}

impl Endpoints {
    /// Reads what is secret; asks nobody anything.
    pub(crate) fn open(name: &ChainName, chain: &Chain) -> Result<Self, Failure> {
        let urls =
            chain.rpc.iter().map(|url| url.resolve()).collect::<Result<Vec<_>, _>>().map_err(|error| {
                let hint = format!("{}, or change `rpc` in `[chain.{name}]`", error.advice());
                Failure::coded(Code::SecretMissing, error).hint(hint)
            })?;
        let exposed: Vec<&str> = urls.iter().map(ExposeSecret::expose_secret).collect();
        one_url_each(name, &exposed)?;
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

    /// Makes sure that an endpoint answers and serves this chain. Once one does, the others are
    /// waited for a moment: the pool makes sure of each before it is asked.
    pub(crate) async fn check_chain(&self) -> Result<(), Hurdle> {
        let mut asked = tokio::task::JoinSet::new();
        for url in self.urls.clone() {
            asked.spawn(async move {
                let rpc = EvmRpc::with_timeout(url.expose_secret(), CHAIN_ID_TIMEOUT)?;
                let mut tries = 1;
                loop {
                    match rpc.chain_id().await {
                        Err(_) if tries < CHAIN_ID_TRIES => tries += 1,
                        found => return Ok::<_, RpcError>((rpc.place().to_owned(), found?)),
                    }
                    sleep(CHAIN_ID_PAUSE).await;
                }
            });
        }
        let (mut confirmed, mut trouble, mut wrong) = (0, None, None);
        let mut deadline = Instant::now() + CHAIN_ID_TIMEOUT * 2;
        while let Ok(Some(answer)) = timeout_at(deadline, asked.join_next()).await {
            match answer {
                Ok(Ok((place, found))) if found != self.id => {
                    wrong = wrong.or(Some(self.wrong_chain(&place, found)));
                }
                Ok(Ok(_)) => {
                    confirmed += 1;
                    deadline = deadline.min(Instant::now() + OTHERS_WAIT);
                }
                Ok(Err(error)) => trouble = trouble.or(Some(error)),
                Err(error) => tracing::debug!(%error, "a look at an endpoint was interrupted"),
            }
        }
        self.judge(confirmed, wrong, trouble, asked.len())
    }

    /// Whether the chain may be asked. The pool leaves an endpoint of another chain out as long as
    /// it serves that one: it ends nothing where another endpoint serves the right one.
    fn judge(
        &self,
        confirmed: usize,
        wrong: Option<Failure>,
        trouble: Option<RpcError>,
        silent: usize,
    ) -> Result<(), Hurdle> {
        if confirmed == 0 {
            return match (wrong, trouble) {
                (Some(wrong), _) => Err(wrong.into()),
                (None, Some(error)) => Err(error.into()),
                (None, None) => Err(self.all_silent(silent).into()),
            };
        }
        if let Some(wrong) = wrong {
            tracing::error!(chain = %self.name, code = %Code::RpcWrongChain, "{}; it is not asked", wrong.message);
        }
        if let Some(error) = trouble {
            tracing::warn!(chain = %self.name, %error, "an endpoint does not answer; the others do");
        } else if silent > 0 {
            tracing::warn!(chain = %self.name, endpoints = silent, "endpoints do not answer yet; others do");
        }
        Ok(())
    }

    /// No endpoint has answered in time, and none has failed.
    fn all_silent(&self, silent: usize) -> ChainError {
        let within = (CHAIN_ID_TIMEOUT * 2).as_secs();
        let message = format!("{silent} endpoints of chain {} gave no answer within {within} s", self.name);
        ChainError::new(ChainErrorKind::Unreachable, message)
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn one_url_is_one_endpoint() {
        let name = ChainName::try_from("a".to_owned()).expect("a name");
        let same = [
            ["https://h.example/v2/Key", "https://H.example/v2/Key"],
            ["http://127.0.0.1:8545", "http://127.0.0.1:8545/"],
            ["http://h/", "HTTP://h"],
            ["http://h:80/a", "http://h/a"],
            ["http://h/?k=A", "http://h?k=A"],
            ["http://h/a#x", "http://h/a?"],
            ["http://127.1/a", "http://127.0.0.1/./a/"],
        ];
        for urls in same {
            let refused = one_url_each(&name, &urls).expect_err("one endpoint twice");
            assert_eq!(refused.message, "`rpc` of `[chain.a]` has one URL twice: at places 1 and 2");
        }
        let others = [
            ["https://h.example/v2/Key", "https://h.example/v2/key"],
            ["http://127.0.0.1:8545", "http://127.0.0.1:8546"],
            ["http://h", "ws://h"],
            ["http://h?k=Abc", "http://h?k=aBC"],
            ["http://u:Abc@h/", "http://u:aBC@h/"],
        ];
        others.iter().for_each(|urls| one_url_each(&name, urls).expect("two endpoints"));
    }

    /// Serves these answers, one a connection; with none left it is silent.
    async fn serve(answers: Vec<&'static str>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move {
            let (mut answers, mut kept) = (answers.into_iter(), Vec::new());
            while let Ok((mut stream, _)) = listener.accept().await {
                if let Some(body) = answers.next() {
                    let mut asked = [0; 4_096];
                    let count = stream.read(&mut asked).await.unwrap_or(0);
                    let asked = String::from_utf8_lossy(&asked[..count]).into_owned();
                    let id = asked.split_once("\"id\":").map_or("0", |(_, rest)| {
                        rest.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or("0")
                    });
                    let body = format!(r#"{{"jsonrpc":"2.0","id":{id},{body}}}"#);
                    let head = format!(
                        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                        body.len()
                    );
                    let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
                }
                kept.push(stream);
            }
        });
        url
    }

    async fn endpoints(urls: &[String]) -> Endpoints {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let chain = toml::from_str(&format!("id = 1\nrpc = {urls:?}")).expect("a chain");
        let name = ChainName::try_from("local".to_owned()).expect("a name");
        Endpoints::open(&name, &chain).expect("endpoints")
    }

    /// One endpoint serves another chain for a while, at a restart: the other is enough.
    #[tokio::test]
    async fn an_endpoint_of_another_chain_ends_nothing_beside_a_right_one() {
        let (right, wrong) = (r#""result":"0x1""#, r#""result":"0x5""#);
        let both = endpoints(&[serve(vec![wrong]).await, serve(vec![right]).await]).await;
        assert!(both.check_chain().await.is_ok());
        let refusal = r#""error":{"code":-32000,"message":"later"}"#;
        let refusing = serve(vec![refusal; 3]).await;
        let neither = endpoints(&[serve(vec![wrong]).await, refusing]).await;
        let ended = neither.check_chain().await.expect_err("no endpoint serves the chain");
        assert_eq!(Failure::from(ended).code, Some(Code::RpcWrongChain));
    }

    /// One endpoint hangs and the other refuses once, in words of its own: a start does not wait
    /// for the first.
    #[tokio::test]
    async fn an_endpoint_that_refuses_once_is_asked_again_while_another_hangs() {
        let refusal = r#""error":{"code":-1494,"message":"du vu fu"}"#;
        let answer = r#""result":"0x1""#;
        let endpoints = endpoints(&[serve(Vec::new()).await, serve(vec![refusal, answer]).await]).await;
        let checked = timeout_at(Instant::now() + CHAIN_ID_TIMEOUT / 2, endpoints.check_chain()).await;
        assert!(matches!(checked, Ok(Ok(()))));
    }
}
