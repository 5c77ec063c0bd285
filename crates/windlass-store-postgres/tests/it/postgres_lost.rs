//! A connection lost at every message of an operation: the outcome is certain, and
//! nothing is done twice or not at all.

use windlass_core::commit::{Commit, Write, Written};
use windlass_core::cursor::{CursorMove, CursorRule};
use windlass_core::job::JobFilter;
use windlass_core::outbox::SinkStart;
use windlass_core::store::{Cursors, Door, Events, Jobs, Leases, Outbox};
use windlass_store_postgres::PostgresStore;
use windlass_testkit::make;

use crate::database::{Database, address, url, url_at};
use crate::proxy::{Cut, Proxy};

/// More messages than any operation here sends.
const MAX_MESSAGES: i64 = 400;

async fn behind_proxy(database: &Database) -> (Proxy, PostgresStore) {
    let proxy = Proxy::start(address()).await;
    let url = format!("{}?sslmode=disable", url_at(&proxy.address));
    let store = PostgresStore::open(database.options(&url)).await.expect("the proxy lets it pass");
    (proxy, store)
}

/// Everything a collecting loop commits at once.
fn whole_commit(round: i64) -> Vec<Write> {
    let block = round.unsigned_abs();
    vec![
        Write::Events((0..300).map(|index| make::event(1, block, index, 1)).collect()),
        Write::Blocks { chain: make::chain(1), headers: vec![make::header(block, 1)] },
        Write::AdvanceCursor {
            name: make::cursor_name("c"),
            to: make::cursor(round, "x"),
            rule: CursorRule::Identified,
        },
        Write::Enqueue(vec![make::job("q", &format!("k{round}"), "{}")]),
        Write::Publish(vec![make::message("p", &format!("m{round}"))]),
        Write::PutState { key: make::state_key("s"), value: Some(round.to_string()) },
    ]
}

async fn commits_survive(cut: Cut) {
    let database = Database::new();
    let (proxy, store) = behind_proxy(&database).await;
    store.register_sink(&make::sink("nats"), SinkStart::Beginning).await.expect("a sink");
    store.seed_cursor(&make::cursor_name("c"), make::cursor(0, "x")).await.expect("a cursor");
    let lease = store.acquire_lease(&make::lease_name("l"), &make::owner("a"), make::ms(1_000)).await;
    let lease = lease.expect("an answer").expect("a lease");
    let mut round = 0;
    let mut broken = true;
    while broken {
        round += 1;
        assert!(round < MAX_MESSAGES, "the fuse never outlasted the commit");
        proxy.arm(round, cut);
        let commit = Commit::of(whole_commit(round)).under_lease(&lease);
        let written = store.commit(commit).await.unwrap_or_else(|error| panic!("message {round}: {error}"));
        broken = proxy.disarm();
        assert_eq!(written[0], Written::Rows(300), "message {round}");
        assert_eq!(written[2], Written::Cursor(CursorMove::Advanced), "message {round}");
        assert_eq!(written[4], Written::Messages(vec![round]), "message {round}");
    }
    assert!(round > 20, "only {round} messages were cut");
    let rounds = round.unsigned_abs();
    let count = "SELECT count(*) FROM event";
    let events: i64 = database.client().await.query_one(count, &[]).await.expect("a count").get(0);
    assert_eq!(events, round * 300);
    let jobs = store.list_jobs(&JobFilter { limit: 1_000, ..JobFilter::default() }).await.expect("jobs");
    assert_eq!(jobs.len() as u64, rounds);
    assert_eq!(store.outbox_depth().await.expect("depths")[0].waiting, rounds);
}

#[tokio::test]
async fn a_commit_whose_message_was_lost_is_made_once() {
    commits_survive(Cut::Before).await;
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_made_once() {
    commits_survive(Cut::After).await;
}

/// The lane that is completed is gone with its last job, as is one that never was, so
/// nothing but what the completion itself has left can tell that it was made.
#[tokio::test]
async fn a_completion_whose_answer_was_lost_is_told_apart_from_one_that_was_refused() {
    let database = Database::new();
    let (proxy, store) = behind_proxy(&database).await;
    store.enqueue_jobs(vec![make::job("old", "k", "{}")]).await.expect("an id");
    let old = store.claim_jobs(&make::claim("old", "a", 1)).await.expect("jobs")[0].ticket;
    store.release_jobs(&[old]).await.expect("released");
    let mut broken = true;
    let mut round = 0;
    while broken {
        round += 1;
        store.enqueue_jobs(vec![make::job("q", "k", "{}")]).await.expect("an id");
        let claimed = store.claim_jobs(&make::claim("q", "a", 10)).await.expect("jobs");
        assert_eq!(claimed.len(), 1);
        proxy.arm(round, Cut::After);
        let refused = store.complete_jobs(&[claimed[0].ticket, old]).await.expect("an answer");
        broken = proxy.disarm();
        assert_eq!(refused, [old], "message {round}");
    }
    assert!(round > 3, "only {round} messages were cut");
    let left: Vec<String> =
        store.count_jobs().await.expect("counts").iter().map(|counts| counts.queue.to_string()).collect();
    assert_eq!(left, ["old"]);
}

#[tokio::test]
async fn a_claim_whose_answer_was_lost_comes_back_when_its_time_has_run_out() {
    let database = Database::new();
    let (proxy, store) = behind_proxy(&database).await;
    let (mut broken, mut round, mut lost) = (true, 0, 0);
    while broken {
        round += 1;
        store.enqueue_jobs(vec![make::job("q", "k", "{}")]).await.expect("an id");
        proxy.arm(round, Cut::After);
        let mut claimed = store.claim_jobs(&make::claim("q", "a", 10)).await.expect("an answer");
        broken = proxy.disarm();
        if claimed.is_empty() {
            lost += 1;
            database.clock.advance_ms(make::TTL_MS as i64);
            claimed = store.claim_jobs(&make::claim("q", "b", 10)).await.expect("an answer");
            assert_eq!(claimed[0].attempt, 2);
        }
        assert_eq!(store.complete_jobs(&[claimed[0].ticket]).await.expect("an answer"), []);
    }
    assert!(lost > 0, "the answer to a claim's commit was never lost");
}

#[tokio::test]
async fn a_session_that_the_server_ends_in_the_middle_is_replaced() {
    let database = Database::new();
    let name = &database.schema;
    let url = format!("{}?application_name={name}", url());
    let store = PostgresStore::open(database.options(&url)).await.expect("the server is up");
    store.seed_cursor(&make::cursor_name("c"), make::cursor(0, "x")).await.expect("a cursor");
    let (holder, admin) = (database.client().await, database.client().await);
    holder.batch_execute("BEGIN; SELECT FROM cursor FOR UPDATE").await.expect("a lock");
    let commit = store.commit(Commit::of(whole_commit(1)));
    let end_it = async {
        let waiting = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                       WHERE application_name = $1 AND wait_event_type = 'Lock'";
        while admin.query(waiting, &[name]).await.expect("an answer").is_empty() {
            tokio::task::yield_now().await;
        }
        holder.batch_execute("COMMIT").await.expect("the lock is given back");
    };
    let (written, ()) = tokio::join!(commit, end_it);
    assert_eq!(written.expect("a commit")[4], Written::Messages(vec![1]));
    assert_eq!(store.count_events(make::chain(1)).await.expect("a count"), 300);
}
