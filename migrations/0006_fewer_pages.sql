-- Fewer pages change with each turn. No row of these tables is ever referred to after it is gone, so their ids need not be
-- remembered in a table of SQLite's own; nonces are random, so no index has to keep them apart; and what an agent spent is
-- looked up within its server.
CREATE TABLE items_new (
    id              INTEGER PRIMARY KEY,
    conversation_id INTEGER NOT NULL REFERENCES conversations (id),
    turn_id         TEXT,
    role            TEXT NOT NULL,
    body            TEXT NOT NULL
) STRICT;
INSERT INTO items_new SELECT id, conversation_id, turn_id, role, body FROM items;
DROP TABLE items;
ALTER TABLE items_new RENAME TO items;
CREATE INDEX items_by_conversation ON items (conversation_id, id);

CREATE TABLE outbox_new (
    id         INTEGER PRIMARY KEY,
    channel_id INTEGER NOT NULL,
    turn_id    TEXT,
    part       INTEGER NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('reply', 'failure', 'notice', 'file')),
    body       TEXT NOT NULL,
    nonce      TEXT NOT NULL CHECK (length(nonce) <= 25),
    edits      INTEGER,
    state      TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'sent', 'unknown', 'failed')),
    message_id INTEGER,
    reason     TEXT,
    queued_at  TEXT NOT NULL,
    first_try  TEXT
) STRICT;
INSERT INTO outbox_new SELECT id, channel_id, turn_id, part, kind, body, nonce, edits, state, message_id, reason, queued_at,
    first_try FROM outbox;
DROP TABLE outbox;
ALTER TABLE outbox_new RENAME TO outbox;
CREATE INDEX outbox_waiting ON outbox (channel_id, id) WHERE state IN ('pending', 'sending');
CREATE INDEX outbox_by_message ON outbox (message_id) WHERE message_id IS NOT NULL;

CREATE TABLE attempts_new (
    id          INTEGER PRIMARY KEY,
    at          TEXT NOT NULL,
    guild_id    INTEGER,
    agent_id    TEXT NOT NULL,
    turn_id     TEXT,
    parent_id   TEXT,
    kind        TEXT NOT NULL,
    provider    TEXT NOT NULL,
    model       TEXT NOT NULL,
    outcome     TEXT NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cost_usd    REAL,
    millis      INTEGER NOT NULL,
    request_id  TEXT,
    detail      TEXT
) STRICT;
INSERT INTO attempts_new SELECT id, at, guild_id, agent_id, turn_id, parent_id, kind, provider, model, outcome, input, output,
    cache_read, cache_write, cost_usd, millis, request_id, detail FROM attempts;
DROP TABLE attempts;
ALTER TABLE attempts_new RENAME TO attempts;
CREATE INDEX attempts_by_guild ON attempts (guild_id, at);
CREATE INDEX attempts_by_turn ON attempts (turn_id) WHERE turn_id IS NOT NULL;

CREATE TABLE audit_log_new (
    id            INTEGER PRIMARY KEY,
    timestamp     TEXT NOT NULL,
    guild_id      INTEGER,
    agent_id      TEXT,
    agent_name    TEXT NOT NULL,
    turn_id       TEXT,
    action_string TEXT NOT NULL,
    decision      TEXT NOT NULL,
    user_id       INTEGER,
    detail        TEXT,
    call_id       TEXT,
    decided_by    INTEGER,
    outcome       TEXT
) STRICT;
INSERT INTO audit_log_new SELECT id, timestamp, guild_id, agent_id, agent_name, turn_id, action_string, decision, user_id,
    detail, call_id, decided_by, outcome FROM audit_log;
DROP TABLE audit_log;
ALTER TABLE audit_log_new RENAME TO audit_log;
CREATE INDEX audit_by_agent ON audit_log (agent_id, id);
CREATE INDEX audit_by_guild ON audit_log (guild_id, id);
CREATE INDEX audit_open ON audit_log (turn_id, call_id) WHERE outcome = 'started';
