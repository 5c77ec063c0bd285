//! The API over real sockets, on SQLite.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod app;
mod events;
mod fees;
mod graphql;
mod health;
mod indexes;
mod limits;
mod openapi;
mod rows;
mod stream;
mod sum;
