//! The pure heart of Windlass: what the words mean, and the ports to the outside.
//!
//! Nothing in this crate performs I/O, reads a clock or draws a random number:
//! time and entropy are arguments, so every decision here is total and
//! deterministic, and can be tested and simulated as such.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`chain`] | chain ids, addresses, hashes, block references and headers |
//! | [`event`] | contract logs as rows, added or removed; deterministic event ids |
//! | [`abi`] | events as contracts declare them, and logs as rows |
//! | [`index`] | what a user wants collected |
//! | [`route`] | from a log to the tables it belongs to |
//! | [`table`] | typed tables of events, and rows for them |
//! | [`table_view`] | what the view of a table is called |
//! | [`table_index`] | database indexes of a table's columns |
//! | [`value_text`] | what stands in a column, as text and JSON |
//! | [`row_query`] | questions to such a table |
//! | [`table_rules`] | what every store refuses of both |
//! | [`cursor`] | positions `primary:secondary` and the rule by which they move |
//! | [`money`] | exact 256-bit amounts of a token |
//! | [`time`] | instants in milliseconds |
//! | [`name`] | the bounded names of lanes, leases, cursors and so on |
//! | [`lease`] | who may work on what, until when, under which epoch |
//! | [`job`] | work in lanes: per key in order, one holder at a time |
//! | [`open_job`] | an open job as listings show it |
//! | [`plan`] | the ledger of a chain: who wants which blocks, what is claimed, what is left |
//! | [`block_set`] | sets of blocks, as ranges |
//! | [`finality`] | from when on a block is final |
//! | [`mode`] | whether a chain is caught up with, or followed |
//! | [`range`] | block ranges that are claimed and become jobs in one step |
//! | [`outbox`] | messages that leave, and who has delivered how far |
//! | [`payout`] | payouts: requests, states, risk, fees, their audit log, and the port to signers |
//! | [`reader`] | the port to a chain |
//! | [`retry`] | how often and how late to try again |
//! | [`sql`] | SQL that a person writes, and the port that runs it |
//! | [`commit`] | what a loop commits together: the transaction door |
//! | [`error`] | what can go wrong in a store, and whether to try again |
//! | [`code`] | the codes of user-facing errors |
//! | [`store`] | the ports a store implements, one trait per noun |

pub mod abi;
pub mod block_set;
pub mod bloom;
pub mod chain;
pub mod code;
pub mod commit;
pub mod cursor;
pub mod error;
pub mod event;
pub mod finality;
pub mod index;
pub mod job;
pub mod lease;
pub mod mode;
pub mod money;
pub mod name;
pub mod open_job;
pub mod outbox;
pub mod payout;
pub mod plan;
pub mod range;
pub mod reader;
pub mod retry;
pub mod route;
pub mod row_query;
pub mod sql;
pub mod store;
pub mod table;
pub mod table_index;
pub mod table_rules;
pub mod table_view;
pub mod time;
pub mod value_text;
