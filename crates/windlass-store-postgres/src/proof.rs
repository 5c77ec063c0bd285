//! Proves that this process is alive: a session of its own holds an advisory lock on the
//! instance's id until the process ends.
//!
//! A session that breaks is replaced at once. Until then leases are taken without naming the
//! instance, and those that name it may be taken by others: their holder is fenced and loses
//! work, nothing else.
//!
//! Invariant: an instance is named only while its lock was seen in a session that belongs to
//! this connection alone. Behind a pooler that shares sessions between transactions the lock
//! would stay with the pooler, or vanish with it: then the instance is given up for good.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::connect::SessionOptions;
use crate::error::{Fault, Outcome};
use crate::tx::in_time;

/// How often the session is asked whether it still holds the lock.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// How long an answer is waited for.
const ANSWER_WAIT: Duration = Duration::from_secs(10);
/// How long opening a store waits for the lock: longer, and it goes on without.
const FIRST_WAIT: Duration = Duration::from_secs(5);
/// The pause before a lost session is replaced; each later one is twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(10);
/// The longest such pause.
const MAX_DELAY: Duration = Duration::from_secs(5);

/// This handle's instance. Dropping it ends the session, and with it the instance.
pub(crate) struct Proof {
    id: i64,
    is_locked: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Proof {
    /// Takes the lock, or gives up waiting for it and goes on trying.
    pub(crate) async fn begin(session: SessionOptions) -> Self {
        let id = (RandomState::new().hash_one(std::process::id()) >> 1) as i64;
        let is_locked = Arc::new(AtomicBool::new(false));
        let (told, first) = oneshot::channel();
        let keeper = Keeper { id, session, is_locked: is_locked.clone(), told: Some(told) };
        let task = tokio::spawn(keeper.run());
        // Whatever came of it, the store works.
        let _ = tokio::time::timeout(FIRST_WAIT, first).await;
        Self { id, is_locked, task }
    }

    /// The instance, whether or not its lock is held now.
    pub(crate) fn id(&self) -> i64 {
        self.id
    }

    /// The instance that leases and lanes taken now may name.
    pub(crate) fn named_id(&self) -> Option<i64> {
        self.is_locked.load(Ordering::Acquire).then_some(self.id)
    }

    /// Ends the session.
    pub(crate) fn end(&self) {
        self.is_locked.store(false, Ordering::Release);
        self.task.abort();
    }
}

impl Drop for Proof {
    fn drop(&mut self) {
        self.end();
    }
}

/// Why a session is over.
enum Ended {
    /// It broke, or could not be had.
    Lost(Fault),
    /// It is shared with others, so that its locks prove nothing.
    Shared,
}

impl From<Fault> for Ended {
    fn from(fault: Fault) -> Self {
        Self::Lost(fault)
    }
}

/// The task that keeps the lock.
struct Keeper {
    id: i64,
    session: SessionOptions,
    is_locked: Arc<AtomicBool>,
    /// Whoever waits for the first try.
    told: Option<oneshot::Sender<()>>,
}

impl Keeper {
    async fn run(mut self) {
        let mut delay = FIRST_DELAY;
        loop {
            let Err(ended) = self.hold().await;
            if self.is_locked.swap(false, Ordering::AcqRel) {
                delay = FIRST_DELAY;
            }
            self.tell();
            match ended {
                Ended::Shared => {
                    tracing::warn!(
                        "the database is reached through a pooler that shares sessions: after a crash leases have to run out"
                    );
                    return;
                }
                Ended::Lost(fault) => {
                    tracing::debug!(%fault, ?delay, "the session that proves that this process is alive is replaced");
                }
            }
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(MAX_DELAY);
        }
    }

    fn tell(&mut self) {
        if let Some(told) = self.told.take() {
            // Who has gone away does not wait for it.
            let _ = told.send(());
        }
    }

    /// Keeps the lock in one session for as long as that lasts.
    async fn hold(&mut self) -> Result<std::convert::Infallible, Ended> {
        let session = self.session.clone();
        let (client, connection) = in_time(ANSWER_WAIT, session.connect()).await?;
        let mut connection = std::pin::pin!(connection);
        tokio::select! {
            ended = self.hold_with(&client) => ended,
            closed = &mut connection => match closed {
                Err(error) => Err(Ended::Lost(error.into())),
                Ok(()) => Err(Ended::Lost(Fault::Silent)),
            },
        }
    }

    async fn hold_with(&mut self, client: &Client) -> Result<std::convert::Infallible, Ended> {
        in_time(ANSWER_WAIT, client.batch_execute(self.session.settings())).await?;
        let backend = ask(client, "SELECT pg_backend_pid()").await?;
        let lock = format!("SELECT pg_advisory_lock({})", self.id);
        in_time(ANSWER_WAIT, client.batch_execute(&lock)).await?;
        self.require_own_session(client, &backend).await?;
        self.require_unshared(&backend).await?;
        in_time(ANSWER_WAIT, client.batch_execute(&register(self.id))).await?;
        self.is_locked.store(true, Ordering::Release);
        self.tell();
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            self.require_own_session(client, &backend).await?;
        }
    }

    /// Makes sure that this connection still has the session that took the lock.
    async fn require_own_session(&self, client: &Client, backend: &str) -> Result<(), Ended> {
        let (high, low) = (self.id >> 32, self.id & 0xffff_ffff);
        let holds = format!(
            "SELECT pg_backend_pid() = {backend} AND EXISTS (
                 SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = {backend}
                     AND classid::BIGINT = {high} AND objid::BIGINT = {low} AND objsubid = 1)"
        );
        if ask(client, &holds).await? == "t" {
            return Ok(());
        }
        // Where the row stays, somebody else forgets it with the next death.
        let forget = format!("DELETE FROM instance WHERE id = {}", self.id);
        let _ = in_time(ANSWER_WAIT, client.batch_execute(&forget)).await;
        Err(Ended::Shared)
    }

    /// Makes sure that a second connection does not get the same session. A pooler that
    /// shares sessions gives it the one that was free last.
    async fn require_unshared(&self, backend: &str) -> Result<(), Ended> {
        let (second, connection) = in_time(ANSWER_WAIT, self.session.connect()).await?;
        let other = tokio::select! {
            other = ask(&second, "SELECT pg_backend_pid()") => other?,
            _ = connection => return Err(Ended::Lost(Fault::Silent)),
        };
        if other == backend { Err(Ended::Shared) } else { Ok(()) }
    }
}

/// Registers the instance, and forgets those whose lock the server lost in a restart: it
/// proves nothing, and those that live register again.
fn register(id: i64) -> String {
    format!(
        "DELETE FROM instance
             WHERE server_started_at <> pg_postmaster_start_time() AND pg_try_advisory_xact_lock_shared(id);
         INSERT INTO instance (id, server_started_at) VALUES ({id}, pg_postmaster_start_time())
             ON CONFLICT (id) DO UPDATE SET server_started_at = EXCLUDED.server_started_at, locked_at = now()"
    )
}

/// The first column of the first row of a statement. Statements are not prepared, for behind
/// a pooler the next one may meet another session.
async fn ask(client: &Client, sql: &str) -> Outcome<String> {
    let answer = in_time(ANSWER_WAIT, client.simple_query(sql)).await?;
    let first = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    first.ok_or(Fault::Silent)
}
