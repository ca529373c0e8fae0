-- Child turns. A turn may begin others, each in a conversation of its own; the turn that answers people and all below it are
-- a run, which has the id of that turn.
ALTER TABLE turns ADD COLUMN kind TEXT NOT NULL DEFAULT 'turn'
    CHECK (kind IN ('turn', 'sub_agent', 'advisor', 'route', 'handoff'));
ALTER TABLE turns ADD COLUMN run_id TEXT;
-- The call of the parent turn that this one answers.
ALTER TABLE turns ADD COLUMN call_id TEXT;
-- The agent's name, then those of the roles down to this turn: `lab/reviewer/explore`.
ALTER TABLE turns ADD COLUMN path TEXT;
ALTER TABLE turns ADD COLUMN role TEXT;
ALTER TABLE turns ADD COLUMN role_sha256 TEXT;
ALTER TABLE turns ADD COLUMN title TEXT;
ALTER TABLE turns ADD COLUMN report TEXT;
CREATE INDEX turns_by_parent ON turns (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX turns_by_run ON turns (run_id) WHERE kind <> 'turn';

UPDATE turns SET run_id = id, path = (SELECT name FROM agents WHERE agents.id = turns.agent_id);

-- Until now the third turn of a chain named the second as the first.
WITH RECURSIVE chain (id, origin) AS (
    SELECT id, id FROM turns WHERE parent_id IS NULL
    UNION ALL SELECT turns.id, chain.origin FROM chain JOIN turns ON turns.parent_id = chain.id
)
UPDATE turns SET origin_id = chain.origin FROM chain WHERE chain.id = turns.id AND turns.parent_id IS NOT NULL;

-- A child's conversation is never open: nothing that people write leads to it. `parent_id` is the conversation of the turn
-- that began it.
ALTER TABLE conversations ADD COLUMN kind TEXT NOT NULL DEFAULT 'main' CHECK (kind IN ('main', 'branch', 'child'));
ALTER TABLE conversations ADD COLUMN role TEXT;
ALTER TABLE conversations ADD COLUMN parent_id INTEGER;
CREATE INDEX conversations_by_parent ON conversations (parent_id) WHERE parent_id IS NOT NULL;
UPDATE conversations SET kind = 'branch' WHERE number > 0;

-- What a compaction of a child's conversation replaced: kept, and told to nobody.
ALTER TABLE items ADD COLUMN dropped_at TEXT;

ALTER TABLE attempts ADD COLUMN run_id TEXT;
ALTER TABLE attempts ADD COLUMN role TEXT;
UPDATE attempts SET run_id = turn_id WHERE turn_id IS NOT NULL;
-- It named the first turn of the chain.
UPDATE attempts SET parent_id = (SELECT parent_id FROM turns WHERE turns.id = attempts.turn_id) WHERE parent_id IS NOT NULL;

ALTER TABLE audit_log ADD COLUMN run_id TEXT;
ALTER TABLE audit_log ADD COLUMN role TEXT;
UPDATE audit_log SET run_id = turn_id WHERE turn_id IS NOT NULL;
