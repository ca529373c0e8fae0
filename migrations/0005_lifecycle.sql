-- What is under way with an agent as a whole. A row is written before anything is done and goes when all of it is
-- done, so that a start after a crash finishes what it finds here.
CREATE TABLE lifecycle (
    agent_id  TEXT NOT NULL,
    operation TEXT NOT NULL,
    detail    TEXT NOT NULL,
    begun_at  TEXT NOT NULL,
    PRIMARY KEY (agent_id, operation)
) STRICT, WITHOUT ROWID;

-- When an agent was made again over the files of a destroyed one.
ALTER TABLE agents ADD COLUMN back_since TEXT;
