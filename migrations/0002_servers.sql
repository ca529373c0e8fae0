-- Servers the bot was seen in, and what its operator decided about each. A row is made when a server is first described.
-- 'seen': it needs no decision (the operator's own, or listed in the configuration); 'gone': the bot is not in it any more.
CREATE TABLE servers (
    guild_id   INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    owner_id   INTEGER,
    members    INTEGER,
    state      TEXT NOT NULL CHECK (state IN ('seen', 'waiting', 'accepted', 'left', 'gone')),
    asked_at   TEXT,
    told_at    TEXT,
    decided_by INTEGER,
    decided_at TEXT
) STRICT;

-- Until now every server was served: those that hold agents go on.
INSERT INTO servers (guild_id, name, state, decided_at)
    SELECT DISTINCT guild_id, '', 'accepted', strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')
    FROM agents WHERE status <> 'destroyed';
