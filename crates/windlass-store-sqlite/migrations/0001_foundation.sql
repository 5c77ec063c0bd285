-- Everything is keyed by its natural order; no table is keyed by a hash.

CREATE TABLE lease (
    name          TEXT PRIMARY KEY,
    owner         TEXT,
    epoch         INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A lane is one serial key: of a job queue, or of a sink over an outbox partition.
-- available_at_ms is the one instant that matters: the end of the hold while it is
-- held, the next try while it retries, otherwise since when it can be taken.
CREATE TABLE lane (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    queue           TEXT NOT NULL,
    key             TEXT NOT NULL,
    partition_id    INTEGER,
    tail_seq        INTEGER NOT NULL,
    done_seq        INTEGER NOT NULL,
    held_seq        INTEGER NOT NULL DEFAULT 0,
    epoch           INTEGER NOT NULL DEFAULT 0,
    available_at_ms INTEGER NOT NULL,
    owner           TEXT,
    attempts        INTEGER NOT NULL DEFAULT 0,
    last_error      TEXT,
    UNIQUE (queue, key),
    CHECK (done_seq <= tail_seq)
) STRICT;
CREATE INDEX lane_runnable ON lane (queue, available_at_ms, id) WHERE tail_seq > done_seq;
CREATE INDEX lane_of_partition ON lane (partition_id) WHERE partition_id IS NOT NULL;

CREATE TABLE job (
    lane_id        INTEGER NOT NULL,
    seq            INTEGER NOT NULL,
    payload        TEXT NOT NULL,
    enqueued_at_ms INTEGER NOT NULL,
    not_before_ms  INTEGER,
    PRIMARY KEY (lane_id, seq)
) STRICT, WITHOUT ROWID;

-- What was given up: a job of its lane, or a message for its sink.
CREATE TABLE dead (
    lane_id         INTEGER NOT NULL,
    seq             INTEGER NOT NULL,
    queue           TEXT NOT NULL,
    key             TEXT NOT NULL,
    payload         TEXT NOT NULL,
    attempts        INTEGER NOT NULL,
    reason          TEXT NOT NULL,
    enqueued_at_ms  INTEGER NOT NULL,
    died_at_ms      INTEGER NOT NULL,
    idempotency_key TEXT,
    topic           TEXT,
    PRIMARY KEY (lane_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE cursor (
    name          TEXT PRIMARY KEY,
    primary_pos   INTEGER NOT NULL,
    secondary     TEXT NOT NULL,
    updated_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sink (
    name TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE partition (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT NOT NULL UNIQUE,
    tail_seq  INTEGER NOT NULL,
    floor_seq INTEGER NOT NULL
) STRICT;

CREATE TABLE message (
    partition_id    INTEGER NOT NULL,
    seq             INTEGER NOT NULL,
    idempotency_key TEXT NOT NULL,
    topic           TEXT NOT NULL,
    payload         TEXT NOT NULL,
    created_at_ms   INTEGER NOT NULL,
    only_sink       TEXT,
    PRIMARY KEY (partition_id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    chain_id         INTEGER NOT NULL,
    block_number     INTEGER NOT NULL,
    log_index        INTEGER NOT NULL,
    block_hash       BLOB NOT NULL,
    timestamp_s      INTEGER NOT NULL,
    transaction_hash BLOB NOT NULL,
    address          BLOB NOT NULL,
    topics           BLOB NOT NULL,
    data             BLOB NOT NULL,
    PRIMARY KEY (chain_id, block_number, log_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE block (
    chain_id    INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    hash        BLOB NOT NULL,
    parent_hash BLOB NOT NULL,
    timestamp_s INTEGER NOT NULL,
    PRIMARY KEY (chain_id, number)
) STRICT, WITHOUT ROWID;

-- The typed tables, each with what it holds (as JSON) and how many rows it has.
CREATE TABLE event_table (
    name      TEXT PRIMARY KEY,
    chain_id  INTEGER NOT NULL,
    spec      TEXT NOT NULL,
    row_count INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX event_table_of_chain ON event_table (chain_id);

CREATE TABLE state (
    key           TEXT PRIMARY KEY,
    value         TEXT NOT NULL,
    updated_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
