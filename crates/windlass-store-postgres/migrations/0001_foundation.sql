-- Names are compared byte by byte ("C"), so that every database sorts and locks them alike.

-- The present in milliseconds: the caller's, when it brings a clock, else the database's.
CREATE FUNCTION windlass_now(given_ms BIGINT) RETURNS BIGINT LANGUAGE sql VOLATILE AS $$
    SELECT COALESCE(given_ms, (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)
$$;

-- An instant moved later; stays at the end of time instead of overflowing.
CREATE FUNCTION windlass_after(at_ms BIGINT, delay_ms BIGINT) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS $$
    SELECT LEAST(at_ms, 9223372036854775807 - delay_ms) + delay_ms
$$;

CREATE TABLE lease (
    name          TEXT COLLATE "C" PRIMARY KEY,
    owner         TEXT,
    epoch         BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL
);

CREATE TABLE sink (
    name TEXT COLLATE "C" PRIMARY KEY
);

CREATE TABLE partition (
    id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name      TEXT COLLATE "C" NOT NULL UNIQUE,
    tail_seq  BIGINT NOT NULL,
    floor_seq BIGINT NOT NULL DEFAULT 0,
    CHECK (floor_seq <= tail_seq)
);

CREATE TABLE message (
    partition_id    BIGINT NOT NULL,
    seq             BIGINT NOT NULL,
    idempotency_key TEXT NOT NULL,
    topic           TEXT NOT NULL,
    payload         TEXT NOT NULL,
    created_at_ms   BIGINT NOT NULL,
    only_sink       TEXT,
    PRIMARY KEY (partition_id, seq)
);

-- A lane is one serial key: of a job queue, or of a sink over an outbox partition.
-- available_at_ms is the one instant that matters: the end of the hold while it is
-- held, the next try while it retries, otherwise since when it can be taken.
-- Every claim rewrites its lanes: room is left in the pages, and vacuum comes early.
CREATE TABLE lane (
    id              BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue           TEXT COLLATE "C" NOT NULL,
    key             TEXT COLLATE "C" NOT NULL,
    partition_id    BIGINT,
    tail_seq        BIGINT NOT NULL,
    done_seq        BIGINT NOT NULL DEFAULT 0,
    held_seq        BIGINT NOT NULL DEFAULT 0,
    epoch           BIGINT NOT NULL DEFAULT 0,
    available_at_ms BIGINT NOT NULL,
    owner           TEXT,
    attempts        BIGINT NOT NULL DEFAULT 0,
    last_error      TEXT,
    UNIQUE (queue, key),
    CHECK (done_seq <= tail_seq)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX lane_runnable ON lane (queue, available_at_ms, id) WHERE tail_seq > done_seq;
CREATE INDEX lane_of_partition ON lane (partition_id) WHERE partition_id IS NOT NULL;

CREATE TABLE job (
    lane_id        BIGINT NOT NULL,
    seq            BIGINT NOT NULL,
    payload        TEXT NOT NULL,
    enqueued_at_ms BIGINT NOT NULL,
    not_before_ms  BIGINT,
    PRIMARY KEY (lane_id, seq)
);

-- What was given up: a job of its lane, or a message (with a topic) for its sink.
CREATE TABLE dead (
    lane_id         BIGINT NOT NULL,
    seq             BIGINT NOT NULL,
    queue           TEXT COLLATE "C" NOT NULL,
    key             TEXT COLLATE "C" NOT NULL,
    payload         TEXT NOT NULL,
    attempts        BIGINT NOT NULL,
    reason          TEXT NOT NULL,
    enqueued_at_ms  BIGINT NOT NULL,
    died_at_ms      BIGINT NOT NULL,
    idempotency_key TEXT,
    topic           TEXT,
    PRIMARY KEY (lane_id, seq)
);
CREATE INDEX dead_of_queue ON dead (queue, lane_id, seq);

CREATE TABLE cursor (
    name          TEXT COLLATE "C" PRIMARY KEY,
    primary_pos   BIGINT NOT NULL,
    secondary     TEXT NOT NULL,
    updated_at_ms BIGINT NOT NULL
);

CREATE TABLE state (
    key           TEXT COLLATE "C" PRIMARY KEY,
    value         TEXT NOT NULL,
    updated_at_ms BIGINT NOT NULL
);

CREATE TABLE event (
    chain_id         BIGINT NOT NULL,
    block_number     BIGINT NOT NULL,
    log_index        BIGINT NOT NULL,
    block_hash       BYTEA NOT NULL,
    timestamp_s      BIGINT NOT NULL,
    transaction_hash BYTEA NOT NULL,
    address          BYTEA NOT NULL,
    topics           BYTEA NOT NULL,
    data             BYTEA NOT NULL,
    PRIMARY KEY (chain_id, block_number, log_index)
);

CREATE TABLE block (
    chain_id    BIGINT NOT NULL,
    number      BIGINT NOT NULL,
    hash        BYTEA NOT NULL,
    parent_hash BYTEA NOT NULL,
    timestamp_s BIGINT NOT NULL,
    PRIMARY KEY (chain_id, number)
);

-- The typed tables, each with what it holds (as JSON) and how many rows it has. Every
-- commit into a table rewrites its row: room is left in the pages.
CREATE TABLE event_table (
    name      TEXT COLLATE "C" PRIMARY KEY,
    chain_id  BIGINT NOT NULL,
    spec      TEXT NOT NULL,
    row_count BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE INDEX event_table_of_chain ON event_table (chain_id);

-- One row for each transaction that a store can have under way. The transaction
-- writes its number here, so that after a lost answer the row tells whether it
-- was committed. (A transaction id would not do: the server may give the id of
-- one that it lost in a crash to another.) A statement that is a transaction by
-- itself also leaves its answer, which would be lost with the connection.
CREATE TABLE commit_mark (
    id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    nonce   BIGINT NOT NULL DEFAULT 0,
    answer  BIGINT[] NOT NULL DEFAULT '{}',
    used_at TIMESTAMPTZ NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
