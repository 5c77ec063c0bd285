//! The configuration: defaults, then `windlass.toml`, then the environment, then flags.
//!
//! ```text
//! file ─┐
//! env  ─┼─► tree (each value with its origin) ─► known keys? ─► typed sections ─► checks across sections
//! flags ┘                                            └────────────── every problem, at once ──────────┘
//! ```
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`sections`] | [`Config`], the whole |
//! | [`database`], [`chain`], [`index`], [`pay`], [`signer`], [`log`], [`api`], [`shutdown`] | a section each |
//! | [`secret`], [`hidden`], [`redact`], [`address`], [`duration`], [`interval`], [`number`], [`percent`] | values that need care |
//! | [`origin`], [`tree`] | values, and where each came from |
//! | [`mod@file`], [`environment`] | the layers |
//! | [`schema`] | the JSON Schema, and unknown keys by it |
//! | [`typed`], [`words`] | from tree to sections, with every problem in plain words |
//! | [`load`] | all of it together |
//! | [`render`] | what is in force, for `config show` |

pub(crate) mod address;
pub(crate) mod api;
pub(crate) mod chain;
pub(crate) mod database;
pub(crate) mod duration;
pub(crate) mod environment;
pub(crate) mod file;
pub(crate) mod hidden;
pub(crate) mod index;
pub(crate) mod interval;
pub(crate) mod load;
pub(crate) mod log;
pub(crate) mod number;
pub(crate) mod origin;
pub(crate) mod pay;
pub(crate) mod percent;
pub(crate) mod poll_interval;
pub(crate) mod problem;
pub(crate) mod redact;
pub(crate) mod render;
pub(crate) mod schema;
pub(crate) mod secret;
pub(crate) mod sections;
pub(crate) mod shutdown;
pub(crate) mod signer;
pub(crate) mod tree;
pub(crate) mod typed;
pub(crate) mod words;

pub(crate) use load::{Loaded, Sources};
pub(crate) use sections::Config;

/// The file looked for in the current folder.
pub(crate) const FILE_NAME: &str = "windlass.toml";

/// A commented file that `config check` accepts.
pub(crate) const EXAMPLE: &str = include_str!("example.toml");
