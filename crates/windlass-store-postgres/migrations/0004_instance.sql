-- One row for each open handle that proves that its process is alive by an advisory lock on
-- its id, held by a session of its own. Leases and lanes name the instance that holds them;
-- without one, nothing is concluded about their holder before its time has run out. A lock
-- that was lost because the server restarted proves nothing: the start of the server at
-- which it was taken is kept with it.
CREATE TABLE instance (
    id                BIGINT PRIMARY KEY,
    server_started_at TIMESTAMPTZ NOT NULL,
    locked_at         TIMESTAMPTZ NOT NULL DEFAULT now()
);
ALTER TABLE lease ADD COLUMN instance_id BIGINT;
ALTER TABLE lane ADD COLUMN instance_id BIGINT;
