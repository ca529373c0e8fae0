-- MCP servers and their tools, as people approved them. No table is rebuilt.
-- Scope: the id of an agent, or `*` for the servers of config.json. States: waiting, approved, denied.
CREATE TABLE mcp_servers (
    scope            TEXT NOT NULL,
    name             TEXT NOT NULL,
    -- What a person approves of its entry, and its instructions.
    sha256           TEXT NOT NULL,
    -- The revision of the protocol that worked last time.
    revision         TEXT NOT NULL,
    state            TEXT NOT NULL,
    -- The package with its version, where its entry names none.
    resolved_version TEXT,
    instructions     TEXT NOT NULL,
    decided_by       INTEGER,
    decided_at       TEXT,
    PRIMARY KEY (scope, name)
) STRICT, WITHOUT ROWID;

-- Tools. Marks: read, write, off.
CREATE TABLE mcp_pins (
    scope      TEXT NOT NULL,
    server     TEXT NOT NULL,
    tool       TEXT NOT NULL,
    -- The approved definition and its hash; NULL until one is approved.
    sha256     TEXT,
    definition TEXT,
    mark       TEXT NOT NULL,
    -- NULL where the mark is as the entry says.
    decided_by INTEGER,
    decided_at TEXT,
    -- A definition that is not approved yet.
    waiting    TEXT,
    PRIMARY KEY (scope, server, tool)
) STRICT;
