//! Peers that come from npm: pinned in `peers/`, installed when they are missing, run
//! by Node in a process of their own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

type Broken = Box<dyn std::error::Error>;

/// The peer's folder, with its packages in it.
pub(crate) fn installed(peer: &str) -> Result<PathBuf, Broken> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(peer);
    if !folder.join("node_modules").is_dir() {
        let install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
        answer(Command::new("npm").args(install).current_dir(&folder))?;
    }
    Ok(folder)
}

/// What a command printed; an error unless it ended well.
pub(crate) fn answer(command: &mut Command) -> Result<String, Broken> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{:?} ended with {}", command.get_program(), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
