-- Turns of webhooks. No table is rebuilt.
-- The header that names the event of a delivery, for kinds that have one.
ALTER TABLE deliveries ADD COLUMN event TEXT;
-- The value of `thread_by`: deliveries with the same one share a conversation.
ALTER TABLE deliveries ADD COLUMN thread TEXT;
-- When its turn may begin: until then, further deliveries join it.
ALTER TABLE deliveries ADD COLUMN due_at TEXT;
ALTER TABLE deliveries ADD COLUMN ended_at TEXT;
CREATE INDEX deliveries_open ON deliveries (webhook_id, thread) WHERE state IN ('stored', 'started');
CREATE INDEX deliveries_by_turn ON deliveries (turn_id) WHERE state IN ('stored', 'started') AND turn_id IS NOT NULL;
CREATE INDEX deliveries_bodies ON deliveries (received_at) WHERE body IS NOT NULL;
CREATE UNIQUE INDEX webhooks_by_name ON webhooks (agent_id, name);

-- The webhook whose deliveries a conversation is for, and the value of `thread_by` that they share.
ALTER TABLE conversations ADD COLUMN webhook_id TEXT;
ALTER TABLE conversations ADD COLUMN webhook_thread TEXT;

-- Discord threads of webhooks, one for each value of `thread_by`.
CREATE TABLE webhook_threads (
    webhook_id TEXT,
    value      TEXT,
    thread_id  INTEGER NOT NULL,
    opened_at  TEXT NOT NULL,
    PRIMARY KEY (webhook_id, value)
) STRICT, WITHOUT ROWID;
