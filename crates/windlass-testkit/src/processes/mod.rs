//! Many processes on one database, some of them killed.
//!
//! A test starts its own binary again, several times, as workers: each claims
//! jobs, and commits every job's effect together with its end. The test kills one
//! that is in the middle of a job for certain, then workers at random moments, starts
//! others in their place, and in the end every effect must be there exactly once and
//! in its lane's order.
//!
//! ```text
//! #[tokio::test]
//! async fn killed_processes_lose_and_repeat_nothing() {
//!     if let Some(place) = processes::worker_place() {
//!         return processes::work(open(&place).await).await;
//!     }
//!     let test = processes::test_path(module_path!(), "killed_processes_lose_and_repeat_nothing");
//!     processes::run(open(place).await, &Swarm::new(&test, place)).await;
//! }
//! ```

mod worker;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_core::job::NewJob;
use windlass_core::outbox::{MAX_CLAIMED_MESSAGES, SinkStart};
use windlass_core::store::Store;

use worker::{Effect, HOLDS, PLACE_VARIABLE, QUEUE, STOP_VARIABLE, open_jobs};
pub use worker::{work, worker_place};

use crate::make;

/// How long all of it may take, however slow the machine: a little less than any test may.
const MAX_DURATION: Duration = Duration::from_secs(240);
/// How often the parent looks how far the workers are.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// The sink through which the effects are read.
const SINK: &str = "effects";

/// What to start, and how much it has to do.
#[derive(Debug, Clone, Copy)]
pub struct Swarm<'a> {
    /// The test that is run again as a worker, by its full name.
    pub test: &'a str,
    /// The database, as workers are told of it.
    pub place: &'a str,
    /// How many workers at a time.
    pub workers: usize,
    /// How many lanes.
    pub lanes: usize,
    /// How many jobs each has.
    pub jobs_per_lane: usize,
    /// How many workers are killed at random moments.
    pub kills: usize,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwarmReport {
    /// Effects found, each once.
    pub effects: usize,
    /// Workers killed while there was work.
    pub killed: usize,
    /// Jobs that somebody had begun and another finished.
    pub taken_over: usize,
}

impl fmt::Display for SwarmReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { effects, killed, taken_over } = self;
        write!(f, "{effects} effects once each, {killed} processes killed, {taken_over} jobs taken over")
    }
}

impl<'a> Swarm<'a> {
    /// Four workers over twenty lanes, six of them killed at random.
    pub fn new(test: &'a str, place: &'a str) -> Self {
        Self { test, place, workers: 4, lanes: 20, jobs_per_lane: 25, kills: 6 }
    }

    fn jobs(&self) -> Vec<NewJob> {
        let lane = |lane: usize| {
            let key = format!("lane{lane:03}");
            (0..self.jobs_per_lane).map(move |number| make::job(QUEUE, &key, &format!("{key}/{number}")))
        };
        (0..self.lanes).flat_map(lane).collect()
    }
}

/// The name under which a test binary knows a test of a module.
pub fn test_path(module_path: &str, test: &str) -> String {
    match module_path.split_once("::") {
        Some((_crate, module)) => format!("{module}::{test}"),
        None => test.to_owned(),
    }
}

/// Workers of this test; those still alive are killed with it.
struct Workers {
    alive: Vec<Child>,
}

impl Workers {
    fn start(&mut self, swarm: &Swarm<'_>) -> io::Result<()> {
        self.alive.push(command(swarm)?.stdout(Stdio::null()).spawn()?);
        Ok(())
    }

    /// Kills one in the middle of a job: it says that it holds one, and goes no further.
    fn kill_a_holder(swarm: &Swarm<'_>) -> io::Result<()> {
        let holder = command(swarm)?.env(STOP_VARIABLE, "1").stdout(Stdio::piped()).spawn()?;
        let mut workers = Self { alive: vec![holder] };
        let said = workers.alive[0].stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines);
        for line in said {
            if line?.contains(HOLDS) {
                workers.kill(0)?;
                return Ok(());
            }
        }
        Err(io::Error::other("a worker ended before it held a job"))
    }

    /// Kills one without warning; `false` when it had ended by itself.
    fn kill(&mut self, which: usize) -> io::Result<bool> {
        let mut victim = self.alive.swap_remove(which % self.alive.len());
        let was_alive = victim.try_wait()?.is_none();
        victim.kill()?;
        victim.wait()?;
        Ok(was_alive)
    }

    /// Whether one ended by itself and not well.
    fn has_failed(&mut self) -> io::Result<bool> {
        for child in &mut self.alive {
            if child.try_wait()?.is_some_and(|status| !status.success()) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for child in &mut self.alive {
            // A worker that is gone already cannot be killed, and need not be.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// This test again, as a worker.
fn command(swarm: &Swarm<'_>) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args([swarm.test, "--exact", "--nocapture", "--test-threads=1"])
        .env(PLACE_VARIABLE, swarm.place)
        .stdin(Stdio::null());
    Ok(command)
}

/// Starts the workers on a fresh database, kills some, and checks every effect.
/// Panics when an effect is missing, repeated or out of order.
pub async fn run(store: Arc<dyn Store>, swarm: &Swarm<'_>) -> SwarmReport {
    store.register_sink(&make::sink(SINK), SinkStart::Beginning).await.expect("a fresh database");
    let ids = store.enqueue_jobs(swarm.jobs()).await.expect("a fresh database");
    let killed = supervise(&*store, swarm, ids.len() as u64).await.expect("processes can be started");
    let effects = collect(&*store).await;
    let taken_over = check(swarm, &effects);
    assert!(taken_over > 0, "nobody took over what the first one killed had held");
    SwarmReport { effects: ids.len(), killed, taken_over }
}

/// Kills one that holds a job, lets others work, and kills one of them whenever another share of the jobs is done.
async fn supervise(store: &dyn Store, swarm: &Swarm<'_>, jobs: u64) -> io::Result<usize> {
    let (started, dice) = (Instant::now(), RandomState::new());
    Workers::kill_a_holder(swarm)?;
    let mut workers = Workers { alive: Vec::new() };
    for _ in 0..swarm.workers {
        workers.start(swarm)?;
    }
    let (mut killed, mut turn) = (1, 0);
    loop {
        let open = open_jobs(store).await;
        if open == 0 {
            return Ok(killed);
        }
        assert!(started.elapsed() < MAX_DURATION, "{open} jobs are still open after {MAX_DURATION:?}");
        assert!(!workers.has_failed()?, "a worker failed");
        let due = jobs - jobs * (turn + 1) / (swarm.kills as u64 + 1);
        if turn < swarm.kills as u64 && open <= due {
            let roll = dice.hash_one(turn);
            tokio::time::sleep(Duration::from_micros(roll % 5_000)).await;
            killed += usize::from(workers.kill(roll as usize)?);
            workers.start(swarm)?;
            turn += 1;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// The effects of each lane, in the order in which they were written.
async fn collect(store: &dyn Store) -> BTreeMap<String, Vec<Effect>> {
    let all = make::delivery(SINK, "reader", MAX_CLAIMED_MESSAGES);
    let runs = store.claim_messages(&all).await.expect("the sink was registered");
    let read = |payload: &str| serde_json::from_str(payload).expect("workers write effects");
    let lane = |run: windlass_core::outbox::ClaimedMessages| {
        let effects = run.messages.iter().map(|message| read(&message.payload)).collect();
        (run.partition.to_string(), effects)
    };
    runs.into_iter().map(lane).collect()
}

/// Checks that every job left its effect once and in order; counts those that
/// took more than one attempt.
fn check(swarm: &Swarm<'_>, effects: &BTreeMap<String, Vec<Effect>>) -> usize {
    let mut expected: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for job in swarm.jobs() {
        expected.entry(job.key.to_string()).or_default().push(job.payload);
    }
    let found: BTreeMap<String, Vec<String>> = effects
        .iter()
        .map(|(lane, effects)| (lane.clone(), effects.iter().map(|effect| effect.job.clone()).collect()))
        .collect();
    assert_eq!(found, expected, "every effect once, in the order of its lane");
    effects.values().flatten().filter(|effect| effect.attempt > 1).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_known_without_its_crate() {
        assert_eq!(test_path("it::sqlite::many", "works"), "sqlite::many::works");
        assert_eq!(test_path("it", "works"), "works");
    }

    #[test]
    #[should_panic(expected = "every effect once")]
    fn an_effect_that_happened_twice_is_found() {
        let swarm = Swarm { lanes: 1, jobs_per_lane: 1, ..Swarm::new("t", "p") };
        let effect = || Effect { job: "lane000/0".to_owned(), attempt: 1 };
        check(&swarm, &BTreeMap::from([("lane000".to_owned(), vec![effect(), effect()])]));
    }

    #[test]
    #[should_panic(expected = "every effect once")]
    fn an_effect_that_is_missing_is_found() {
        let swarm = Swarm { lanes: 1, jobs_per_lane: 1, ..Swarm::new("t", "p") };
        check(&swarm, &BTreeMap::new());
    }
}
