-- Interrupted turns go on, people are asked, and work that no person watches has a budget. No table is rebuilt.
-- What began a turn: NULL is `message`, the cause of most.
ALTER TABLE turns ADD COLUMN cause TEXT;
-- The schedule run or the delivery that began it.
ALTER TABLE turns ADD COLUMN cause_id TEXT;
-- The interrupted turn that it continues.
ALTER TABLE turns ADD COLUMN resumes TEXT;
-- 1 where no person began it.
ALTER TABLE turns ADD COLUMN unattended INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX turns_by_resumed ON turns (resumes) WHERE resumes IS NOT NULL;

-- The person who is charged. Attempts made before this migration are charged to no person.
ALTER TABLE attempts ADD COLUMN user_id INTEGER;

-- One row for each interrupted root turn that may go on. States: waiting, asked, question, resumed, left, refused.
CREATE TABLE resumes (
    turn_id    TEXT PRIMARY KEY,
    state      TEXT NOT NULL,
    reason     TEXT,
    message_id INTEGER,
    binding    TEXT,
    created_at TEXT NOT NULL,
    expires_at TEXT,
    choice     TEXT,
    decided_by INTEGER,
    decided_at TEXT
) STRICT;

-- Questions of `ask_person`. Outcomes: answered, expired, cancelled.
CREATE TABLE questions (
    id          INTEGER PRIMARY KEY,
    turn_id     TEXT NOT NULL,
    call_id     TEXT NOT NULL,
    channel_id  INTEGER NOT NULL,
    message_id  INTEGER,
    body        TEXT NOT NULL,
    asked_at    TEXT NOT NULL,
    expires_at  TEXT NOT NULL,
    outcome     TEXT,
    answer      TEXT,
    answered_by INTEGER,
    answered_at TEXT
) STRICT;

-- Budgets of a day (UTC): when people were told that most of one is used, and what they added to it.
CREATE TABLE budget_days (
    day       TEXT,
    budget    TEXT,
    scope     TEXT,
    warned_at TEXT,
    extra_usd REAL NOT NULL DEFAULT 0,
    PRIMARY KEY (day, budget, scope)
) STRICT, WITHOUT ROWID;
