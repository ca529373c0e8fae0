-- The people behind turns who wrote no message in them. No table is rebuilt.
-- People whose words are in a turn otherwise: the reason of a denial.
CREATE TABLE turn_people (
    turn_id TEXT NOT NULL REFERENCES turns (id),
    user_id INTEGER NOT NULL,
    PRIMARY KEY (turn_id, user_id)
) STRICT, WITHOUT ROWID;

-- People other than its owner whose words a schedule contains: those behind the turn that made it, and its editors.
CREATE TABLE schedule_people (
    schedule_id INTEGER NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
    user_id     INTEGER NOT NULL,
    PRIMARY KEY (schedule_id, user_id)
) STRICT, WITHOUT ROWID;
