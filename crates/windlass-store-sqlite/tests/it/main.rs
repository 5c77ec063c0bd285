//! The SQLite store from outside: what can be wrong with a file.

mod trouble;
