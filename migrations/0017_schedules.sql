-- Schedules, reminders and webhooks: work that begins without a message. No table is rebuilt.
-- Kinds: turn, post, reminder. States: active, paused, ended.
CREATE TABLE schedules (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    agent_id     TEXT NOT NULL,
    name         TEXT NOT NULL,
    owner_id     INTEGER NOT NULL,
    kind         TEXT NOT NULL,
    when_text    TEXT NOT NULL,
    rule         TEXT NOT NULL,
    timezone     TEXT NOT NULL,
    body         TEXT NOT NULL,
    gate         TEXT,
    gate_binding TEXT,
    place        TEXT NOT NULL,
    thread_id    INTEGER,
    model        TEXT,
    missed       TEXT NOT NULL,
    budget_usd   REAL,
    state        TEXT NOT NULL,
    reason       TEXT,
    failures     INTEGER NOT NULL DEFAULT 0,
    -- The next slot. The run begins then, or up to 59 s later.
    next_at      TEXT,
    created_at   TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX schedules_by_name ON schedules (agent_id, name) WHERE state <> 'ended';
CREATE INDEX schedules_due ON schedules (next_at) WHERE state = 'active';

-- One row for each slot. States: due, gate, started, done, quiet, failed, skipped.
CREATE TABLE schedule_runs (
    schedule_id INTEGER,
    slot        TEXT,
    state       TEXT NOT NULL,
    reason      TEXT,
    -- When it was to begin.
    due_at      TEXT NOT NULL,
    ended_at    TEXT,
    turn_id     TEXT,
    PRIMARY KEY (schedule_id, slot)
) STRICT, WITHOUT ROWID;
CREATE INDEX schedule_runs_open ON schedule_runs (due_at) WHERE state IN ('due', 'gate', 'started');

-- Webhooks. Their secrets are derived and stored nowhere. States: active, paused.
CREATE TABLE webhooks (
    id         TEXT PRIMARY KEY,
    agent_id   TEXT NOT NULL,
    name       TEXT NOT NULL,
    owner_id   INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    prompt     TEXT NOT NULL,
    options    TEXT NOT NULL,
    profile    TEXT NOT NULL,
    version    INTEGER NOT NULL,
    rotated_at TEXT,
    state      TEXT NOT NULL,
    reason     TEXT,
    failures   INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL
) STRICT;

-- What arrived at a webhook. States: stored, started, done, quiet, filtered, failed.
CREATE TABLE deliveries (
    id          INTEGER PRIMARY KEY,
    webhook_id  TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    received_at TEXT NOT NULL,
    state       TEXT NOT NULL,
    reason      TEXT,
    turn_id     TEXT,
    -- gzip.
    body        BLOB,
    UNIQUE (webhook_id, delivery_id)
) STRICT;
