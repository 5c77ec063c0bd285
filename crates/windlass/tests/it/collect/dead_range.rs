//! A range that is given up: who tells of it, and how it comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use windlass_core::job::{DeletedJobs, JobClaim, JobFailure, JobFilter, JobRow};
use windlass_core::name::Owner;
use windlass_core::retry::Verdict;
use windlass_core::store::{Health, Jobs};
use windlass_core::time::{Clock, Timestamp};
use windlass_store_sqlite::{SqliteOptions, SqliteStore};

use super::http::{get, url_in};
use super::world::{World, until, wait_until_collected};
use crate::binary::{Folder, Running};

/// After so many attempts that did not come to an end a range is given up.
const MAX_ATTEMPTS: u32 = 100;
const DAY_MS: i64 = 86_400_000;

/// The time, or a day later: nobody waits for the delays between attempts.
#[derive(Default)]
struct Ahead(AtomicI64);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        Timestamp::from_ms(now.as_millis() as i64 + self.0.load(Ordering::Relaxed))
    }
}

fn start(folder: &Folder) -> (Running, String) {
    let mut running = folder.start(&["run"]);
    let url = url_in(&running.wait_for("serving what was collected"));
    (running, url)
}

fn stop(running: Running) {
    running.signal("TERM");
    let (status, rest) = running.end();
    assert_eq!(status.code(), Some(0), "{rest}");
}

fn jobs(folder: &Folder, verb: &str) -> Result<Vec<JobRow>, String> {
    let ran = folder.run(&["jobs", verb, "--json"]);
    serde_json::from_str(&ran.stdout).map_err(|_| ran.shown())
}

/// Uses up all attempts of a range, as if it had failed while others passed.
async fn wear_out(folder: &Folder) {
    let clock = Arc::new(Ahead::default());
    let options = SqliteOptions::file(folder.path().join("windlass.db")).with_clock(clock.clone());
    let store = SqliteStore::open(options).await.expect("a store");
    let filter = JobFilter { queue: None, dead: false, after: None, limit: 10 };
    loop {
        let open = store.list_jobs(&filter).await.expect("jobs");
        let [job] = open.as_slice() else { panic!("one range is open: {open:?}") };
        if job.attempts == MAX_ATTEMPTS {
            break;
        }
        let claim = JobClaim {
            queue: job.queue.clone(),
            owner: Owner::new("hasty").expect("a name"),
            ttl: Duration::from_secs(60),
            max_jobs: 1,
            max_per_lane: 1,
            max_attempts: MAX_ATTEMPTS,
            deleted: DeletedJobs::Skip,
        };
        clock.0.store(DAY_MS, Ordering::Relaxed);
        let claimed = store.claim_jobs(&claim).await.expect("an answer").pop().expect("it is due");
        clock.0.store(0, Ordering::Relaxed);
        let verdict = Verdict::RetryAfter(Duration::ZERO);
        let failure =
            JobFailure { ticket: claimed.ticket, error: "blocks 18 to 18: status 503".to_owned(), verdict };
        store.fail_job(&failure).await.expect("failed");
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_range_that_dies_is_told_of_everywhere_and_can_be_retried() {
    let world = World::start().await;
    world.pay(20);
    // The last final block alone is the past: one range of one block.
    let config = world.config(&world.chain.finalized().to_string());
    let folder = Folder::with_config(&config.replace("[chain.local]\n", "[chain.local]\nmax_range = 1\n"));
    world.faults.set("503=1@eth_getLogs".parse().expect("a plan"));
    let (running, _) = start(&folder);
    // Every block fails, so the endpoint does: the range is open, and nothing is held against it.
    let open = until(|| jobs(&folder, "list")?.pop().ok_or_else(|| "no range is open".to_owned()));
    assert_eq!(open.error, None);
    stop(running);
    wear_out(&folder).await;
    let (running, url) = start(&folder);
    let dead = until(|| jobs(&folder, "dead")?.pop().ok_or_else(|| "none is dead".to_owned()));
    assert_eq!(dead.attempts, MAX_ATTEMPTS);
    let reason = dead.error.expect("a reason");
    assert!(reason.contains("blocks 18 to 18: ") && reason.contains("503"), "{reason}");
    world.faults.set("".parse().expect("a plan"));

    let status = until(|| {
        let status = folder.run(&["status"]).stdout;
        if status.contains("warning[W0402]: local: ") { Ok(status) } else { Err(status) }
    });
    assert!(status.contains("jobs dead") || status.contains("windlass jobs"), "what to do is said: {status}");
    let shown = folder.run(&["index", "show", "fees"]).stdout;
    assert!(shown.contains("gap       blocks 18 to 18, given up"), "{shown}");
    let body = until(|| match get(&url, "/readyz") {
        (503, body) if body.contains("W0402") => Ok(body),
        (_, body) => Err(body),
    });
    assert!(body.contains("local"), "{body}");
    let metric = |state: &str, count: u64| {
        let line = format!("windlass_collect_ranges{{chain=\"local\",state=\"{state}\"}} {count}");
        until(|| {
            let numbers = get(&url, "/metrics").1;
            if numbers.contains(&line) { Ok(()) } else { Err(numbers) }
        });
    };
    metric("dead", 1);
    let audited = folder.run(&["audit", "--chain", "local", "--to", "18"]);
    assert!(audited.code == Some(1) && audited.stderr.contains("error[W0402]"), "{}", audited.shown());
    assert!(audited.stdout.contains("1 blocks were set aside after ten attempts"), "{}", audited.shown());
    assert!(audited.stdout.ends_with("no block was looked at\n"), "{}", audited.shown());

    let retried = folder.run(&["jobs", "retry", "--all"]);
    assert!(retried.stdout.starts_with("requeued as "), "{}", retried.shown());
    wait_until_collected(&folder, "fees", 6);
    metric("dead", 0);
    until(|| match get(&url, "/readyz") {
        (200, _) => Ok(()),
        (_, body) => Err(body),
    });
    assert_eq!(jobs(&folder, "dead"), Ok(Vec::new()));
    let status = folder.run(&["status"]).stdout;
    assert!(!status.contains("W0402"), "all is well: {status}");
    let audited = folder.run(&["audit", "--chain", "local", "--to", "18"]);
    assert!(audited.stdout.ends_with("\nnothing is missing, extra or altered\n"), "{}", audited.shown());
    stop(running);
}
