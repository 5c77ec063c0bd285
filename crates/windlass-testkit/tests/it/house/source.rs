//! The project's files, as the rules see them.

use std::path::{Path, PathBuf};

/// The project's folder.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project's folder")
}

/// A file: its path from the root, and what it says.
pub(super) struct Source {
    pub(super) path: String,
    pub(super) text: String,
}

impl Source {
    /// The lines before the file's own tests.
    pub(super) fn code(&self) -> impl Iterator<Item = &str> {
        self.text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"))
    }

    /// The crate it belongs to.
    pub(super) fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }
}

/// Rust files that ship: neither tests nor benches.
pub(super) fn shipped() -> Vec<Source> {
    let mut files = files("crates", &["rs"]);
    files.retain(|file| !file.path.contains("/tests/"));
    assert!(files.len() > 50, "only {} files found: the rules look in the wrong place", files.len());
    files
}

/// Files below a folder whose name ends in one of the endings, by path.
pub(super) fn files(below: &str, endings: &[&str]) -> Vec<Source> {
    let root = root();
    let mut found = Vec::new();
    let mut open = vec![root.join(below)];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                if !["target", "node_modules", ".git", "cache", "out"].contains(&name.as_str()) {
                    open.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(&format!(".{ending}"))) {
                let text = std::fs::read_to_string(&path).expect("a text");
                let path = path.strip_prefix(&root).expect("below the root").to_string_lossy().into_owned();
                found.push(Source { path, text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}
