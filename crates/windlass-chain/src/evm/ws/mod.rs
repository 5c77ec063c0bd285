//! WebSockets: a socket, calls over it, and news of heads.

pub mod heads;
pub(crate) mod link;
mod socket;
