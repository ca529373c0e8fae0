-- Turns that schedules begin. No table is rebuilt.
-- A run of a schedule may have a conversation of its own, which a reply within a day continues.
ALTER TABLE conversations ADD COLUMN schedule_id INTEGER;
CREATE INDEX schedule_runs_working ON schedule_runs (schedule_id, slot) WHERE state IN ('due', 'gate', 'started');
