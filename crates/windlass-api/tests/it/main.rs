//! The API over real sockets, on SQLite.

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
