-- The questions of a turn: how many it has asked, and which of them a turn that goes on has to be told of.
CREATE INDEX questions_by_turn ON questions (turn_id, call_id);
