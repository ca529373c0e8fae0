-- Fewer bytes are written with each turn. What a turn began with is one of a few texts: each is kept once.
CREATE TABLE beginnings (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO beginnings (text) SELECT DISTINCT begun_with FROM turns WHERE begun_with IS NOT NULL;
ALTER TABLE turns ADD COLUMN beginning_id INTEGER;
UPDATE turns SET beginning_id = (SELECT beginnings.id FROM beginnings WHERE text = begun_with) WHERE begun_with IS NOT NULL;
ALTER TABLE turns DROP COLUMN begun_with;

-- The message that begins a turn is named by that turn, and need not name it: `turn_id` is of messages that came up later.
UPDATE inbound SET turn_id = NULL WHERE message_id IN (SELECT trigger_id FROM turns
    WHERE turns.id = inbound.turn_id AND parent_id IS NULL AND trigger_id IS NOT NULL);

-- Rows are in the order in which turns began, so their index needs no time.
DROP INDEX turns_by_conversation;
CREATE INDEX turns_by_conversation ON turns (conversation_id);
