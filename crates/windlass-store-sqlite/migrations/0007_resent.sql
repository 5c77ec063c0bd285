-- A reorg below finality takes a payment away that was final. An operator has the stored
-- transaction sent again: its payout goes back to SUBMITTED, and it is OPEN again.
DROP TRIGGER payout_goes_on;
CREATE TRIGGER payout_goes_on BEFORE UPDATE ON payout
WHEN NEW.version <> OLD.version + 1
    OR (OLD.state <> NEW.state AND OLD.state || '>' || NEW.state NOT IN (
        'PENDING_RISK>APPROVED', 'PENDING_RISK>REJECTED', 'APPROVED>SUBMITTED', 'APPROVED>REJECTED',
        'SUBMITTED>CONFIRMED', 'SUBMITTED>FAILED', 'CONFIRMED>SUBMITTED'))
    -- Only one whose hold says that its payment is gone.
    OR (OLD.state <> NEW.state AND OLD.finalized_at_ms IS NOT NULL AND OLD.hold_reason IS NULL)
BEGIN SELECT RAISE(ABORT, 'no payout goes that way'); END;

DROP TRIGGER intent_goes_on;
CREATE TRIGGER intent_goes_on BEFORE UPDATE ON intent
WHEN NEW.version <> OLD.version + 1 OR NEW.attempts < OLD.attempts
    OR NOT (OLD.state = 'OPEN' OR (OLD.state = 'MINED' AND NEW.state = 'OPEN' AND NEW.block_hash IS NULL))
BEGIN SELECT RAISE(ABORT, 'no transaction goes that way'); END;

-- Payouts are listed by recipient.
CREATE INDEX payout_to ON payout (recipient, id);
