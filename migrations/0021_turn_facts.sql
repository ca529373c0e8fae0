-- What an agent was as a turn began. A turn that was interrupted goes on only while the agent is the same.
CREATE TABLE turn_facts (
    id      INTEGER PRIMARY KEY,
    -- SHA-256 of the profiles that decide, lower-case hex; empty where one of them cannot be used.
    profile TEXT NOT NULL,
    -- The models that it asks, in order.
    models  TEXT NOT NULL,
    -- SHA-256 of the agent's charter, lower-case hex; empty without one.
    charter TEXT NOT NULL,
    UNIQUE (profile, models, charter)
) STRICT;
ALTER TABLE turns ADD COLUMN facts_id INTEGER;
