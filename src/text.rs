//! Text for people: splitting, redaction, what is hidden made visible.
