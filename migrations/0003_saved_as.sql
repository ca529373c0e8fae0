-- The session that holds just the first `saved_items` items of a conversation, where one does: what a stop in order saved
-- and what has not changed since is not saved again.
ALTER TABLE conversations ADD COLUMN saved_as TEXT;
