-- What is kept of payouts. Rows with a version are replaced by the next one only; what
-- must never change, go back or disappear is held by triggers, whoever writes.

CREATE TABLE payout (
    id               TEXT COLLATE "C" PRIMARY KEY,
    version          BIGINT NOT NULL,
    key              TEXT COLLATE "C" NOT NULL UNIQUE,
    request_id       BYTEA NOT NULL UNIQUE CHECK (length(request_id) = 32),
    chain_id         BIGINT NOT NULL,
    vault            BYTEA NOT NULL CHECK (length(vault) = 20),
    token            BYTEA NOT NULL CHECK (length(token) = 20),
    recipient        BYTEA NOT NULL CHECK (length(recipient) = 20),
    amount           NUMERIC NOT NULL CHECK (amount >= 0),
    created_by       TEXT NOT NULL,
    created_at_ms    BIGINT NOT NULL,
    retry_of         TEXT UNIQUE,
    state            TEXT COLLATE "C" NOT NULL
        CHECK (state IN ('PENDING_RISK', 'APPROVED', 'SUBMITTED', 'CONFIRMED', 'FAILED', 'REJECTED')),
    updated_at_ms    BIGINT NOT NULL,
    reason           TEXT,
    hold_reason      TEXT,
    hold_until_ms    BIGINT,
    budget_day       BIGINT,
    intent_signer    BYTEA,
    intent_nonce     BIGINT,
    transaction_hash BYTEA,
    block_number     BIGINT,
    block_hash       BYTEA,
    submitted_at_ms  BIGINT,
    confirmed_at_ms  BIGINT,
    finalized_at_ms  BIGINT,
    CHECK ((state IN ('FAILED', 'REJECTED')) = (reason IS NOT NULL)),
    CHECK ((state IN ('APPROVED', 'SUBMITTED', 'CONFIRMED')) = (budget_day IS NOT NULL)),
    CHECK ((state IN ('SUBMITTED', 'CONFIRMED', 'FAILED')) = (submitted_at_ms IS NOT NULL)),
    CHECK ((state = 'CONFIRMED') = (confirmed_at_ms IS NOT NULL)),
    CHECK (state <> 'CONFIRMED' OR block_hash IS NOT NULL),
    CHECK (finalized_at_ms IS NULL OR state = 'CONFIRMED'),
    CHECK (submitted_at_ms IS NULL OR intent_nonce IS NOT NULL OR transaction_hash IS NOT NULL),
    CHECK ((transaction_hash IS NULL) = (block_hash IS NULL) AND (block_hash IS NULL) = (block_number IS NULL)),
    CHECK ((intent_signer IS NULL) = (intent_nonce IS NULL))
);
CREATE INDEX payout_of_state ON payout (state, id);
CREATE INDEX payout_on_its_way ON payout (chain_id, vault, token) WHERE state = 'SUBMITTED' AND block_number IS NULL;
CREATE INDEX payout_paid_to ON payout (chain_id, vault, recipient) WHERE state = 'CONFIRMED';

CREATE TABLE approval (
    payout_id TEXT COLLATE "C" NOT NULL REFERENCES payout,
    approver  TEXT COLLATE "C" NOT NULL,
    at_ms     BIGINT NOT NULL,
    PRIMARY KEY (payout_id, approver)
);

-- A sum a vault, token and day, and one a recipient; that of everybody has an empty recipient.
CREATE TABLE budget (
    chain_id  BIGINT NOT NULL,
    vault     BYTEA NOT NULL,
    token     BYTEA NOT NULL,
    day       BIGINT NOT NULL,
    recipient BYTEA NOT NULL,
    version   BIGINT NOT NULL,
    total     NUMERIC NOT NULL CHECK (total >= 0),
    PRIMARY KEY (chain_id, vault, token, day, recipient)
);

CREATE TABLE intent (
    chain_id         BIGINT NOT NULL,
    signer           BYTEA NOT NULL CHECK (length(signer) = 20),
    nonce            BIGINT NOT NULL,
    version          BIGINT NOT NULL,
    recipient        BYTEA NOT NULL,
    data             BYTEA NOT NULL,
    gas_limit        BIGINT NOT NULL,
    created_at_ms    BIGINT NOT NULL,
    state            TEXT COLLATE "C" NOT NULL CHECK (state IN ('OPEN', 'MINED', 'REVERTED', 'DISPLACED')),
    updated_at_ms    BIGINT NOT NULL,
    attempts         BIGINT NOT NULL,
    signed_at_block  BIGINT NOT NULL,
    transaction_hash BYTEA,
    block_number     BIGINT,
    block_hash       BYTEA,
    PRIMARY KEY (chain_id, signer, nonce),
    CHECK (state NOT IN ('MINED', 'REVERTED') OR block_hash IS NOT NULL),
    CHECK ((transaction_hash IS NULL) = (block_hash IS NULL) AND (block_hash IS NULL) = (block_number IS NULL))
);

-- What a transaction pays. A payout has one live transaction at most.
CREATE TABLE intent_payout (
    chain_id  BIGINT NOT NULL,
    signer    BYTEA NOT NULL,
    nonce     BIGINT NOT NULL,
    place     BIGINT NOT NULL,
    payout_id TEXT COLLATE "C" NOT NULL REFERENCES payout,
    is_live   BOOLEAN NOT NULL DEFAULT TRUE,
    PRIMARY KEY (chain_id, signer, nonce, place),
    FOREIGN KEY (chain_id, signer, nonce) REFERENCES intent
);
CREATE UNIQUE INDEX intent_payout_live ON intent_payout (payout_id) WHERE is_live;
CREATE INDEX intent_payout_of ON intent_payout (payout_id);

CREATE TABLE attempt (
    chain_id      BIGINT NOT NULL,
    signer        BYTEA NOT NULL,
    nonce         BIGINT NOT NULL,
    number        BIGINT NOT NULL,
    hash          BYTEA NOT NULL UNIQUE CHECK (length(hash) = 32),
    max_fee       NUMERIC NOT NULL CHECK (max_fee >= 0),
    priority_fee  NUMERIC NOT NULL CHECK (priority_fee >= 0),
    raw           BYTEA NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (chain_id, signer, nonce, number),
    FOREIGN KEY (chain_id, signer, nonce) REFERENCES intent
);

CREATE TABLE signer (
    chain_id      BIGINT NOT NULL,
    address       BYTEA NOT NULL CHECK (length(address) = 20),
    version       BIGINT NOT NULL,
    next_nonce    BIGINT NOT NULL,
    halted        TEXT,
    updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (chain_id, address)
);

CREATE TABLE audit (
    seq     BIGINT PRIMARY KEY,
    at_ms   BIGINT NOT NULL,
    actor   TEXT NOT NULL,
    action  TEXT NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    detail  TEXT NOT NULL,
    mac     BYTEA NOT NULL CHECK (length(mac) = 32)
);
CREATE INDEX audit_of_subject ON audit (subject, seq);

CREATE TABLE api_key (
    name          TEXT COLLATE "C" PRIMARY KEY,
    version       BIGINT NOT NULL,
    role          TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'approver', 'admin')),
    hash          BYTEA NOT NULL UNIQUE CHECK (length(hash) = 32),
    created_at_ms BIGINT NOT NULL,
    revoked_at_ms BIGINT
);

-- The end of the audit log; who appends to it holds this row, so that entries are one chain.
CREATE TABLE audit_head (
    only_row BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_row),
    seq      BIGINT NOT NULL,
    mac      BYTEA NOT NULL
) WITH (fillfactor = 50);
INSERT INTO audit_head (seq, mac) VALUES (0, decode(repeat('00', 32), 'hex'));

CREATE FUNCTION windlass_refuse() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0];
END $$;

CREATE TRIGGER payout_begins BEFORE INSERT ON payout FOR EACH ROW
WHEN (NEW.version <> 1 OR NEW.state <> 'PENDING_RISK')
EXECUTE FUNCTION windlass_refuse('a payout begins as PENDING_RISK, at version 1');
CREATE TRIGGER payout_goes_on BEFORE UPDATE ON payout FOR EACH ROW
WHEN (NEW.version <> OLD.version + 1
    OR (OLD.state <> NEW.state AND (OLD.finalized_at_ms IS NOT NULL OR OLD.state || '>' || NEW.state NOT IN (
        'PENDING_RISK>APPROVED', 'PENDING_RISK>REJECTED', 'APPROVED>SUBMITTED', 'APPROVED>REJECTED',
        'SUBMITTED>CONFIRMED', 'SUBMITTED>FAILED', 'CONFIRMED>SUBMITTED'))))
EXECUTE FUNCTION windlass_refuse('no payout goes that way');
CREATE TRIGGER payout_keeps_what_was_asked BEFORE UPDATE OF
    id, key, request_id, chain_id, vault, token, recipient, amount, created_by, created_at_ms, retry_of ON payout
FOR EACH ROW EXECUTE FUNCTION windlass_refuse('what was asked for never changes');
CREATE TRIGGER payout_stays BEFORE DELETE ON payout FOR EACH ROW
EXECUTE FUNCTION windlass_refuse('a payout is never forgotten');

CREATE TRIGGER approval_is_fixed BEFORE UPDATE ON approval FOR EACH ROW
EXECUTE FUNCTION windlass_refuse('an approval never changes');
CREATE TRIGGER approval_stays BEFORE DELETE ON approval FOR EACH ROW
EXECUTE FUNCTION windlass_refuse('an approval is never forgotten');

CREATE TRIGGER intent_begins BEFORE INSERT ON intent FOR EACH ROW
WHEN (NEW.version <> 1 OR NEW.state <> 'OPEN')
EXECUTE FUNCTION windlass_refuse('a transaction begins as OPEN, at version 1');
CREATE TRIGGER intent_goes_on BEFORE UPDATE ON intent FOR EACH ROW
WHEN (NEW.version <> OLD.version + 1 OR OLD.state <> 'OPEN' OR NEW.attempts < OLD.attempts)
EXECUTE FUNCTION windlass_refuse('no transaction goes that way');
CREATE TRIGGER intent_keeps_its_call BEFORE UPDATE OF
    chain_id, signer, nonce, recipient, data, gas_limit, created_at_ms ON intent
FOR EACH ROW EXECUTE FUNCTION windlass_refuse('what a transaction does never changes');
CREATE TRIGGER intent_stays BEFORE DELETE ON intent FOR EACH ROW
EXECUTE FUNCTION windlass_refuse('a transaction is never forgotten');

CREATE FUNCTION windlass_free_payouts() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    UPDATE intent_payout SET is_live = FALSE
    WHERE chain_id = NEW.chain_id AND signer = NEW.signer AND nonce = NEW.nonce;
    RETURN NULL;
END $$;
CREATE TRIGGER intent_frees_what_it_did_not_pay AFTER UPDATE OF state ON intent FOR EACH ROW
WHEN (NEW.state IN ('REVERTED', 'DISPLACED'))
EXECUTE FUNCTION windlass_free_payouts();
CREATE TRIGGER intent_payout_ends BEFORE UPDATE ON intent_payout FOR EACH ROW
WHEN (NOT OLD.is_live OR NEW.payout_id <> OLD.payout_id OR NEW.place <> OLD.place)
EXECUTE FUNCTION windlass_refuse('what a transaction pays never changes');
CREATE TRIGGER intent_payout_stays BEFORE DELETE ON intent_payout FOR EACH ROW
EXECUTE FUNCTION windlass_refuse('what a transaction pays is never forgotten');

CREATE TRIGGER attempt_is_fixed BEFORE UPDATE ON attempt FOR EACH ROW
EXECUTE FUNCTION windlass_refuse('a signed transaction never changes');
CREATE TRIGGER attempt_stays BEFORE DELETE ON attempt FOR EACH ROW
EXECUTE FUNCTION windlass_refuse('a signed transaction is never forgotten');

CREATE TRIGGER signer_goes_on BEFORE UPDATE ON signer FOR EACH ROW
WHEN (NEW.version <> OLD.version + 1 OR NEW.next_nonce < OLD.next_nonce)
EXECUTE FUNCTION windlass_refuse('a nonce is never given out twice');

CREATE TRIGGER audit_is_fixed BEFORE UPDATE ON audit FOR EACH ROW
EXECUTE FUNCTION windlass_refuse('an entry of the audit log never changes');
CREATE TRIGGER audit_stays BEFORE DELETE ON audit FOR EACH ROW
EXECUTE FUNCTION windlass_refuse('an entry of the audit log is never forgotten');

CREATE TRIGGER api_key_goes_on BEFORE UPDATE ON api_key FOR EACH ROW
WHEN (NEW.version <> OLD.version + 1 OR OLD.revoked_at_ms IS NOT NULL
    OR NEW.hash <> OLD.hash OR NEW.role <> OLD.role OR NEW.created_at_ms <> OLD.created_at_ms)
EXECUTE FUNCTION windlass_refuse('a key is revoked, never changed');
CREATE TRIGGER api_key_stays BEFORE DELETE ON api_key FOR EACH ROW
EXECUTE FUNCTION windlass_refuse('a key is never forgotten');
