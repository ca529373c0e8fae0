//! Time, as Chorus reads and writes it.
