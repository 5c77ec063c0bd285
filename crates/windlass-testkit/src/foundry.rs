//! Foundry's programs, from the paths in the environment.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How long anvil may take to listen.
const MAX_START: Duration = Duration::from_secs(60);

/// Where programs run that would read settings from the folder they are in.
fn folder() -> PathBuf {
    std::env::temp_dir()
}

fn program(variable: &str) -> PathBuf {
    let path = std::env::var_os(variable).filter(|path| !path.is_empty());
    let hint = "run under ./test or scripts/with-services, or set it to the program's path";
    path.unwrap_or_else(|| panic!("{variable} is not set: {hint}")).into()
}

/// A program with nothing of the environment, so that no setting of a person's changes what it does.
fn command(variable: &str) -> Command {
    let mut command = Command::new(program(variable));
    command.env_clear().env("HOME", folder()).current_dir(folder()).stdin(Stdio::null());
    command
}

/// Cast, to be given its arguments.
pub fn cast() -> Command {
    command("WINDLASS_TEST_CAST")
}

/// A program that runs; ended when dropped.
#[derive(Debug)]
pub struct Ended(pub Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to kill.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running anvil; ended when dropped.
#[derive(Debug)]
pub struct Anvil {
    _program: Ended,
    /// Where it listens.
    pub url: String,
}

impl Anvil {
    /// Starts it on a free port and waits until it listens.
    pub fn start(options: &[&str]) -> Self {
        let mut command = command("WINDLASS_TEST_ANVIL");
        command.args(["--host", "127.0.0.1", "--port", "0"]).args(options);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("anvil starts");
        let mut program = Ended(child);
        let output = program.0.stdout.take().expect("its standard output");
        let (found, address) = mpsc::channel();
        std::thread::spawn(move || read_output(output, &found));
        let address = address.recv_timeout(MAX_START).expect("anvil listens");
        Self { _program: program, url: format!("http://{address}") }
    }
}

/// Looks for the address and reads on, since anvil stops when nobody reads what it says.
fn read_output(output: ChildStdout, found: &mpsc::Sender<String>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if let Some(address) = line.strip_prefix("Listening on ") {
            // Nobody waits any more when the start took too long.
            let _ = found.send(address.trim().to_owned());
        }
    }
}
