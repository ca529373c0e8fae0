-- Fewer pages change with each call. Decisions are listed newest first and their pages are told apart by id, so no index of
-- theirs was read but the one of what is still open; the open calls of a turn are found by its id. What a call was given stands in
-- the model's answer, and is kept there alone: here it was written a second time with the call, and a third with its end.
DROP INDEX audit_by_agent;
DROP INDEX audit_by_guild;
CREATE TABLE calls_new (
    turn_id    TEXT NOT NULL REFERENCES turns (id),
    call_id    TEXT NOT NULL,
    position   INTEGER NOT NULL,
    name       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('proposed', 'started', 'finished', 'refused', 'interrupted')),
    started_at TEXT,
    ended_at   TEXT,
    PRIMARY KEY (turn_id, call_id)
) STRICT, WITHOUT ROWID;
INSERT INTO calls_new SELECT turn_id, call_id, position, name, state, started_at, ended_at FROM calls;
DROP TABLE calls;
ALTER TABLE calls_new RENAME TO calls;

-- What a conversation holds is counted at every start: without `dropped_at` in its index each of its items was read for that.
DROP INDEX items_by_conversation;
CREATE INDEX items_by_conversation ON items (conversation_id, dropped_at);

-- What is looked for at each start and is rarely there: found without reading all that was ever said.
CREATE INDEX turns_interrupted ON turns (ended_at) WHERE state = 'interrupted';
CREATE INDEX outbox_by_edit ON outbox (edits) WHERE edits IS NOT NULL;
