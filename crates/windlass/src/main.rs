//! The `windlass` binary: the only crate that knows all the others.
//!
//! | folder | what it holds |
//! | --- | --- |
//! | [`cli`] | what can be typed: a folder per noun, a file per verb |
//! | [`collect`] | collecting, from configuration to running loops, and how far they are |
//! | [`config`] | what is configured, and where each value came from |
//! | [`compose`] | from configuration to running parts |
//! | [`demo`] | the main job on embedded defaults |
//! | [`doctor`] | checks of everything a deployment needs |
//! | [`explain`] | the page of each error code |
//! | [`export`] | what was collected, as a file |
//! | [`output`] | standard output, standard error, tables, logs |
//! | [`failure`] | why a command ended without success |
//! | [`run`] | the daemon: the store and the roles played on it |
//! | [`signals`] | Ctrl-C, SIGTERM and SIGHUP |
//! | [`vault`] | setting up a vault and its rules |

mod cli;
mod collect;
mod compose;
mod config;
mod demo;
mod doctor;
mod explain;
mod export;
mod failure;
mod output;
mod pay;
mod run;
mod signals;
mod vault;

use std::process::ExitCode;
use std::time::Duration;

use crate::cli::Cli;
use crate::output::exit::Exit;

/// How long work that a command left behind may take before the process ends without it.
const MAX_LEFTOVER_MS: u64 = 1_000;

fn main() -> ExitCode {
    // Fails only if a provider is installed already, and this is the first thing that runs.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let cli = Cli::read();
    cli.colour();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::note(&format!("error: cannot start the runtime: {error}"));
            return Exit::No.into();
        }
    };
    let exit = match runtime.block_on(cli.run()) {
        Ok(()) => Exit::Done.into(),
        Err(failure) => {
            output::failure::show(&failure);
            failure.exit.into()
        }
    };
    // Dropping the runtime would wait for whatever still runs, however long that takes.
    runtime.shutdown_timeout(Duration::from_millis(MAX_LEFTOVER_MS));
    exit
}
