-- The last words of child turns, until they enter the outbox of their thread behind what was said there before.
CREATE TABLE thread_words (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id INTEGER NOT NULL,
    part            INTEGER NOT NULL,
    kind            TEXT NOT NULL,
    body            TEXT NOT NULL,
    nonce           TEXT NOT NULL,
    queued_at       TEXT NOT NULL
) STRICT;
