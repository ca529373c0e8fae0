-- What a conversation is told of earlier ones: made once, when it begins, and the same until it is emptied.
ALTER TABLE conversations ADD COLUMN seed TEXT;
