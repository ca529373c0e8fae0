-- Who asked and who decided stand apart (`user_id` held the one or the other), and each decision has what came of it.
ALTER TABLE audit_log ADD COLUMN call_id TEXT;
ALTER TABLE audit_log ADD COLUMN decided_by INTEGER;
ALTER TABLE audit_log ADD COLUMN outcome TEXT;

UPDATE audit_log SET
    decided_by = user_id,
    user_id = (
        SELECT CASE WHEN json_valid(inbound.body) THEN json_extract(inbound.body, '$.author.id') END
        FROM inbound WHERE inbound.turn_id = audit_log.turn_id ORDER BY inbound.message_id LIMIT 1
    )
WHERE decision IN ('ask_approved', 'ask_denied');

-- What was allowed and is not known to be done.
CREATE INDEX audit_open ON audit_log (turn_id, call_id) WHERE outcome = 'started';
