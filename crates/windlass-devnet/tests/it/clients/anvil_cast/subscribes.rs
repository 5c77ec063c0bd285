//! `cast logs --subscribe`: logs as they come.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::Caster;
use crate::chain::support::{emitter, init_code, topic};
use windlass_testkit::foundry::{Ended, cast};

/// How many logs are made at most before cast must have heard one.
const MAX_SENDS: usize = 200;

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_heard_as_they_come() {
    let [_, caster] = Caster::both().await;
    let contract = caster.create(&init_code(&emitter(1)));
    let mut command = cast();
    command.args(["logs", "--subscribe", "--address", &contract.to_string(), "--rpc-url", &caster.url]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("cast starts");
    let mut listening = Ended(child);
    let output = listening.0.stdout.take().expect("its standard output");
    let wanted = topic(9).to_string();
    let heard = std::thread::spawn(move || {
        BufReader::new(output).lines().map_while(Result::ok).any(|line| line.contains(&wanted))
    });
    // Cast does not say when it has subscribed, so there are logs until it hears one.
    for _ in 0..MAX_SENDS {
        if heard.is_finished() {
            break;
        }
        caster.send(0, &[&contract.to_string(), &topic(9).to_string()]);
    }
    drop(listening);
    assert!(heard.join().expect("the reader ends with cast"), "cast heard no log");
}
