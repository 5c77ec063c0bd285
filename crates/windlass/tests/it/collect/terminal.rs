//! What `windlass run` shows on a terminal: a bar for each index, below the log.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::world::World;
use crate::binary::Folder;

/// However slow the machine, something new is drawn by then.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A terminal: the side that a person looks at, and the side that a program has.
fn terminal((ws_row, ws_col): (u16, u16)) -> (File, File) {
    let seen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&seen).expect("ours");
    unlockpt(&seen).expect("open");
    let name = ptsname(&seen, Vec::new()).expect("a name").into_string().expect("text");
    let used = OpenOptions::new().read(true).write(true).open(name).expect("its other side");
    let size = Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&used, size).expect("a size");
    (seen.into(), used)
}

/// A program on a terminal; ended when dropped.
pub(crate) struct Shown {
    child: Child,
    pieces: Receiver<String>,
    /// The side that a person types on.
    typed: File,
    pub(crate) text: String,
}

impl Shown {
    /// Starts it with a terminal to write to and nothing to read from.
    pub(crate) fn start(folder: &Folder, args: &[&str]) -> Self {
        Self::start_at(folder, args, (24, 160), |_| Stdio::null())
    }

    /// The same with the terminal to read from as well.
    pub(crate) fn start_with_input(folder: &Folder, args: &[&str]) -> Self {
        Self::start_at(folder, args, (24, 160), |used| used.try_clone().expect("its other side").into())
    }

    /// Starts it with a terminal for what it prints as data.
    pub(crate) fn start_for_output(folder: &Folder, args: &[&str], size: (u16, u16)) -> Self {
        let (seen, used) = terminal(size);
        Self::start_on(folder, args, seen, |command| {
            command.stdin(Stdio::null()).stdout(used).stderr(Stdio::null());
        })
    }

    /// The same on a terminal of so many rows and columns.
    pub(crate) fn start_at(
        folder: &Folder,
        args: &[&str],
        size: (u16, u16),
        input: impl FnOnce(&File) -> Stdio,
    ) -> Self {
        let (seen, used) = terminal(size);
        let input = input(&used);
        Self::start_on(folder, args, seen, |command| {
            command.stdin(input).stdout(Stdio::null()).stderr(used);
        })
    }

    fn start_on(folder: &Folder, args: &[&str], mut seen: File, connect: impl FnOnce(&mut Command)) -> Self {
        let typed = seen.try_clone().expect("the same side");
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command.args(args).current_dir(folder.path()).env_clear().env("TERM", "xterm-256color");
        connect(&mut command);
        let child = command.spawn().expect("it starts");
        // The other side is the program's alone: that it has ended shows on this one.
        drop(command);
        let (piece, pieces) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // A terminal whose last program has ended says so by an error.
            while let Ok(read @ 1..) = seen.read(&mut bytes) {
                if piece.send(String::from_utf8_lossy(&bytes[..read]).into_owned()).is_err() {
                    break;
                }
            }
        });
        Self { child, pieces, typed, text: String::new() }
    }

    /// Looks on until all of this was shown.
    pub(crate) fn until(&mut self, parts: &[&str]) {
        while !parts.iter().all(|part| self.text.contains(part)) {
            match self.pieces.recv_timeout(MAX_WAIT) {
                Ok(piece) => self.text.push_str(&piece),
                Err(_) => panic!("not all of {parts:?} was shown:\n{}", self.text),
            }
        }
    }

    /// Types a line.
    pub(crate) fn answer(&mut self, line: &str) {
        self.typed.write_all(format!("{line}\n").as_bytes()).expect("typed");
    }

    /// Waits for the end; gives the exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        self.child.wait().expect("its end").code()
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bar_for_each_index_is_drawn_below_the_log() {
    let world = World::start().await;
    world.pay(10);
    let folder = Folder::with_config(&world.config("0"));
    let mut shown = Shown::start(&folder, &["run", "--role", "collect"]);
    shown.until(&["collecting", "fees ====", "14 of 14 blocks, 10 events", "realtime", " RPC/s"]);
    world.pay(3);
    shown.until(&["17 of 17 blocks, 13 events"]);
    let pid = shown.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs").success());
    shown.until(&["stopped\r\n"]);
    assert_eq!(shown.child.wait().expect("its end").code(), Some(0));
    let (_, last) = shown.text.rsplit_once("stopped\r\n").expect("its last word");
    assert!(!last.contains("blocks,"), "the bars are gone: {last:?}");
}
