//! The client against a server that says what it is told to say.

mod answers;
mod server;
mod trouble;
