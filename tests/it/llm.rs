//! Models: histories, wire formats, failures, targets, the catalogue.

mod history;
mod tokens;
