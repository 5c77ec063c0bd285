//! The client against a server that says what it is told to say, and readers and pools
//! against the devnet with its faults; the signer in AWS KMS against an emulator of it.

mod answers;
mod anvil_transactions;
mod block_hash;
mod front;
mod gateway;
mod headers;
#[cfg(feature = "aws-kms")]
mod kms;
mod logs;
mod pool;
mod ranges;
mod receipts;
mod served;
mod server;
mod sockets;
mod transactions;
mod trouble;
