-- Whether what the turns of this run say passes a role before people get it, however the run ended.
ALTER TABLE turns ADD COLUMN hides_words INTEGER NOT NULL DEFAULT 0;
UPDATE turns SET hides_words = 1 WHERE id IN (SELECT run_id FROM turns WHERE kind = 'handoff');
