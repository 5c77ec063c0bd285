//! Runs the binary in a folder of its own, with nothing of the environment.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use tempfile::TempDir;

/// Where nobody listens. A port that was free a moment ago may be handed to the next server; this one
/// is handed out to no one.
pub(crate) const NOBODY: &str = "127.0.0.1:1";

/// A folder in which the binary runs.
pub(crate) struct Folder {
    folder: TempDir,
    variables: Vec<(OsString, OsString)>,
}

/// How a run ended and what it said.
pub(crate) struct Ran {
    folder: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), variables: Vec::new() }
    }

    /// A folder with this `windlass.toml`.
    pub(crate) fn with_config(text: &str) -> Self {
        let folder = Self::new();
        folder.write("windlass.toml", text);
        folder
    }

    pub(crate) fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.into(), value.as_ref().to_owned()));
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).expect("written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).expect("a file")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("COLUMNS", "100")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs to the end.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.run_with(&[], args)
    }

    /// The same with more variables, for this run alone.
    pub(crate) fn run_with(&self, variables: &[(&str, &str)], args: &[&str]) -> Ran {
        self.ran(self.command(args).envs(variables.iter().copied()).output().expect("it runs"))
    }

    /// Runs to the end with this on its standard input.
    pub(crate) fn run_with_input(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("its standard input");
        let input = input.to_vec();
        // What is not read to its end ends with a broken pipe, which is the command's to explain.
        let writing = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let ran = self.ran(child.wait_with_output().expect("it runs"));
        writing.join().expect("no panic");
        ran
    }

    fn ran(&self, output: Output) -> Ran {
        let folder = self.path().canonicalize().expect("the folder");
        Ran {
            folder: folder.display().to_string(),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// Starts without waiting for the end.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        self.start_with(&[], args)
    }

    /// The same with more variables, for this run alone.
    pub(crate) fn start_with(&self, variables: &[(&str, &str)], args: &[&str]) -> Running {
        let mut child = self.command(args).envs(variables.iter().copied()).spawn().expect("it starts");
        let stderr = BufReader::new(child.stderr.take().expect("its standard error"));
        Running { child, stderr }
    }
}

impl Ran {
    /// Everything, for a snapshot, the folder's path replaced; what else differs from run to run is the caller's to replace.
    pub(crate) fn shown(&self) -> String {
        let code = self.code.map_or("none".to_owned(), |code| code.to_string());
        let part = |name: &str, text: &str| match text {
            "" => String::new(),
            text => format!("--- {name}\n{text}"),
        };
        let shown =
            format!("exit code {code}\n{}{}", part("stdout", &self.stdout), part("stderr", &self.stderr));
        shown.replace(&self.folder, "[FOLDER]")
    }
}

/// A process that runs; ended when dropped.
pub(crate) struct Running {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
}

impl Running {
    /// Waits for a line on standard error that holds this text; gives the line.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        let mut seen = String::new();
        loop {
            let start = seen.len();
            let read = self.stderr.read_line(&mut seen).expect("text");
            assert!(read > 0, "it ended before it said `{text}`:\n{seen}");
            if seen[start..].contains(text) {
                return seen[start..].to_owned();
            }
        }
    }

    /// The first JSON object on standard output.
    pub(crate) fn json(&mut self) -> serde_json::Value {
        let stdout = self.child.stdout.as_mut().expect("its standard output");
        let mut values = serde_json::Deserializer::from_reader(stdout).into_iter();
        values.next().expect("a value").expect("json")
    }

    /// Sends a signal by name, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &pid]).status().expect("kill runs");
        assert!(sent.success());
    }

    /// Waits for the end; gives what is left of standard output.
    pub(crate) fn end_with_stdout(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.child.stdout.take().expect("its standard output").read_to_string(&mut rest).expect("text");
        (self.child.wait().expect("its end"), rest)
    }

    /// Waits for the end; gives what is left of standard error.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).expect("text");
        (self.child.wait().expect("its end"), rest)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Replaces every run of digits behind `before` by `[N]`.
pub(crate) fn hide_numbers(text: &str, before: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((left, right)) = rest.split_once(before) {
        shown.push_str(left);
        shown.push_str(before);
        let digits = right.find(|c: char| !c.is_ascii_digit()).unwrap_or(right.len());
        if digits > 0 {
            shown.push_str("[N]");
        }
        rest = &right[digits..];
    }
    shown + rest
}

/// Replaces every instant by `[TIME]`.
pub(crate) fn hide_instants(text: &str) -> String {
    const FORM: &[u8] = b"0000-00-00T00:00:00Z";
    let is_instant = |piece: &[u8]| {
        let fits =
            |(byte, form): (&u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form };
        piece.iter().zip(FORM).all(fits)
    };
    let place = text.as_bytes().windows(FORM.len()).position(is_instant);
    match place {
        Some(place) => format!("{}[TIME]{}", &text[..place], hide_instants(&text[place + FORM.len()..])),
        None => text.to_owned(),
    }
}
