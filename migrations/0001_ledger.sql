-- The ledger and what stands around it. Times are RFC 3339 in UTC with microseconds, so that text order is
-- time order; Discord ids are their 64 bits, signed; our own ids are UUIDs in text.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- An index of the agents' `agent.json` files, and their status.
CREATE TABLE agents (
    id          TEXT PRIMARY KEY,
    name        TEXT NOT NULL,
    guild_id    INTEGER NOT NULL,
    channel_id  INTEGER,
    model       TEXT,
    permissions TEXT NOT NULL,
    owner_id    INTEGER,
    created_at  TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('created', 'active', 'destroyed'))
) STRICT;
CREATE UNIQUE INDEX agents_by_name ON agents (name) WHERE status <> 'destroyed';
CREATE UNIQUE INDEX agents_by_channel ON agents (channel_id)
    WHERE status <> 'destroyed' AND channel_id IS NOT NULL;

CREATE TABLE settings (
    guild_id INTEGER NOT NULL,
    key      TEXT NOT NULL,
    value    TEXT NOT NULL,
    PRIMARY KEY (guild_id, key)
) STRICT, WITHOUT ROWID;

-- One row for a conversation: an agent's main one (number 0) or a branch (1 and on).
CREATE TABLE conversations (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    agent_id       TEXT NOT NULL,
    number         INTEGER NOT NULL,
    thread_id      INTEGER,
    prompt         TEXT NOT NULL DEFAULT '',
    opened_at      TEXT NOT NULL,
    last_active_at TEXT NOT NULL,
    closed_at      TEXT,
    saved_items    INTEGER NOT NULL DEFAULT 0,
    crash_session  TEXT
) STRICT;
CREATE UNIQUE INDEX conversations_main ON conversations (agent_id) WHERE number = 0 AND closed_at IS NULL;
CREATE UNIQUE INDEX conversations_branch ON conversations (agent_id, number) WHERE number > 0;
CREATE INDEX conversations_open ON conversations (agent_id) WHERE closed_at IS NULL;
CREATE INDEX conversations_by_thread ON conversations (thread_id) WHERE thread_id IS NOT NULL;

-- D1. The whole message is in `body`.
CREATE TABLE inbound (
    message_id  INTEGER PRIMARY KEY,
    channel_id  INTEGER NOT NULL,
    body        TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('new', 'claimed', 'skipped', 'dropped')),
    reason      TEXT,
    turn_id     TEXT,
    received_at TEXT NOT NULL
) STRICT;
CREATE INDEX inbound_new ON inbound (message_id) WHERE state = 'new';
CREATE INDEX inbound_by_turn ON inbound (turn_id) WHERE turn_id IS NOT NULL;

CREATE TABLE cursors (
    channel_id INTEGER PRIMARY KEY,
    message_id INTEGER NOT NULL
) STRICT;

-- D2 to D8. `parent_id` is the turn that started this one, `origin_id` the first of the chain (itself for a root).
CREATE TABLE turns (
    id              TEXT PRIMARY KEY,
    agent_id        TEXT NOT NULL,
    conversation_id INTEGER NOT NULL REFERENCES conversations (id),
    trigger_id      INTEGER,
    parent_id       TEXT,
    origin_id       TEXT NOT NULL,
    depth           INTEGER NOT NULL,
    channel_id      INTEGER NOT NULL,
    reply_to        INTEGER,
    state           TEXT NOT NULL CHECK (state IN ('running', 'finished', 'interrupted')),
    exit            TEXT,
    steps           INTEGER NOT NULL DEFAULT 0,
    input           INTEGER NOT NULL DEFAULT 0,
    output          INTEGER NOT NULL DEFAULT 0,
    cache_read      INTEGER NOT NULL DEFAULT 0,
    cache_write     INTEGER NOT NULL DEFAULT 0,
    cost_usd        REAL,
    preview_id      INTEGER,
    status_id       INTEGER,
    began_at        TEXT NOT NULL,
    ended_at        TEXT
) STRICT;
CREATE UNIQUE INDEX turns_by_trigger ON turns (trigger_id) WHERE parent_id IS NULL AND trigger_id IS NOT NULL;
CREATE INDEX turns_running ON turns (state) WHERE state = 'running';
CREATE INDEX turns_by_conversation ON turns (conversation_id, began_at);

CREATE TABLE items (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id INTEGER NOT NULL REFERENCES conversations (id),
    turn_id         TEXT,
    role            TEXT NOT NULL,
    body            TEXT NOT NULL
) STRICT;
CREATE INDEX items_by_conversation ON items (conversation_id, id);

CREATE TABLE calls (
    turn_id    TEXT NOT NULL REFERENCES turns (id),
    call_id    TEXT NOT NULL,
    position   INTEGER NOT NULL,
    name       TEXT NOT NULL,
    arguments  TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('proposed', 'started', 'finished', 'refused', 'interrupted')),
    started_at TEXT,
    ended_at   TEXT,
    PRIMARY KEY (turn_id, call_id)
) STRICT;
CREATE INDEX calls_open ON calls (turn_id) WHERE state IN ('proposed', 'started');

-- D4 and D5.
CREATE TABLE approvals (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id    TEXT NOT NULL REFERENCES turns (id),
    call_id    TEXT NOT NULL,
    channel_id INTEGER NOT NULL,
    message_id INTEGER,
    action     TEXT NOT NULL,
    binding    TEXT NOT NULL,
    asked_at   TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    decision   TEXT CHECK (decision IN ('allow', 'always_allow', 'deny', 'expired')),
    decided_by INTEGER,
    decided_at TEXT
) STRICT;
CREATE INDEX approvals_open ON approvals (turn_id) WHERE decision IS NULL;

-- D8 and D9. Rows of one channel go out in the order of `id`.
CREATE TABLE outbox (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    channel_id INTEGER NOT NULL,
    turn_id    TEXT,
    part       INTEGER NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('reply', 'failure', 'notice', 'file')),
    body       TEXT NOT NULL,
    nonce      TEXT NOT NULL UNIQUE CHECK (length(nonce) <= 25),
    edits      INTEGER,
    state      TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'sent', 'unknown', 'failed')),
    message_id INTEGER,
    reason     TEXT,
    queued_at  TEXT NOT NULL,
    first_try  TEXT
) STRICT;
CREATE INDEX outbox_waiting ON outbox (channel_id, id) WHERE state IN ('pending', 'sending');
CREATE INDEX outbox_by_message ON outbox (message_id) WHERE message_id IS NOT NULL;

CREATE TABLE sessions (
    id             TEXT PRIMARY KEY,
    session_id     TEXT NOT NULL,
    agent_id       TEXT NOT NULL,
    agent_name     TEXT NOT NULL,
    description    TEXT NOT NULL,
    summary        TEXT NOT NULL,
    saved_at       TEXT NOT NULL,
    trigger        TEXT NOT NULL,
    message_count  INTEGER NOT NULL,
    token_estimate INTEGER NOT NULL,
    file_path      TEXT NOT NULL,
    file_sha256    TEXT NOT NULL,
    UNIQUE (agent_id, session_id)
) STRICT;
CREATE INDEX sessions_newest ON sessions (agent_id, saved_at DESC);

CREATE TABLE audit_log (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    timestamp     TEXT NOT NULL,
    guild_id      INTEGER,
    agent_id      TEXT,
    agent_name    TEXT NOT NULL,
    turn_id       TEXT,
    action_string TEXT NOT NULL,
    decision      TEXT NOT NULL,
    user_id       INTEGER,
    detail        TEXT
) STRICT;
CREATE INDEX audit_by_agent ON audit_log (agent_id, id);
CREATE INDEX audit_by_guild ON audit_log (guild_id, id);

-- One row for each request to a model and each tool run.
CREATE TABLE attempts (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
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
CREATE INDEX attempts_by_agent ON attempts (agent_id, at);
CREATE INDEX attempts_by_guild ON attempts (guild_id, at);
CREATE INDEX attempts_by_turn ON attempts (turn_id) WHERE turn_id IS NOT NULL;

CREATE TABLE tasks (
    agent_id        TEXT NOT NULL,
    number          INTEGER NOT NULL,
    kind            TEXT NOT NULL CHECK (kind IN ('concurrent', 'background')),
    command         TEXT NOT NULL,
    directory       TEXT NOT NULL,
    turn_id         TEXT,
    conversation_id INTEGER,
    channel_id      INTEGER NOT NULL,
    depth           INTEGER NOT NULL,
    pid             INTEGER,
    pid_started     INTEGER,
    status          TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'killed', 'lost')),
    exit_code       INTEGER,
    started_at      TEXT NOT NULL,
    ended_at        TEXT,
    PRIMARY KEY (agent_id, number)
) STRICT;
CREATE INDEX tasks_running ON tasks (agent_id) WHERE status = 'running';

CREATE TABLE hooks (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    agent_id   TEXT NOT NULL,
    task       INTEGER NOT NULL,
    spec       TEXT NOT NULL,
    max_fires  INTEGER NOT NULL,
    fires      INTEGER NOT NULL DEFAULT 0,
    last_fired TEXT,
    FOREIGN KEY (agent_id, task) REFERENCES tasks (agent_id, number)
) STRICT;
CREATE INDEX hooks_by_task ON hooks (agent_id, task);
