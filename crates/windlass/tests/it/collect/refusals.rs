//! Endpoints that refuse in passing at the first start of all: they are waited for, and only
//! what does not pass by itself ends the process.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::http::{get, url_in};
use super::world::{World, until, wait_until, wait_until_collected};
use crate::binary::{Folder, Running};

const TOO_MANY: &str = "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
const FORBIDDEN: &str = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// A refusal in words that nobody has listed.
fn unlisted() -> String {
    let body =
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":35,"message":"the moon is in the wrong house"}}"#;
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// An endpoint that answers so many requests with this, and then as the chain does.
struct Front {
    url: String,
    refusals: Arc<AtomicUsize>,
}

impl Front {
    fn start(world: &World, refusals: usize, answer: impl Into<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let server = world.url().trim_start_matches("http://").trim_end_matches('/').to_owned();
        let (left, answer) = (Arc::new(AtomicUsize::new(refusals)), answer.into());
        let shared = left.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (left, answer, server) = (shared.clone(), answer.clone(), server.clone());
                std::thread::spawn(move || serve(client, &server, &left, &answer));
            }
        });
        Self { url, refusals: left }
    }

    /// The chain's own configuration with this endpoint in its place.
    fn config(&self, world: &World) -> String {
        world.config("0").replace(&world.url(), &self.url)
    }
}

fn serve(mut client: TcpStream, server: &str, left: &AtomicUsize, answer: &str) -> std::io::Result<()> {
    let refuse = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
    if refuse {
        // One packet holds the whole question.
        let read = client.read(&mut [0; 4_096])?;
        assert!(read > 0);
        return client.write_all(answer.as_bytes());
    }
    let mut server = TcpStream::connect(server)?;
    let (mut questions, mut to_server) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut questions, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    std::io::copy(&mut server, &mut client).map(drop)
}

fn set(world: &World, plan: &str) {
    world.faults.set(plan.parse().expect("a plan"));
}

fn stop(running: Running) {
    running.signal("TERM");
    let (status, rest) = running.end();
    assert_eq!(status.code(), Some(0), "{rest}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_limit_at_the_first_start_is_waited_out_and_called_by_its_name() {
    let world = World::of_today(31_337).await;
    world.pay(10);
    set(&world, "429=1");
    let folder = Folder::with_config(&world.config("0"));
    let mut running = folder.start(&["run"]);
    let url = url_in(&running.wait_for("serving what was collected"));
    let line = running.wait_for("rate limited by the chain's endpoints");
    assert!(line.contains("chain=local") && line.contains("code=W0204"), "{line}");
    let shown = wait_until(&folder, "fees", |shown| shown["health"]["state"] == "rate_limited");
    let message = shown["health"]["message"].as_str().expect("words");
    assert!(message.starts_with("rate limited since "), "{message}");
    let body = until(|| match get(&url, "/readyz") {
        (503, body) if body.contains("W0204") => Ok(body),
        (_, body) => Err(body),
    });
    assert!(body.contains("rate limited since ") && !body.contains("down"), "{body}");
    let status = folder.run(&["status"]).stdout;
    assert!(status.contains("rate limited") && !status.contains("rpc down"), "{status}");
    set(&world, "");
    running.wait_for("the chain's endpoints answer");
    wait_until_collected(&folder, "fees", 10);
    stop(running);
}

/// Each of these in its turn, at the first start of all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outages_and_cut_answers_at_the_first_start_are_waited_out() {
    let world = World::of_today(31_337).await;
    world.pay(3);
    for plan in ["503=1", "reset=1", "truncate=1", "ratelimit=1"] {
        set(&world, plan);
        let folder = Folder::with_config(&world.config("0"));
        let mut running = folder.start(&["run", "--role", "collect"]);
        let words = if plan == "ratelimit=1" { "rate limited by" } else { "do not answer" };
        running.wait_for(words);
        set(&world, "");
        wait_until_collected(&folder, "fees", 3);
        stop(running);
    }
}

/// The deployment is searched for while every second answer is a refusal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_of_all_answers_refused_still_lead_to_a_start() {
    let world = World::of_today(31_337).await;
    world.pay(20);
    set(&world, "503=0.5");
    let folder = Folder::with_config(&world.config("\"deployment\""));
    let mut running = folder.start(&["run", "--role", "collect"]);
    running.wait_for("the contract's deployment was found");
    set(&world, "");
    wait_until_collected(&folder, "fees", 20);
    stop(running);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_in_unlisted_words_are_waited_out() {
    let world = World::of_today(31_337).await;
    world.pay(3);
    let front = Front::start(&world, 3, unlisted());
    let folder = Folder::with_config(&front.config(&world));
    let mut running = folder.start(&["run", "--role", "collect"]);
    let line = running.wait_for("do not answer");
    assert!(line.contains("the moon is in the wrong house"), "{line}");
    wait_until_collected(&folder, "fees", 3);
    assert_eq!(front.refusals.load(Ordering::SeqCst), 0);
    stop(running);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_not_accepted_ends_the_first_start() {
    let world = World::of_today(31_337).await;
    let front = Front::start(&world, usize::MAX, FORBIDDEN);
    let folder = Folder::with_config(&front.config(&world));
    let ran = folder.run(&["run"]);
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    assert!(
        ran.stderr.contains("answered with status 403") && ran.stderr.contains("hint: "),
        "{}",
        ran.shown()
    );
    assert!(!folder.path().join("windlass.db").exists(), "nothing was written");
}

/// What must be mended shows only once somebody answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_chain_behind_a_rate_limit_ends_the_first_start() {
    let world = World::of_today(31_337).await;
    set(&world, "429=1");
    let folder = Folder::with_config(&world.config("0").replace("id = 31337", "id = 31339"));
    let mut running = folder.start(&["run"]);
    running.wait_for("rate limited by the chain's endpoints");
    set(&world, "");
    let line = running.wait_for("error[W0202]");
    assert!(line.contains("serves chain 31337, not 31339"), "{line}");
    let (status, rest) = running.end();
    assert_eq!(status.code(), Some(1), "{rest}");
    assert!(rest.contains("hint: correct `id` or `rpc`"), "{rest}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_ask_again_what_was_refused_in_passing() {
    let world = World::of_today(31_337).await;
    world.pay(3);
    let front = Front::start(&world, 2, TOO_MANY);
    let ran = Folder::new().run(&["init", "--rpc", &front.url]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let front = Front::start(&world, 2, TOO_MANY);
    let folder = Folder::with_config(&front.config(&world));
    let ran = folder.run(&["doctor"]);
    assert!(ran.stdout.contains("serves chain 31337"), "{}", ran.shown());
    let front = Front::start(&world, usize::MAX, TOO_MANY);
    let ran = Folder::new().run(&["init", "--rpc", &front.url]);
    assert!(ran.code == Some(1) && ran.stderr.contains("error[W0204]"), "not for ever: {}", ran.shown());
}
