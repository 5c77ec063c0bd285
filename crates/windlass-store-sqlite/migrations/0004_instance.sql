-- One row for each open handle that proves that its process is alive by a lock on a file
-- beside the database. Leases and lanes name the instance that holds them; without one,
-- nothing is concluded about their holder before its time has run out.
CREATE TABLE instance (
    id            INTEGER PRIMARY KEY,
    boot_id       TEXT NOT NULL,
    started_at_ms INTEGER NOT NULL
) STRICT;
ALTER TABLE lease ADD COLUMN instance_id INTEGER;
ALTER TABLE lane ADD COLUMN instance_id INTEGER;
