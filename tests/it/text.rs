//! Text for people: splitting, redaction, what is hidden made visible, what is foreign kept harmless, short forms.

mod dialect;
mod escape;
mod look_alike;
mod redact;
mod short;
mod split;
mod visible;
