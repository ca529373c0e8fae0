-- Members of teams: coding agents that work beside an agent. No table is rebuilt.
CREATE TABLE team_members (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    agent_id        TEXT NOT NULL,
    role            TEXT NOT NULL,
    program         TEXT NOT NULL,
    version         TEXT,
    state           TEXT NOT NULL CHECK (state IN ('SPAWNING', 'ACTIVE', 'FAILED', 'TERMINATED')),
    -- Why it is FAILED: what happened, how it exited, its last line.
    error           TEXT,
    -- Why it is TERMINATED.
    reason          TEXT,
    conversation_id INTEGER,
    acp_session     TEXT,
    branch          TEXT,
    -- The commit that its branch began at, and the one that it was last seen at.
    base_commit     TEXT,
    tip             TEXT,
    mode            TEXT,
    pid             INTEGER,
    -- In clock ticks since boot: a pid alone may have been reused.
    pid_started     INTEGER,
    spawned_by      INTEGER,
    spawned_at      TEXT NOT NULL,
    ready_at        TEXT,
    last_active_at  TEXT NOT NULL,
    ended_at        TEXT
) STRICT;
CREATE UNIQUE INDEX team_members_live ON team_members (agent_id, role) WHERE state IN ('SPAWNING', 'ACTIVE');
CREATE INDEX team_members_by_agent ON team_members (agent_id);

-- Whether a program asks before commands, by what it did. Results: asks, does not ask, unknown.
CREATE TABLE program_checks (
    program      TEXT NOT NULL,
    version      TEXT NOT NULL,
    entry_sha256 TEXT NOT NULL,
    result       TEXT NOT NULL,
    detail       TEXT,
    checked_at   TEXT NOT NULL,
    PRIMARY KEY (program, version, entry_sha256)
) STRICT, WITHOUT ROWID;

ALTER TABLE agents ADD COLUMN destroyed_at TEXT;
