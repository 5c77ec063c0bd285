//! The loops against a real chain, real stores and faults.

mod follow;
