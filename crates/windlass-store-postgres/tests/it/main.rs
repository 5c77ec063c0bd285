//! The PostgreSQL store against a real server, named by `WINDLASS_TEST_POSTGRES_URL`.

mod database;
mod pooler;
mod postgres_begin;
mod postgres_claim;
mod postgres_conformance;
mod postgres_connect;
mod postgres_drop_queue;
mod postgres_event;
mod postgres_index;
mod postgres_instances;
mod postgres_lock;
mod postgres_lost;
mod postgres_lost_jobs;
mod postgres_mark;
mod postgres_migrate;
mod postgres_payout;
mod postgres_plan;
mod postgres_processes;
mod postgres_prune;
mod postgres_table;
mod postgres_together;
mod proxy;
