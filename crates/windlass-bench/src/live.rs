//! What a live chain is told over its input, and what it says: the new head, and the
//! last moment at which nobody could see it, on the clock that both processes share.

use std::io::{self, BufRead};
use std::time::Duration;

use windlass_core::chain::BlockRef;
use windlass_devnet::synthetic::{LiveNode, NewHead};

use crate::clock;
use crate::serve::Served;

const APPEND: &str = "append";
const REORGANISE: &str = "reorganise";

/// Does what the lines of the input say, until they end.
pub(crate) fn obey(node: &LiveNode) -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let line = line?;
        let mut words = line.split_whitespace();
        let head = match (words.next(), words.next().map(str::parse)) {
            (Some(APPEND), None) => node.append(),
            (Some(REORGANISE), Some(Ok(depth))) => node.reorganise(depth),
            _ => return Err(io::Error::other(format!("`{line}` means nothing"))),
        };
        told(head);
    }
    Ok(())
}

fn told(NewHead { number, hash, since }: NewHead) {
    anstream::println!("{number} {hash} {}", clock::at(since).as_nanos());
}

/// A head that has just become visible.
pub(crate) struct Visible {
    /// The block.
    pub(crate) block: BlockRef,
    /// Since when, on the shared clock.
    pub(crate) since: Duration,
}

type Broken = Box<dyn std::error::Error>;

impl Served {
    /// Adds a block. It returns when the block can be seen, and blocks the thread until then.
    pub(crate) fn append(&mut self) -> Result<Visible, Broken> {
        read(&self.tell(APPEND)?)
    }

    /// Replaces the newest blocks by a branch that is one longer; likewise.
    pub(crate) fn reorganise(&mut self, depth: u64) -> Result<Visible, Broken> {
        read(&self.tell(&format!("{REORGANISE} {depth}"))?)
    }
}

fn read(line: &str) -> Result<Visible, Broken> {
    let mut words = line.split(' ');
    let mut next = || words.next().ok_or("a word is missing");
    let block = BlockRef { number: next()?.parse()?, hash: next()?.parse()? };
    Ok(Visible { block, since: Duration::from_nanos(next()?.parse()?) })
}
