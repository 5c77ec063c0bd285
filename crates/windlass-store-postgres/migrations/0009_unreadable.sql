-- Rows whose ids cannot be read are found without a look at any other. Nobody but an intruder writes them.
CREATE INDEX payout_unreadable ON payout (id) WHERE (id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$') IS NOT TRUE;
CREATE INDEX approval_unreadable ON approval (payout_id) WHERE (payout_id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' AND approver IS NOT NULL) IS NOT TRUE;
CREATE INDEX budget_unreadable ON budget (chain_id) WHERE (chain_id > 0 AND length(vault) = 20 AND length(token) = 20 AND day IS NOT NULL AND length(recipient) IN (0, 20)) IS NOT TRUE;
CREATE INDEX intent_unreadable ON intent (chain_id) WHERE (chain_id > 0 AND length(signer) = 20 AND nonce >= 0) IS NOT TRUE;
CREATE INDEX attempt_unreadable ON attempt (chain_id) WHERE (chain_id > 0 AND length(signer) = 20 AND nonce >= 0 AND number BETWEEN 0 AND 4294967295) IS NOT TRUE;
