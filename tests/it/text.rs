//! Text for people: splitting, redaction, what is hidden made visible, short forms.

mod redact;
mod short;
mod split;
mod visible;
