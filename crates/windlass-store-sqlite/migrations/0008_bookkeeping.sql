-- What clients note on a payout for their own books: it is given once and never changes.
ALTER TABLE payout ADD COLUMN memo TEXT
    CHECK (memo IS NULL OR length(CAST(memo AS BLOB)) BETWEEN 1 AND 500);
ALTER TABLE payout ADD COLUMN reference TEXT
    CHECK (reference IS NULL OR length(CAST(reference AS BLOB)) BETWEEN 1 AND 200);
CREATE INDEX payout_of_reference ON payout (reference, id) WHERE reference IS NOT NULL;

-- Payouts are also found by the last six digits of their ids.
CREATE INDEX payout_id_suffix ON payout (substr(id, 31));

DROP TRIGGER payout_keeps_what_was_asked;
CREATE TRIGGER payout_keeps_what_was_asked BEFORE UPDATE OF
    id, key, request_id, chain_id, vault, token, recipient, amount, created_by, created_at_ms, retry_of,
    memo, reference ON payout
BEGIN SELECT RAISE(ABORT, 'what was asked for never changes'); END;

-- What the receipt of a mined transaction says: all three, or nothing, and only with its block.
ALTER TABLE intent ADD COLUMN gas_used INTEGER CHECK (gas_used IS NULL OR block_hash IS NOT NULL);
ALTER TABLE intent ADD COLUMN effective_gas_price BLOB
    CHECK ((effective_gas_price IS NULL) = (gas_used IS NULL)
        AND (effective_gas_price IS NULL OR length(effective_gas_price) = 16));
ALTER TABLE intent ADD COLUMN block_timestamp_s INTEGER
    CHECK ((block_timestamp_s IS NULL) = (gas_used IS NULL));
