//! Child processes: confined, bounded, ended whole.
