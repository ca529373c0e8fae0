-- How often people raised a budget of a day: only so many presses count.
ALTER TABLE budget_days ADD COLUMN presses INTEGER NOT NULL DEFAULT 0;

-- What `/overview` and `chorus status` list, found without reading all that ever was. None of these rows is written by a turn
-- that ends with an answer.
CREATE INDEX turns_failed ON turns (ended_at) WHERE kind = 'turn'
    AND exit IN ('interrupted', 'step_limit', 'time_limit', 'budget', 'loop', 'errors', 'bad_calls', 'window', 'failed', 'report');
CREATE INDEX outbox_lost ON outbox (queued_at) WHERE state IN ('failed', 'unknown');
CREATE INDEX questions_open ON questions (turn_id) WHERE outcome IS NULL;
