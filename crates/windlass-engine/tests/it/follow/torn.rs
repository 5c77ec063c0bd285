//! A store that dies on request: around a commit, or, broken on purpose, within one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use async_trait::async_trait;
use windlass_core::commit::{Commit, Written};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::store::Store;
use windlass_testkit::planted::Around;

/// Where the next commit dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Death {
    /// It does not.
    None = 0,
    /// Right before it.
    Before = 1,
    /// Right after it, before the answer arrives.
    After = 2,
    /// In the middle: a store that keeps the first half. No store may do that.
    Within = 3,
}
