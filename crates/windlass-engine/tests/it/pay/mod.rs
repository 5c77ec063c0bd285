//! Paying: on a real chain in this process, with a clock that tests set.

mod direct;
mod kills;
mod life;
mod schedules;
mod survive;
mod world;
