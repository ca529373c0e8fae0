-- The message of a person that led to a turn which no person began. What one message causes is counted by it.
ALTER TABLE turns ADD COLUMN caused_by INTEGER;
UPDATE turns SET caused_by = (SELECT o.trigger_id FROM turns o WHERE o.id = turns.origin_id)
    WHERE parent_id IS NOT NULL AND kind = 'turn';
CREATE INDEX turns_by_cause ON turns (caused_by, began_at) WHERE caused_by IS NOT NULL;

-- The turn that opened a branch: the report of a branch that never began is caused by it.
ALTER TABLE conversations ADD COLUMN opened_by TEXT;

-- Notes that began no turn, until the next turn of their conversation: the agent's main one (number 0) or a branch.
CREATE TABLE kept_notes (
    id       INTEGER PRIMARY KEY,
    agent_id TEXT NOT NULL,
    number   INTEGER NOT NULL,
    text     TEXT NOT NULL,
    kept_at  TEXT NOT NULL,
    hides_words INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX kept_notes_by_conversation ON kept_notes (agent_id, number);

-- Whether a conversation holds words that pass a role before people get them. Nothing that people see is made from it then.
ALTER TABLE conversations ADD COLUMN hides_words INTEGER NOT NULL DEFAULT 0;
UPDATE conversations SET hides_words = 1 WHERE id IN (SELECT conversation_id FROM turns WHERE hides_words = 1);
ALTER TABLE sessions ADD COLUMN hides_words INTEGER NOT NULL DEFAULT 0;

-- Sessions do not say which conversation they hold. Those that an agent saved since the first turn whose words pass a role
-- get a label by their date: theirs may be made from such words. Their files stay as they are.
UPDATE sessions SET hides_words = 1, description = 'Session of ' || substr(saved_at, 1, 10), summary = '',
        session_id = substr(saved_at, 1, 10) || '_' || substr(id, 1, 8)
    WHERE saved_at >= (SELECT min(t.began_at) FROM turns t WHERE t.agent_id = sessions.agent_id AND t.hides_words = 1);

-- Whether a task was started in a run whose words pass a role.
ALTER TABLE tasks ADD COLUMN hides_words INTEGER NOT NULL DEFAULT 0;
UPDATE tasks SET hides_words = 1 WHERE turn_id IN (SELECT t.id FROM turns t JOIN turns root ON root.id = t.run_id
    WHERE root.hides_words = 1);

-- Branches that turns opened say so.
UPDATE conversations SET opened_by = (SELECT t.parent_id FROM turns t WHERE t.conversation_id = conversations.id
    ORDER BY t.rowid LIMIT 1) WHERE kind = 'branch';
