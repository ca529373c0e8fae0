-- What a turn began with, in a line for people: whom it might ask, its tools, its limits.
ALTER TABLE turns ADD COLUMN begun_with TEXT;
-- Whether it came to an answer; nothing where that is not known.
ALTER TABLE turns ADD COLUMN has_answer INTEGER;
-- The questions of a run are read without reading those of all others.
CREATE INDEX approvals_by_turn ON approvals (turn_id);
-- The same for the conversations in which an agent's runs began.
CREATE INDEX conversations_of_people ON conversations (agent_id) WHERE kind <> 'child';
