-- What is kept of payouts. Rows with a version are replaced by the next one only; what
-- must never change, go back or disappear is held by triggers, whoever writes.

CREATE TABLE payout (
    id               TEXT PRIMARY KEY,
    version          INTEGER NOT NULL,
    key              TEXT NOT NULL UNIQUE,
    request_id       BLOB NOT NULL UNIQUE CHECK (length(request_id) = 32),
    chain_id         INTEGER NOT NULL,
    vault            BLOB NOT NULL CHECK (length(vault) = 20),
    token            BLOB NOT NULL CHECK (length(token) = 20),
    recipient        BLOB NOT NULL CHECK (length(recipient) = 20),
    amount           BLOB NOT NULL CHECK (length(amount) = 32),
    created_by       TEXT NOT NULL,
    created_at_ms    INTEGER NOT NULL,
    retry_of         TEXT UNIQUE,
    state            TEXT NOT NULL
        CHECK (state IN ('PENDING_RISK', 'APPROVED', 'SUBMITTED', 'CONFIRMED', 'FAILED', 'REJECTED')),
    updated_at_ms    INTEGER NOT NULL,
    reason           TEXT,
    hold_reason      TEXT,
    hold_until_ms    INTEGER,
    budget_day       INTEGER,
    intent_signer    BLOB,
    intent_nonce     INTEGER,
    transaction_hash BLOB,
    block_number     INTEGER,
    block_hash       BLOB,
    submitted_at_ms  INTEGER,
    confirmed_at_ms  INTEGER,
    finalized_at_ms  INTEGER,
    CHECK ((state IN ('FAILED', 'REJECTED')) = (reason IS NOT NULL)),
    CHECK ((state IN ('APPROVED', 'SUBMITTED', 'CONFIRMED')) = (budget_day IS NOT NULL)),
    CHECK ((state IN ('SUBMITTED', 'CONFIRMED', 'FAILED')) = (submitted_at_ms IS NOT NULL)),
    CHECK ((state = 'CONFIRMED') = (confirmed_at_ms IS NOT NULL)),
    CHECK (state <> 'CONFIRMED' OR block_hash IS NOT NULL),
    CHECK (finalized_at_ms IS NULL OR state = 'CONFIRMED'),
    CHECK (submitted_at_ms IS NULL OR intent_nonce IS NOT NULL OR transaction_hash IS NOT NULL),
    CHECK ((transaction_hash IS NULL) = (block_hash IS NULL) AND (block_hash IS NULL) = (block_number IS NULL)),
    CHECK ((intent_signer IS NULL) = (intent_nonce IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX payout_of_state ON payout (state, id);
CREATE INDEX payout_on_its_way ON payout (chain_id, vault, token) WHERE state = 'SUBMITTED' AND block_number IS NULL;
CREATE INDEX payout_paid_to ON payout (chain_id, vault, recipient) WHERE state = 'CONFIRMED';

CREATE TRIGGER payout_begins BEFORE INSERT ON payout
WHEN NEW.version <> 1 OR NEW.state <> 'PENDING_RISK'
BEGIN SELECT RAISE(ABORT, 'a payout begins as PENDING_RISK, at version 1'); END;

CREATE TRIGGER payout_goes_on BEFORE UPDATE ON payout
WHEN NEW.version <> OLD.version + 1
    OR (OLD.state <> NEW.state AND (OLD.finalized_at_ms IS NOT NULL OR OLD.state || '>' || NEW.state NOT IN (
        'PENDING_RISK>APPROVED', 'PENDING_RISK>REJECTED', 'APPROVED>SUBMITTED', 'APPROVED>REJECTED',
        'SUBMITTED>CONFIRMED', 'SUBMITTED>FAILED', 'CONFIRMED>SUBMITTED')))
BEGIN SELECT RAISE(ABORT, 'no payout goes that way'); END;

CREATE TRIGGER payout_keeps_what_was_asked BEFORE UPDATE OF
    id, key, request_id, chain_id, vault, token, recipient, amount, created_by, created_at_ms, retry_of ON payout
BEGIN SELECT RAISE(ABORT, 'what was asked for never changes'); END;

CREATE TRIGGER payout_stays BEFORE DELETE ON payout
BEGIN SELECT RAISE(ABORT, 'a payout is never forgotten'); END;

CREATE TABLE approval (
    payout_id TEXT NOT NULL REFERENCES payout,
    approver  TEXT NOT NULL,
    at_ms     INTEGER NOT NULL,
    PRIMARY KEY (payout_id, approver)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER approval_is_fixed BEFORE UPDATE ON approval
BEGIN SELECT RAISE(ABORT, 'an approval never changes'); END;
CREATE TRIGGER approval_stays BEFORE DELETE ON approval
BEGIN SELECT RAISE(ABORT, 'an approval is never forgotten'); END;

-- A sum a vault, token and day, and one a recipient; that of everybody has an empty recipient.
CREATE TABLE budget (
    chain_id  INTEGER NOT NULL,
    vault     BLOB NOT NULL,
    token     BLOB NOT NULL,
    day       INTEGER NOT NULL,
    recipient BLOB NOT NULL,
    version   INTEGER NOT NULL,
    total     BLOB NOT NULL CHECK (length(total) = 32),
    PRIMARY KEY (chain_id, vault, token, day, recipient)
) STRICT, WITHOUT ROWID;

CREATE TABLE intent (
    chain_id         INTEGER NOT NULL,
    signer           BLOB NOT NULL CHECK (length(signer) = 20),
    nonce            INTEGER NOT NULL,
    version          INTEGER NOT NULL,
    recipient        BLOB NOT NULL,
    data             BLOB NOT NULL,
    gas_limit        INTEGER NOT NULL,
    created_at_ms    INTEGER NOT NULL,
    state            TEXT NOT NULL CHECK (state IN ('OPEN', 'MINED', 'REVERTED', 'DISPLACED')),
    updated_at_ms    INTEGER NOT NULL,
    attempts         INTEGER NOT NULL,
    signed_at_block  INTEGER NOT NULL,
    transaction_hash BLOB,
    block_number     INTEGER,
    block_hash       BLOB,
    PRIMARY KEY (chain_id, signer, nonce),
    CHECK (state NOT IN ('MINED', 'REVERTED') OR block_hash IS NOT NULL),
    CHECK ((transaction_hash IS NULL) = (block_hash IS NULL) AND (block_hash IS NULL) = (block_number IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TRIGGER intent_begins BEFORE INSERT ON intent WHEN NEW.version <> 1 OR NEW.state <> 'OPEN'
BEGIN SELECT RAISE(ABORT, 'a transaction begins as OPEN, at version 1'); END;
CREATE TRIGGER intent_goes_on BEFORE UPDATE ON intent
WHEN NEW.version <> OLD.version + 1 OR OLD.state <> 'OPEN' OR NEW.attempts < OLD.attempts
BEGIN SELECT RAISE(ABORT, 'no transaction goes that way'); END;
CREATE TRIGGER intent_keeps_its_call BEFORE UPDATE OF
    chain_id, signer, nonce, recipient, data, gas_limit, created_at_ms ON intent
BEGIN SELECT RAISE(ABORT, 'what a transaction does never changes'); END;
CREATE TRIGGER intent_stays BEFORE DELETE ON intent
BEGIN SELECT RAISE(ABORT, 'a transaction is never forgotten'); END;

-- What a transaction pays. A payout has one live transaction at most.
CREATE TABLE intent_payout (
    chain_id  INTEGER NOT NULL,
    signer    BLOB NOT NULL,
    nonce     INTEGER NOT NULL,
    place     INTEGER NOT NULL,
    payout_id TEXT NOT NULL REFERENCES payout,
    is_live   INTEGER NOT NULL DEFAULT 1 CHECK (is_live IN (0, 1)),
    PRIMARY KEY (chain_id, signer, nonce, place),
    FOREIGN KEY (chain_id, signer, nonce) REFERENCES intent
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX intent_payout_live ON intent_payout (payout_id) WHERE is_live = 1;
CREATE INDEX intent_payout_of ON intent_payout (payout_id);
CREATE TRIGGER intent_payout_ends BEFORE UPDATE ON intent_payout
WHEN OLD.is_live = 0 OR NEW.payout_id <> OLD.payout_id OR NEW.place <> OLD.place
BEGIN SELECT RAISE(ABORT, 'what a transaction pays never changes'); END;
CREATE TRIGGER intent_payout_stays BEFORE DELETE ON intent_payout
BEGIN SELECT RAISE(ABORT, 'what a transaction pays is never forgotten'); END;
CREATE TRIGGER intent_frees_what_it_did_not_pay AFTER UPDATE OF state ON intent
WHEN NEW.state IN ('REVERTED', 'DISPLACED')
BEGIN
    UPDATE intent_payout SET is_live = 0
    WHERE chain_id = NEW.chain_id AND signer = NEW.signer AND nonce = NEW.nonce;
END;

CREATE TABLE attempt (
    chain_id      INTEGER NOT NULL,
    signer        BLOB NOT NULL,
    nonce         INTEGER NOT NULL,
    number        INTEGER NOT NULL,
    hash          BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    max_fee       BLOB NOT NULL CHECK (length(max_fee) = 16),
    priority_fee  BLOB NOT NULL CHECK (length(priority_fee) = 16),
    raw           BLOB NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (chain_id, signer, nonce, number),
    FOREIGN KEY (chain_id, signer, nonce) REFERENCES intent
) STRICT, WITHOUT ROWID;
CREATE TRIGGER attempt_is_fixed BEFORE UPDATE ON attempt
BEGIN SELECT RAISE(ABORT, 'a signed transaction never changes'); END;
CREATE TRIGGER attempt_stays BEFORE DELETE ON attempt
BEGIN SELECT RAISE(ABORT, 'a signed transaction is never forgotten'); END;

CREATE TABLE signer (
    chain_id      INTEGER NOT NULL,
    address       BLOB NOT NULL CHECK (length(address) = 20),
    version       INTEGER NOT NULL,
    next_nonce    INTEGER NOT NULL,
    halted        TEXT,
    updated_at_ms INTEGER NOT NULL,
    PRIMARY KEY (chain_id, address)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER signer_goes_on BEFORE UPDATE ON signer
WHEN NEW.version <> OLD.version + 1 OR NEW.next_nonce < OLD.next_nonce
BEGIN SELECT RAISE(ABORT, 'a nonce is never given out twice'); END;

CREATE TABLE audit (
    seq     INTEGER PRIMARY KEY,
    at_ms   INTEGER NOT NULL,
    actor   TEXT NOT NULL,
    action  TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail  TEXT NOT NULL,
    mac     BLOB NOT NULL CHECK (length(mac) = 32)
) STRICT;
CREATE INDEX audit_of_subject ON audit (subject, seq);
CREATE TRIGGER audit_is_fixed BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'an entry of the audit log never changes'); END;
CREATE TRIGGER audit_stays BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'an entry of the audit log is never forgotten'); END;

CREATE TABLE api_key (
    name          TEXT PRIMARY KEY,
    version       INTEGER NOT NULL,
    role          TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'approver', 'admin')),
    hash          BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_at_ms INTEGER NOT NULL,
    revoked_at_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE TRIGGER api_key_goes_on BEFORE UPDATE ON api_key
WHEN NEW.version <> OLD.version + 1 OR OLD.revoked_at_ms IS NOT NULL
    OR NEW.hash <> OLD.hash OR NEW.role <> OLD.role OR NEW.created_at_ms <> OLD.created_at_ms
BEGIN SELECT RAISE(ABORT, 'a key is revoked, never changed'); END;
CREATE TRIGGER api_key_stays BEFORE DELETE ON api_key
BEGIN SELECT RAISE(ABORT, 'a key is never forgotten'); END;
