//! The API over real sockets, on SQLite and where the store matters on PostgreSQL too.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod app;
mod cases;
mod database;
mod graphql_abuse;
mod health;
mod host;
mod limits;
mod openapi;
mod pay;
mod relay;
mod rows;
mod wire;
