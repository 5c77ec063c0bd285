//! `windlass run` as a user starts it: the binary, a configuration file, and every
//! setting of the collector at its default.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use windlass_devnet::synthetic::SyntheticOptions;

use crate::fees;

/// How long it may take to stop when it is asked to.
const MAX_STOP: Duration = Duration::from_secs(45);
/// How often is looked whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How much of its log is shown when it ends by itself.
const LOG_LINES: usize = 12;

/// What is added to the configuration where the log is kept.
const KEPT_LOG: &str = "\n[log]\nlevel = \"debug\"\n";

type Broken = Box<dyn std::error::Error>;

/// Which binary.
#[derive(clap::Args, Clone)]
pub(crate) struct BinaryArgs {
    /// The binary to start; by default the one beside this program
    #[arg(long = "windlass", value_name = "PATH")]
    path: Option<PathBuf>,
    /// Keep its configuration, its log with debugging lines and an embedded database in this folder
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// Where the collector runs: a temporary folder, or one that is kept.
pub(crate) enum Folder {
    Temporary(TempDir),
    Kept(PathBuf),
}

impl Folder {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Kept(path) => path,
        }
    }
}

impl BinaryArgs {
    /// The folder to run in.
    pub(crate) fn folder(&self) -> std::io::Result<Folder> {
        let Some(kept) = &self.keep else { return Ok(Folder::Temporary(tempfile::tempdir()?)) };
        std::fs::create_dir_all(kept)?;
        Ok(Folder::Kept(kept.canonicalize()?))
    }

    fn path(&self) -> Result<PathBuf, Broken> {
        let path = match &self.path {
            Some(path) => path.clone(),
            None => std::env::current_exe()?.with_file_name("windlass"),
        };
        if !path.is_file() {
            let hint = "build it with `cargo build --release -p windlass`, or name it with --windlass";
            return Err(format!("there is no binary at {}: {hint}", path.display()).into());
        }
        Ok(path)
    }
}

/// The process, and what it takes to start it again.
pub(crate) struct Windlass {
    binary: PathBuf,
    folder: PathBuf,
    child: Option<Child>,
}

impl Windlass {
    /// Writes the configuration: a chain at these endpoints into this database.
    pub(crate) fn new(
        args: &BinaryArgs,
        folder: &Path,
        urls: &[String],
        database: &str,
    ) -> Result<Self, Broken> {
        let SyntheticOptions { chain_id, contract, .. } = SyntheticOptions::default();
        let config = format!(
            "[database]\nurl = {database:?}\n\n[chain.bench]\nid = {chain_id}\nrpc = {urls:?}\n\n\
             [index.{}]\nchain = \"bench\"\ncontract = \"{contract}\"\nstart = 0\nevents = [{:?}]\n\n\
             [api]\nlisten = \"127.0.0.1:0\"\n{}",
            fees::INDEX,
            fees::EVENT,
            if args.keep.is_some() { KEPT_LOG } else { "" },
        );
        std::fs::write(folder.join("windlass.toml"), config)?;
        Ok(Self { binary: args.path()?, folder: folder.to_owned(), child: None })
    }

    /// Starts it. Its log is added to the file of the runs before.
    pub(crate) fn start(&mut self) -> Result<(), Broken> {
        let mut command = Command::new(&self.binary);
        // Nothing of the surroundings may change a default.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("WINDLASS_") {
                command.env_remove(name);
            }
        }
        let command = command.args(["run", "--color", "never"]).current_dir(&self.folder);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(self.log()?).spawn()?;
        self.child = Some(child);
        Ok(())
    }

    /// An error if it has ended by itself.
    pub(crate) fn check(&mut self) -> Result<(), Broken> {
        let child = self.child.as_mut().ok_or("windlass was not started")?;
        match child.try_wait()? {
            None => Ok(()),
            Some(status) => {
                Err(format!("windlass ended with {status}; its log ends with\n{}", self.tail()).into())
            }
        }
    }

    /// Ends it as a crash does, and waits until it is gone.
    pub(crate) fn kill(&mut self) -> Result<(), Broken> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(&mut self) -> Result<(), Broken> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or("no process id")?;
        kill_process(pid, Signal::TERM)?;
        let begun = Instant::now();
        while begun.elapsed() < MAX_STOP {
            if child.try_wait()?.is_some() {
                return Ok(());
            }
            std::thread::park_timeout(LOOK_EVERY);
        }
        child.kill()?;
        child.wait()?;
        Err(format!("windlass did not stop in {MAX_STOP:?}").into())
    }

    fn log(&self) -> std::io::Result<File> {
        OpenOptions::new().create(true).append(true).open(self.folder.join("run.log"))
    }

    fn tail(&self) -> String {
        let text = std::fs::read_to_string(self.folder.join("run.log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }
}

impl Drop for Windlass {
    fn drop(&mut self) {
        // It is ended in any case; there is nobody left to tell.
        let _ = self.kill();
    }
}
