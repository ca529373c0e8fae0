//! The database speaks our verbs; SQL stays in this room.
