//! The chain of the payout case in a process of its own, and how the measuring process asks it.
//!
//! The child prints a description of its chain, then answers one line for each line that it is told:
//! `paid BLOCK`, `nonce ADDRESS` or `memory`. It ends with its input.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};

use alloy_primitives::Address;
use serde::{Deserialize, Serialize};
use windlass_chain::evm::{EvmPool, PoolOptions};
use windlass_chain::signer::development::DevelopmentSigner;
use windlass_core::payout::request::VaultRef;
use windlass_core::payout::signer::Signer;
use windlass_core::payout::submit::TransactionChain;

use super::Broken;
use super::world::World;
use crate::memory;

/// What the measuring process has to know of the chain. The keys are those of a development chain.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ChainDescription {
    pub(super) url: String,
    pub(super) vault: VaultRef,
    pub(super) token: Address,
    pub(super) keys: Vec<String>,
}

/// Serves the chain until the input ends.
pub(crate) async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let world = World::start().await.map_err(|error| error.to_string())?;
    anstream::println!("{}", serde_json::to_string(&world.describe())?);
    let answered = tokio::task::spawn_blocking(move || -> Result<(), String> {
        for line in std::io::stdin().lock().lines() {
            let line = line.map_err(|error| error.to_string())?;
            anstream::println!("{}", answer(&world, &line)?);
        }
        Ok(())
    });
    Ok(answered.await??)
}

fn answer(world: &World, line: &str) -> Result<String, String> {
    match line.split_once(' ') {
        Some(("paid", block)) => {
            let (paid, head) = world.paid_after(block.parse().map_err(|_| "no block")?);
            Ok(format!("{paid} {head}"))
        }
        Some(("nonce", account)) => {
            Ok(world.next_nonce(account.parse().map_err(|_| "no address")?).to_string())
        }
        _ if line == "memory" => Ok(memory::peak_rss_mib().to_string()),
        _ => Err(format!("`{line}` is not a question")),
    }
}

/// A running chain.
pub(super) struct ServedChain {
    pub(super) description: ChainDescription,
    pipes: Mutex<Pipes>,
    child: Child,
}

struct Pipes {
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl ServedChain {
    /// Starts one.
    pub(super) fn start() -> Result<Self, Broken> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("pay-chain");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut pipes = Pipes { input: child.stdin.take(), output };
        let description = serde_json::from_str(&pipes.line()?)?;
        Ok(Self { description, pipes: Mutex::new(pipes), child })
    }

    /// How many payouts the vault has told of behind a block, and the block up to which.
    pub(super) fn paid_after(&self, block: u64) -> Result<(u64, u64), Broken> {
        let told = self.ask(&format!("paid {block}"))?;
        let (paid, head) = told.split_once(' ').ok_or("two numbers are wanted")?;
        Ok((paid.parse()?, head.parse()?))
    }

    /// The next nonce of an account.
    pub(super) fn next_nonce(&self, account: Address) -> Result<u64, Broken> {
        Ok(self.ask(&format!("nonce {account}"))?.parse()?)
    }

    /// The most memory that the chain's process has held, in MiB.
    pub(super) fn peak_rss_mib(&self) -> Result<u64, Broken> {
        Ok(self.ask("memory")?.parse()?)
    }

    /// The chain as a payer reads it.
    pub(super) fn pool(&self) -> Result<Arc<dyn TransactionChain>, Broken> {
        let ChainDescription { url, vault, .. } = &self.description;
        Ok(Arc::new(EvmPool::new(&[url], vault.chain, PoolOptions::default())?))
    }

    /// Accounts that may pay; the first of the chain is the vault's admin.
    pub(super) fn signers(&self, count: usize) -> Result<Vec<Arc<dyn Signer>>, Broken> {
        let keys = self.description.keys.iter().skip(1).take(count);
        keys.map(|key| Ok(Arc::new(DevelopmentSigner::new(&key.clone().into())?) as Arc<dyn Signer>))
            .collect()
    }

    fn ask(&self, words: &str) -> Result<String, Broken> {
        let mut pipes = self.pipes.lock().map_err(|_| "another question has failed")?;
        let input = pipes.input.as_mut().ok_or("the chain has ended")?;
        writeln!(input, "{words}")?;
        pipes.line()
    }
}

impl Pipes {
    fn line(&mut self) -> Result<String, Broken> {
        let mut line = String::new();
        match self.output.read_line(&mut line)? {
            0 => Err("the chain has ended".into()),
            _ => Ok(line.trim().to_owned()),
        }
    }
}

impl Drop for ServedChain {
    fn drop(&mut self) {
        if let Ok(pipes) = self.pipes.get_mut() {
            drop(pipes.input.take());
        }
        let _ = self.child.wait();
    }
}
