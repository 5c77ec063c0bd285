//! The client against a server that says what it is told to say, and readers and pools
//! against the devnet with its faults.

mod answers;
mod headers;
mod logs;
mod pool;
mod ranges;
mod receipts;
mod served;
mod server;
mod sockets;
mod trouble;
