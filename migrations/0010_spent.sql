-- What the turns of a saved conversation took, with their child turns; nothing where that is not known.
ALTER TABLE sessions ADD COLUMN tokens_in INTEGER;
ALTER TABLE sessions ADD COLUMN tokens_out INTEGER;
ALTER TABLE sessions ADD COLUMN tokens_cached INTEGER;
ALTER TABLE sessions ADD COLUMN cost_usd REAL;
