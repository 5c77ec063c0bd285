//! Where `windlass export` writes to, and what it leaves alone.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use super::world::{World, wait_until_collected};
use crate::binary::Folder;

/// A folder in which so many payments were collected, in blocks from 4 on.
async fn collected(payments: u64) -> Folder {
    let world = World::start().await;
    world.pay(payments);
    let folder = Folder::with_config(&world.config("0"));
    let mut running = folder.start(&["run", "--role", "collect"]);
    running.wait_for("running");
    wait_until_collected(&folder, "fees", payments);
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    folder
}

/// Everything in the folder that an export may have left behind.
fn hidden(folder: &Folder) -> Vec<String> {
    let entries = folder.path().read_dir().expect("the folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with('.')).collect()
}

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo runs").success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pipe_is_written_to_and_stays_a_pipe() {
    let folder = collected(5).await;
    let path = folder.path().join("pipe");
    make_fifo(&path);
    for more in [&[][..], &["--force"]] {
        // Open for both, so that neither side waits for the other; a pipe holds far more than this.
        let mut pipe = OpenOptions::new().read(true).write(true).open(&path).expect("a pipe");
        let ran = folder.run(&[&["export", "fees", "--output", "pipe"][..], more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
        assert!(path.symlink_metadata().expect("there").file_type().is_fifo(), "it was replaced");
        let mut bytes = [0; 64 << 10];
        let read = pipe.read(&mut bytes).expect("read");
        assert_eq!(String::from_utf8_lossy(&bytes[..read]).lines().count(), 6);
    }
    assert_eq!(hidden(&folder), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_followed_and_stays_a_link() {
    let folder = collected(5).await;
    let link = folder.path().join("link.csv");
    symlink("real.csv", &link).expect("a link");
    let typed = ["export", "fees", "--output", "link.csv"];
    assert_eq!(folder.run(&typed).code, Some(0), "there is nothing at its end yet");
    assert!(link.is_symlink());
    assert_eq!(folder.read("real.csv").lines().count(), 6);
    folder.write("real.csv", "mine");
    assert_eq!(folder.run(&typed).code, Some(1));
    assert_eq!(folder.read("real.csv"), "mine");
    assert_eq!(folder.run(&[&typed[..], &["--force"]].concat()).code, Some(0));
    assert!(link.is_symlink());
    assert_eq!(folder.read("real.csv").lines().count(), 6);
    assert_eq!(hidden(&folder), Vec::<String>::new());
}

/// Runs an export whose files may not grow beyond so many KiB, as on a disk that is full.
fn cramped(folder: &Folder, limit_kib: u32, args: &str) -> Output {
    let binary = env!("CARGO_BIN_EXE_windlass");
    // The signal that would end the process is ignored: the write fails instead.
    let script = format!("trap '' XFSZ; ulimit -f {}; exec '{binary}' export fees {args}", limit_kib * 2);
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(folder.path()).env_clear().output().expect("it runs")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_fails_is_no_wrong_usage_and_leaves_nothing() {
    let folder = collected(250).await;
    folder.write("mine.ndjson", "mine");
    for args in ["--format ndjson --output new.ndjson", "--format ndjson --output mine.ndjson --force"] {
        let ended = cramped(&folder, 64, args);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{said}");
        let told = ["error: cannot write `", ".ndjson`: File too large", "\nhint: "];
        assert!(told.iter().all(|part| said.contains(part)) && !said.contains("/."), "{said}");
    }
    assert!(!folder.path().join("new.ndjson").exists());
    assert_eq!(folder.read("mine.ndjson"), "mine");
    let nowhere = folder.run(&["export", "fees", "--output", "no/fees.csv"]);
    assert_eq!(nowhere.code, Some(1));
    assert!(
        nowhere.stderr.starts_with("error: cannot write `no/fees.csv`: No such file or directory"),
        "{}",
        nowhere.stderr
    );
    let into_folder = folder.run(&["export", "fees", "--output", ".", "--force"]);
    assert!(
        into_folder.code == Some(1) && into_folder.stderr.contains("is a folder"),
        "{}",
        into_folder.stderr
    );
    assert_eq!(hidden(&folder), Vec::<String>::new());
    // Standard output is the test's own, so that nothing can take its place. Not every system has this.
    let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else { return };
    let ended = to_stdout(&folder, full);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.starts_with("error: cannot write the output: "), "{said}");
}

fn to_stdout(folder: &Folder, stdout: File) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    let command = command.args(["export", "fees"]).current_dir(folder.path()).env_clear();
    command.stdout(stdout).output().expect("it runs")
}

#[test]
fn an_end_before_the_beginning_is_wrong_usage() {
    let folder = Folder::new();
    for (from, to) in [("10", "5"), ("2025-11-02", "2025-11-01"), ("2025-11-01", "2025-11-01")] {
        let ran = folder.run(&["export", "fees", "--from", from, "--to", to]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.shown());
        assert!(
            ran.stderr.starts_with("error: nothing lies between --from and --to\nhint: "),
            "{}",
            ran.stderr
        );
        let ran = folder.run(&["audit", "--chain", "local", "--from", "10", "--to", "5"]);
        assert!(ran.code == Some(2) && ran.stderr.contains("--from comes first"), "{}", ran.shown());
    }
}
