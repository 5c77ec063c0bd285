//! Files with keys and passphrases: none but their owner may read them.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::report::Finding;
use crate::config::Config;

/// The rights of the group and of all others.
const OTHERS: u32 = 0o077;

/// Warns of each file that somebody besides its owner may read or write. One that is missing is reported
/// where it is wanted.
pub(super) fn examine(config: &Config) -> Vec<Finding> {
    files(config).iter().filter_map(|path| judge(path, mode(path)?)).collect()
}

/// Keystores, passphrases, development keys, and the key of the audit log.
fn files(config: &Config) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for signer in config.signer.values() {
        files.extend(signer.keystore.clone());
        let secrets = [&signer.passphrase, &signer.development_key].into_iter().flatten();
        files.extend(secrets.filter_map(|secret| secret.file().map(Path::to_owned)));
    }
    let audit_key = config.pay.as_ref().and_then(|pay| pay.audit_key.file());
    files.extend(audit_key.map(Path::to_owned));
    files
}

fn mode(path: &Path) -> Option<u32> {
    let metadata = std::fs::metadata(path).ok()?;
    metadata.is_file().then(|| metadata.permissions().mode() & 0o777)
}

fn judge(path: &Path, mode: u32) -> Option<Finding> {
    let path = path.display();
    (mode & OTHERS != 0).then(|| {
        Finding::warning(
            "keys",
            format!("`{path}` is open to others than its owner (mode {mode:04o})"),
            &format!("chmod 600 {path}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_others_may_use_are_named() {
        let path = Path::new("keys/ops.pass");
        for mode in [0o600, 0o400, 0o700] {
            assert_eq!(judge(path, mode), None, "{mode:o}");
        }
        for mode in [0o644, 0o640, 0o660, 0o604] {
            let finding = judge(path, mode).expect("a warning");
            assert!(finding.message.contains(&format!("(mode {mode:04o})")), "{}", finding.message);
            assert_eq!(finding.hint.as_deref(), Some("chmod 600 keys/ops.pass"));
        }
    }
}
