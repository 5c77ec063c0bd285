//! Paying: on a real chain in this process, with a clock that tests set.

mod anvil_pay;
mod approvals;
mod cancel;
mod checks;
mod costs;
mod desk;
mod direct;
mod endpoints;
mod gas;
mod kills;
mod life;
mod lost;
mod overseer;
mod people;
mod planted;
mod publish;
mod raced;
mod restored;
mod schedules;
mod survive;
mod tampering;
mod tricks;
mod trouble;
mod worker;
mod world;
