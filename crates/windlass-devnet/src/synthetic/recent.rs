//! The newest blocks as they were written: whoever follows the head asks for the
//! same few again and again, and a block of a thousand logs takes milliseconds to make.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;

/// How many blocks are kept.
const MAX_RECENT_BLOCKS: usize = 128;

/// Blocks by number; the lowest leave first.
#[derive(Debug, Default)]
pub(super) struct Recent {
    blocks: Mutex<BTreeMap<u64, Bytes>>,
}

impl Recent {
    /// The block, made if it is not there.
    pub(super) fn get(&self, number: u64, make: impl FnOnce() -> Bytes) -> Bytes {
        if let Some(block) = self.lock().get(&number) {
            return block.clone();
        }
        let block = make();
        let mut blocks = self.lock();
        blocks.insert(number, block.clone());
        while blocks.len() > MAX_RECENT_BLOCKS {
            blocks.pop_first();
        }
        block
    }

    /// A copy of what is below a block.
    pub(super) fn below(&self, number: u64) -> Self {
        let blocks = self.lock().range(..number).map(|(number, block)| (*number, block.clone())).collect();
        Self { blocks: Mutex::new(blocks) }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Bytes>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_made_once() {
        let recent = Recent::default();
        for number in 0..200 {
            recent.get(number, || Bytes::from(number.to_string()));
        }
        assert_eq!(recent.get(199, || unreachable!("it is there")), "199");
        assert_eq!(recent.get(0, || Bytes::from_static(b"anew")), "anew");
        assert_eq!(recent.lock().len(), MAX_RECENT_BLOCKS);
    }
}
