//! Pays out: at most once, whatever crashes.
//!
//! A payout is asked for and approved at the *desk*; a *submitter* per account checks
//! it once more, signs, commits, and only then sends the bytes it reads back; a
//! *tracker* follows every transaction until nothing can undo it. Before anything is
//! signed, what the vault itself tells is compared with what is stored.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`options`] | how it is to be done |
//! | [`names`] | under which names its things are kept |
//! | [`error`] | why a step did not come to its end |
//! | [`desk`] | asking, approving, rejecting, trying again |
//! | [`payer`] | what submitter and tracker stand on |
//! | [`identity`] | whether the endpoints serve the chain that the vault is known on |
//! | [`accounts`] | what each account can do, and what it has for gas |
//! | [`chain_trouble`] | endpoints of the vault's chain that do not answer |
//! | [`submit`] | from approved to signed, stored and sent |
//! | [`track`] | from sent to final |
//! | [`reconcile`] | the vault's payments against the stored ones, both ways, on a schedule |
//! | [`resend`] | an operator has a payment sent again that the chain has lost |
//! | [`ledger`] | what is kept, each row verified before it is used |
//! | [`ledger_check`] | comparing all of it with the audit log, once a minute |
//! | [`audit_check`] | the whole audit log, and every table against it |
//! | [`repair`] | an operator has rows put right that were refused |
//! | [`head_file`] | the end of the audit log, kept outside the database |
//! | [`keyring`] | keys of the API, made and revoked |
//! | [`resume`] | an account that was halted signs again |
//! | [`publish`] | the end of the audit log, told once a day |
//! | [`counted`] | what is counted |
//! | [`counts`] | how many payouts stand where |
//! | [`unattended`] | payouts that wait for a process that pays from their vault |
//! | `agreed` | what enough endpoints say alike |
//! | `agreement` | what endpoints agree about: heights, blocks, counts |
//! | `approvals` | which approvals count |
//! | `gas_limit` | with how much gas transactions are signed |
//! | `gas_price` | what they offer for it |
//! | `means` | what the vault and its accounts have |
//! | `missing_jobs` | jobs that somebody deleted, made again |
//! | `page` | one commit: rows, messages and audit entries together |
//! | `vault` | questions to the vault |

pub mod accounts;
mod agreed;
mod agreement;
mod approvals;
pub mod audit_check;
pub mod chain_trouble;
pub mod counted;
pub mod counts;
pub mod desk;
pub mod error;
mod gas_limit;
mod gas_price;
pub mod head_file;
pub mod identity;
pub mod keyring;
pub mod ledger;
pub mod ledger_check;
mod means;
mod missing_jobs;
pub mod names;
pub mod options;
mod page;
pub mod payer;
pub mod publish;
pub mod reconcile;
pub mod repair;
pub mod resend;
pub mod resume;
pub mod submit;
pub mod track;
pub mod unattended;
mod vault;
