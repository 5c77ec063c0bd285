-- What clients note on a payout for their own books: it is given once and never changes.
ALTER TABLE payout
    ADD COLUMN memo TEXT CHECK (octet_length(memo) BETWEEN 1 AND 500),
    ADD COLUMN reference TEXT COLLATE "C" CHECK (octet_length(reference) BETWEEN 1 AND 200);
CREATE INDEX payout_of_reference ON payout (reference, id) WHERE reference IS NOT NULL;

-- Payouts are also found by the last six digits of their ids.
CREATE INDEX payout_id_suffix ON payout (substr(id, 31));

DROP TRIGGER payout_keeps_what_was_asked ON payout;
CREATE TRIGGER payout_keeps_what_was_asked BEFORE UPDATE OF
    id, key, request_id, chain_id, vault, token, recipient, amount, created_by, created_at_ms, retry_of,
    memo, reference ON payout
FOR EACH ROW EXECUTE FUNCTION windlass_refuse('what was asked for never changes');

-- What the receipt of a mined transaction says: all three, or nothing, and only with its block.
ALTER TABLE intent
    ADD COLUMN gas_used BIGINT CHECK (gas_used IS NULL OR block_hash IS NOT NULL),
    ADD COLUMN effective_gas_price NUMERIC CHECK (effective_gas_price >= 0),
    ADD COLUMN block_timestamp_s BIGINT,
    ADD CHECK ((effective_gas_price IS NULL) = (gas_used IS NULL)
        AND (block_timestamp_s IS NULL) = (gas_used IS NULL));
