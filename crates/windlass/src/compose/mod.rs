//! From configuration to running parts.

pub(crate) mod store;
